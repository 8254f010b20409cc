"""`preview`: show one domain with a handful of tasks, and keep nothing but the models' answers.

The pipeline's own steps make it, in a temporary folder. The cache of replies keeps the answers, so a run of the whole
domain does not ask again.
"""

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import replace
from multiprocessing.util import get_temp_dir
from tempfile import TemporaryDirectory
from typing import Any

from skillweave.base.command import counted, one_line, repeat_line
from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.store import locked
from skillweave.llm.connections import cache_path
from skillweave.llm.models import NETWORK
from skillweave.schema.contract import Tool
from skillweave.schema.reports import QuestionMetrics, total_metrics
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from synth.cli.display import QuestionUsage, are_all_offline, cost_of, show_questions, tokens_of
from synth.cli.dry_run import CostEstimate, CostForecast, ExpectedQuestions
from synth.cli.options import PipelineOptions, PipelineSource
from synth.cli.time_left import LiveTable, TimeLeft, display
from synth.engine.drive import drive
from synth.engine.pipeline import Pipeline
from synth.engine.run import PipelineRun
from synth.engine.schedule import Schedule
from synth.engine.step import PipelineStep
from synth.questions.sizes import ByQuestion, asked_in, together

TASK_STEP = "s17_task_instantiation"
"""The step that writes the tasks."""
ONE_DOMAIN = ("task_mode=single", "steps.s01_domain_expansion.target_domains=1")
HANDFUL = (
    "steps.s15_instance_combos_selection.per_template=1",
    "steps.s15_instance_combos_selection.per_form=0",
    "steps.s15_instance_combos_selection.per_refusal=1",
    "steps.s15_instance_combos_selection.per_clarification=1",
    "steps.s15_instance_combos_selection.per_unavailable=1",
    "steps.s16_task_filtering.most=6",
    "steps.s16_task_filtering.share=0.3",
    "steps.s16_task_filtering.refusals=0.4",
)
"""Settings for few task instances of each kind. The questions before them are the same as in a whole run."""
WIDTH = 110
"""Columns of a line."""
SHOWN_RULES = 2
"""Rules of a tool that are shown."""
SHOWN_PARAGRAPHS = 3
"""Paragraphs of the policy that are shown."""
TEXT_CHARS = 240
"""Characters of a paragraph or a first message that are shown."""
INTERRUPTED = "interrupted; nothing was written, and what models answered is kept for the same command"
SPLITS = ("train", "validation", "test")


def show_preview(source: PipelineSource, options: PipelineOptions, service: str) -> int:
    """Make a domain of a service, and print its tools, rules and a handful of tasks.

    Args:
        source: The pipeline.
        options: What the command line says of the configuration.
        service: The service area in words, as in `domains.seeds`.

    Returns:
        The exit status: 0, or 130 if it was interrupted.

    Raises:
        ConfigError: The configuration is wrong, or the offline author does not know the service.
        SkillweaveError: There are no tasks; the message has the reason.
    """
    seed = f"domains.seeds=[{json.dumps(service, ensure_ascii=False)}]"
    whole = replace(
        options,
        outputs=options.outputs or f"outputs-{re.sub(r'[^a-z0-9]+', '-', service.lower()).strip('-') or 'domain'}",
        overrides=(*ONE_DOMAIN, *options.overrides, seed),
    )
    # The sockets of multiprocessing are removed when this process ends; the temporary folder is gone by then.
    get_temp_dir()
    with TemporaryDirectory(prefix="skillweave-preview-") as folder:
        few = replace(whole, outputs=folder, overrides=(*HANDFUL, *whole.overrides))
        with options.naming_overrides():
            run = PipelineRun(few.spec(source))
            steps = needed(run.pipeline)
            run.check(steps)
        options.show_default(sys.stderr)
        usage = QuestionUsage(run.authors.ledger)
        run.store.prepare()
        with locked(run.store), closing(run):
            _make(run, steps, usage)
            if run.executor.is_stopped and run.executor.why_stopped is None:
                print(INTERRUPTED, file=sys.stderr, flush=True)
                return 130
            _require_tasks(run, steps, usage, whole)
            for line in _preview(Dataset(run.store.root)):
                print(line)
            _show_figures(run, usage.askings())
    print(f"nothing was written; for the whole domain, next: {whole.command('run')}")
    return 0


def needed(pipeline: Pipeline) -> Sequence[PipelineStep[Any]]:
    """The step that writes tasks, and all steps that it depends on."""
    names = {pipeline.step(TASK_STEP).name}
    for step in reversed(pipeline.steps):
        if step.name in names:
            names |= {wait.producer.name for wait in pipeline.waits(step)}
    return [step for step in pipeline.steps if step.name in names]


def _make(run: PipelineRun, steps: Sequence[PipelineStep[Any]], usage: QuestionUsage) -> None:
    """Run the steps. Standard output is for the preview, so progress goes elsewhere."""
    left = TimeLeft(run, steps)
    with redirect_stdout(sys.stderr), display(usage, left) as shown:
        drive(run, Schedule(run, shown if isinstance(shown, LiveTable) else left), steps)


def _require_tasks(
    run: PipelineRun, steps: Sequence[PipelineStep[Any]], usage: QuestionUsage, whole: PipelineOptions
) -> None:
    """Raise ConfigError, or SkillweaveError if models were asked, with the reason why there are no tasks."""
    why_stopped = run.executor.why_stopped
    fault = f"stopped: {why_stopped}" if why_stopped is not None else _fault(run, steps)
    if fault and are_all_offline(usage.askings()):
        raise ConfigError(fault)
    if not fault:
        return
    has_cache = cache_path(run.spec.config.llm) is not None
    kept = sum(
        asking.kept + asking.replies
        for asking in usage.askings()
        if has_cache and asking.author.partition("/")[0] in NETWORK
    )
    if not kept:
        raise SkillweaveError(f"{fault}; no answer was kept, so all is asked anew; next: {repeat_line()}")
    raise SkillweaveError(
        f"{fault}; the cache keeps {counted(kept, 'answer')}: to have all questions asked anew, add --set "
        f"llm.cache=false; to go on from here, and keep the domain, next: {whole.command('run')}"
    )


def _fault(run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> str | None:
    """Why there are no tasks; None if there are some."""
    records = [record for step in steps for record in run.manifest.items(step.name)]
    for record in records:
        if record.state in ("rejected", "failed"):
            return f"{record.name} {record.state}: {'; '.join(record.reasons)}"
    if any(record.figures.get(f"{split} tasks") for record in records for split in SPLITS):
        return None
    reasons = "; ".join(reason for record in records for reason in record.rejected)
    return f"no task came of it: {reasons or 'nobody wants anything'}"


def _preview(dataset: Dataset) -> Iterator[str]:
    tasks = [task for world in dataset.tasks.worlds for task in dataset.tasks.of(world)]
    blueprint = dataset.blueprint(tasks[0].world)
    yield from _wrapped(f"{blueprint.title} ({blueprint.domain})")
    yield ""
    yield f"{len(blueprint.tools)} tools"
    for tool in blueprint.tools:
        yield from _tool(tool)
    yield ""
    yield f"Policy ({counted(len(blueprint.rules), 'rule')})"
    for paragraph in _paragraphs(dataset.policy(blueprint.server).text):
        yield from _wrapped(paragraph, "  ")
    for number, task in enumerate(tasks, start=1):
        yield ""
        yield from _task(number, task)
    yield ""


def _tool(tool: Tool) -> Iterator[str]:
    yield from _wrapped(f"{tool.name} ({tool.kind}): {tool.description}", "  ")
    rules = [
        f"[{guard.rule}{', by policy' if guard.enforced_by == 'agent' else ''}] {guard.says}" for guard in tool.guards
    ]
    rules += [f"[{effect.rule}] {effect.says}" for effect in tool.effects]
    for rule in rules[:SHOWN_RULES]:
        yield from _wrapped(rule, "      ")
    if len(rules) > SHOWN_RULES:
        yield f"      and {counted(len(rules) - SHOWN_RULES, 'rule')} more"


def _paragraphs(policy: str) -> list[str]:
    """The first paragraphs, without headings and comments."""
    parts = [one_line(part) for part in policy.split("\n\n")]
    prose = [part for part in parts if part and not part.startswith(("#", "<!--"))]
    return [textwrap.shorten(part, TEXT_CHARS, placeholder=" ...") for part in prose[:SHOWN_PARAGRAPHS]]


def _task(number: int, task: Task) -> Iterator[str]:
    yield f"Task {number}: {task.kind}"
    first = task.messages[0].content if task.messages else None
    opening = textwrap.shorten(one_line(first or task.scenario.goal), TEXT_CHARS, placeholder=" ...")
    yield from _wrapped(f'"{opening}"', "  ")
    for call in task.golden:
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
        yield from _wrapped(f"{call.tool}({given})", "    ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(one_line(text), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _show_figures(run: PipelineRun, askings: list[QuestionMetrics]) -> None:
    if not are_all_offline(askings):
        show_questions(askings)
    took = total_metrics(askings)
    print(f"this preview took {counted(took.asked, 'question')}, {tokens_of(took):,} tokens, {cost_of(took)}")
    forecast = CostForecast(run)
    total = CostEstimate.summed([forecast.of(step, 1, asked) for step, asked in _whole_domain(run)])
    print(f"a whole domain takes about {total.words}; as it went here, and for servers and tasks as in a default run")


def _whole_domain(run: PipelineRun) -> list[tuple[PipelineStep[Any], ByQuestion]]:
    """What each step asks for a whole domain: as it went here; as in a default run for steps that did not run whole."""
    expected = ExpectedQuestions(run)
    steps: list[tuple[PipelineStep[Any], ByQuestion]] = []
    for step in run.pipeline.steps:
        records = run.manifest.items(step.name)
        is_part = step.name == TASK_STEP or not records
        asked = expected.of_step(step) if is_part else together([asked_in(record) for record in records])
        steps.append((step, asked or {}))
    return steps
