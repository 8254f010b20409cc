"""`status`: everything that is known of an outputs folder.

It shows each step's state, the figures of each step, all reasons of rejections, how each question went, and the cost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from skillweave.base.command import counted, one_line
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.llm.budget import spending
from skillweave.llm.ledger import cost_in_words, dollars
from skillweave.schema.question_metrics import total_metrics
from synth.cli.options import PipelineOptions, PipelineSource
from synth.cli.text import are_all_offline, cost_of, of_records, show_questions, show_table, tokens_of
from synth.engine.pipeline import load_pipeline
from synth.engine.step import PipelineStep

QUESTIONS = "--questions"
STEP_HEADER = ("step", "state", "done", "rejected", "failed", "skipped", "seconds", "tokens", "cost")
STATES = ("done", "rejected", "failed", "skipped")


def show_status(source: PipelineSource, options: PipelineOptions, *, questions: bool = False) -> None:
    """Print the state of an outputs folder.

    Args:
        source: The pipeline that made it.
        options: What the command line says of the configuration.
        questions: Show how each question went even if no model was asked.

    Raises:
        ConfigError: There is no such folder.
    """
    config = options.load()
    folder = options.folder()
    manifest = Manifest(Store(folder))
    steps = load_pipeline(source.package).restricted(config.task_mode).steps
    show_table(STEP_HEADER, [_row(step, manifest.items(step.name)) for step in steps])
    records = {step.name: manifest.items(step.name) for step in steps}
    _print_section("figures", (line for step in steps for line in _figures(step, records[step.name])))
    losses = (line for step in steps for line in _losses(step, records[step.name]))
    _print_section("left out, rejected or failed", losses)
    askings = of_records(manifest.items())
    if askings and (questions or not are_all_offline(askings)):
        print()
        show_questions(askings)
    elif askings:
        count = sum(asking.asked for asking in askings)
        print()
        print(f"{count:,} questions were answered offline; see how with: {options.command('status', QUESTIONS)}")
    for line in _spending(folder, config.llm.budget_usd):
        print(line)
    print(f"read from {config.outputs_dir}; next: {options.command('run', '--dry-run')}")


def _row(step: PipelineStep[Any], records: Sequence[ItemRecord]) -> list[str]:
    states: Counter[str] = Counter(record.state for record in records)
    took = total_metrics([asking for record in records for asking in record.askings])
    return [
        step.name,
        _state(states),
        *(str(states[state]) for state in STATES),
        f"{sum(record.seconds for record in records):.1f}",
        f"{tokens_of(took):,}",
        cost_of(took),
    ]


def _state(states: "Counter[str]") -> str:
    if not states:
        return "not run"
    return "failed" if states["failed"] else "done" if states["done"] else "nothing made"


def _figures(step: PipelineStep[Any], records: Iterable[ItemRecord]) -> Iterator[str]:
    """The sums of what a step's items counted, in a line."""
    figures: Counter[str] = Counter()
    for record in records:
        figures.update(record.figures)
    if figures:
        yield f"{step.short} {', '.join(f'{name} {value:,g}' for name, value in sorted(figures.items()))}"


def _losses(step: PipelineStep[Any], records: Sequence[ItemRecord]) -> Iterator[str]:
    """Why parts of a step's items were rejected, most frequent reason first; then items that were not done."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for record in records:
        counts.update(record.rejected)
        for reason, part in record.examples.items():
            examples.setdefault(reason, f"{record.key}: {part}")
    for reason, count in counts.most_common():
        yield f"{step.short} {count:>5,} x {reason}" + (f" (first {examples[reason]})" if reason in examples else "")
    for record in records:
        if record.state in ("rejected", "failed"):
            yield f"{step.short} {record.key} {record.state}: {'; '.join(record.reasons)}"
    skipped = sum(record.state == "skipped" for record in records)
    if skipped:
        yield f"{step.short} {counted(skipped, 'item')} skipped, since what they need was not made"


def _print_section(title: str, lines: Iterable[str]) -> None:
    rows = list(lines)
    if rows:
        print(f"\n{title}")
    for row in rows:
        print(one_line(row))


def _spending(folder: Path, budget_usd: float | None) -> Iterator[str]:
    """What all runs on the folder cost, also those that ended early."""
    spent = spending(folder)
    if spent is None:
        return
    lost = f", at most {dollars(spent.lost)} lost on requests without a reply" if spent.lost else ""
    reserved = f", {dollars(spent.reserved)} reserved for requests under way" if spent.reserved else ""
    budget = f"; the budget is {dollars(budget_usd)}" if budget_usd is not None else ""
    known = cost_in_words(spent.spent, spent.unpriced)
    yield f"spent by all runs on this folder, where a price is known: {known}{lost}{reserved}{budget}"
