"""`status` and `list-steps`: what there is, from the manifest and the steps' declarations."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.config.sections import TaskMode
from skillweave.llm.budget import spending
from skillweave.llm.ledger import cost_in_words, dollars
from skillweave.schema.question_metrics import total_metrics
from synth.cli.display import are_all_offline, cost_of, of_records, show_questions, show_table, tokens_of
from synth.cli.options import PipelineOptions, PipelineSource
from synth.engine.artifact import Every
from synth.engine.pipeline import load_pipeline
from synth.engine.step import PipelineStep

QUESTIONS = "--questions"


def show_status(place: PipelineSource, options: PipelineOptions, *, questions: bool = False) -> None:
    """Print a row for each step, and for each question where models were asked or `questions` wants it."""
    config = options.load()
    folder = options.folder()
    manifest = Manifest(Store(folder))
    steps = load_pipeline(place.package).restricted(config.task_mode).steps
    header = ["step", "state", "done", "rejected", "failed", "skipped", "seconds", "tokens", "cost"]
    show_table(header, [_row(step, manifest.items(step.name)) for step in steps])
    askings = of_records(manifest.items())
    if askings and (questions or not are_all_offline(askings)):
        print()
        show_questions(askings)
    elif askings:
        count = sum(asking.asked for asking in askings)
        print(f"{count:,} questions were answered offline; see how with: {options.command('status', QUESTIONS)}")
    for line in _spending(folder, config.llm.budget_usd):
        print(line)
    print(f"read from {config.outputs_dir}; next: {options.command('run', '--dry-run')}")


def show_steps(place: PipelineSource, mode: TaskMode) -> None:
    """Print each step with what it reads and writes."""
    steps = load_pipeline(place.package).restricted(mode).steps
    for step in steps:
        print(f"{step.name}: {step.title}")
        print(f"    reads  {', '.join(_reads(step)) or 'domains.seeds'}")
        print(f"    writes {', '.join(artifact.pattern for artifact in (*step.writes, *step.join_writes))}")


def _row(step: PipelineStep[Any], records: list[ItemRecord]) -> list[str]:
    states = Counter(record.state for record in records)
    took = total_metrics([asking for record in records for asking in record.askings])
    return [
        step.name,
        _state(states),
        *(str(states[state]) for state in ("done", "rejected", "failed", "skipped")),
        f"{sum(record.seconds for record in records):.1f}",
        f"{tokens_of(took):,}",
        cost_of(took),
    ]


def _spending(folder: Path, budget_usd: float | None) -> Iterator[str]:
    """What all runs on the folder came to, those that ended early among them."""
    found = spending(folder)
    if found is None:
        return
    lost = f", at most {dollars(found.lost)} lost on requests without a reply" if found.lost else ""
    reserved = f", {dollars(found.reserved)} reserved for requests under way" if found.reserved else ""
    budget = f"; the budget is {dollars(budget_usd)}" if budget_usd is not None else ""
    spent = cost_in_words(found.spent, found.unpriced)
    yield f"spent by all runs on this folder, where a price is known: {spent}{lost}{reserved}{budget}"


def _state(states: "Counter[Any]") -> str:
    if not states:
        return "not run"
    return "failed" if states["failed"] else "done" if states["done"] else "nothing made"


def _reads(step: PipelineStep[Any]) -> list[str]:
    reads = [read.artifact if isinstance(read, Every) else read for read in step.reads]
    return list(dict.fromkeys(artifact.pattern for artifact in [*step.listed, *reads]))
