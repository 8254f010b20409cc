"""`preview`: one domain with a handful of tasks, shown and not kept; only the models' answers are.

The pipeline's own steps make it, as far as tasks stand on them, in a folder that is removed. What it asked is in the
cache of replies, where the whole run finds it.
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

from skillweave.base.command import one_line
from skillweave.base.errors import ConfigError, SkillweaveError
from skillweave.base.store import locked
from skillweave.schema.contract import Tool
from skillweave.schema.question_metrics import QuestionMetrics, total_metrics
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from synth.cli.display import (
    CHARACTERS_PER_TOKEN,
    LiveTable,
    QuestionUsage,
    are_all_offline,
    cost_of,
    counted,
    display,
    show_questions,
    tokens_in_words,
)
from synth.cli.dry_run import CostEstimate, CostForecast, ExpectedQuestions
from synth.cli.options import PipelineOptions, PipelineSource
from synth.engine.drive import drive
from synth.engine.pipeline import Pipeline
from synth.engine.run import PipelineRun
from synth.engine.schedule import RunListener
from synth.engine.step import PipelineStep
from synth.questions.sizes import ByQuestion, asked_in, together

TASK_STEP = "s17_task_instantiation"
"""The step that writes the tasks."""
ONE_DOMAIN = ("task_mode=single", "steps.s01_domain_expansion.target_domains=1")
HANDFUL = (
    "steps.s15_instance_combos_selection.per_template=1",
    "steps.s15_instance_combos_selection.per_refusal=1",
    "steps.s15_instance_combos_selection.per_clarification=1",
    "steps.s15_instance_combos_selection.per_unavailable=1",
    "steps.s16_task_filtering.most=6",
)
"""Few instances; all that is asked before them is asked as a whole run asks it."""
WIDTH = 110
RULES = 2
"""Rules of a tool that are shown."""
LINES = 3
"""Paragraphs of the policy that are shown."""
SHORT = 240
"""Characters of a paragraph or a first message that are shown."""


def show_preview(place: PipelineSource, options: PipelineOptions, service: str) -> int:
    """The exit status. Raises ConfigError; SkillweaveError where no tasks came of it, with the reason."""
    seed = f"domains.seeds=[{json.dumps(service, ensure_ascii=False)}]"
    whole = replace(
        options,
        outputs=options.outputs or f"outputs-{re.sub(r'[^a-z0-9]+', '-', service.lower()).strip('-') or 'domain'}",
        overrides=(*ONE_DOMAIN, *options.overrides, seed),
    )
    # Where processes meet is tidied up when this one ends; in the folder it would be gone by then.
    get_temp_dir()
    with TemporaryDirectory(prefix="skillweave-preview-") as folder:
        few = replace(whole, outputs=folder, overrides=(*HANDFUL, *whole.overrides))
        run = PipelineRun(few.spec(place))
        steps = needed(run.pipeline)
        run.check_authors(steps)
        run.check_sandbox()
        spent = QuestionUsage(run.authors.ledger)
        run.store.prepare()
        with locked(run.store), closing(run):
            _make(run, steps, spent)
            if run.executor.is_stopped and run.executor.why_stopped is None:
                return 130
            why_stopped = run.executor.why_stopped
            fault = f"stopped: {why_stopped}" if why_stopped is not None else _fault(run, steps)
            if fault and are_all_offline(spent.askings()):
                raise ConfigError(fault)
            if fault:
                raise SkillweaveError(
                    f"{fault}; answers are kept, and given again: to have all asked anew, add --set llm.cache=false; "
                    f"to go on from here, and keep the domain: {whole.command('run')}"
                )
            for line in _preview(Dataset(run.store.root)):
                print(line)
            _show_figures(run, spent.askings())
    print(f"nothing was written; next, the whole domain: {whole.command('run')}")
    return 0


def needed(pipeline: Pipeline) -> Sequence[PipelineStep[Any]]:
    """The steps that tasks stand on, and the one that writes them."""
    last = pipeline.step(TASK_STEP)
    found = {last.name}
    for step in reversed(pipeline.steps):
        if step.name in found:
            found |= {wait.producer.name for wait in pipeline.waits(step)}
    return [step for step in pipeline.steps if step.name in found]


def _make(run: PipelineRun, steps: Sequence[PipelineStep[Any]], spent: QuestionUsage) -> None:
    """Progress goes beside the preview, and only onto a terminal."""
    with redirect_stdout(sys.stderr), display(spent) as shown:
        drive(run, (), steps, shown if isinstance(shown, LiveTable) else RunListener())


def _fault(run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> str | None:
    """Why there are no tasks; None where there are some."""
    records = [record for step in steps for record in run.manifest.items(step.name)]
    for record in records:
        if record.state in ("rejected", "failed"):
            return f"{record.name} {record.state}: {'; '.join(record.reasons)}"
    figures = [record.figures for record in records if record.step == TASK_STEP]
    if any(found.get(f"{split} tasks") for found in figures for split in ("train", "validation", "test")):
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
    says = [f"[{one.rule}{', by policy' if one.enforced_by == 'agent' else ''}] {one.says}" for one in tool.guards]
    says += [f"[{effect.rule}] {effect.says}" for effect in tool.effects]
    for sentence in says[:RULES]:
        yield from _wrapped(sentence, "      ")
    if len(says) > RULES:
        yield f"      and {counted(len(says) - RULES, 'rule')} more"


def _paragraphs(policy: str) -> list[str]:
    """The first ones, without headings and marks."""
    found = [one_line(part) for part in policy.split("\n\n")]
    told = [part for part in found if part and not part.startswith(("#", "<!--"))]
    return [textwrap.shorten(part, SHORT, placeholder=" ...") for part in told[:LINES]]


def _task(number: int, task: Task) -> Iterator[str]:
    yield f"Task {number}: {task.kind}"
    first = task.messages[0].content if task.messages else None
    yield from _wrapped(f'"{textwrap.shorten(one_line(first or task.scenario.goal), SHORT, placeholder=" ...")}"', "  ")
    for call in task.golden:
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
        yield from _wrapped(f"{call.tool}({given})", "    ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(one_line(text), WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _show_figures(run: PipelineRun, askings: list[QuestionMetrics]) -> None:
    if not are_all_offline(askings):
        show_questions(askings)
    took = total_metrics(askings)
    print(f"this preview took {counted(took.asked, 'question')}, {tokens_in_words(took)} tokens, {cost_of(took)}")
    whole, forecast = _whole(run), CostForecast(run)
    total = CostEstimate.summed([forecast.of(step, 1, asked) for step, asked in whole])
    sizes = together([asked for _, asked in whole]).values()
    by_characters = sum(size.prompt_chars + size.reply_chars for size in sizes) / CHARACTERS_PER_TOKEN
    tokens = f"{total.tokens_in + total.tokens_out:,.0f}" if total.tokens_in else f"~{by_characters:,.0f}"
    print(
        f"a whole domain takes about {total.questions:,.0f} questions, {tokens} tokens, {total.cost}: as it went here, "
        "and for servers and tasks as in a default run"
    )


def _whole(run: PipelineRun) -> list[tuple[PipelineStep[Any], ByQuestion]]:
    """What a whole domain asks: as it went here, but for the steps that were left out or did a part."""
    expected = ExpectedQuestions(run)
    found = []
    for step in run.pipeline.steps:
        records = run.manifest.items(step.name)
        is_part = step.name == TASK_STEP or not records
        asked = expected.of_step(step) if is_part else together([asked_in(record) for record in records])
        found.append((step, asked or {}))
    return found
