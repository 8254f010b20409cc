"""What commands print: tables, labels and times, and in words what questions took, by step, question and author.

While a run goes on, the ledger of its process also knows questions that are under way. Items that ran in another
process are known by their records.

The progress of a run: a live table on a terminal, plain lines elsewhere. Both show what models have taken so far.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from skillweave.base.manifest import ItemRecord
from skillweave.base.progress import every
from skillweave.llm.ledger import Ledger, cost_in_words
from skillweave.schema.reports import QuestionMetrics, total_metrics
from synth.cli.time_left import TimeLeft
from synth.engine.schedule import DueItem, ItemId, RunListener, StepPlan
from synth.engine.step import ALL, JOIN, PipelineStep

NUMBER = re.compile(r"~?[$]?[\d,]+(\.\d+)?(e-\d+)?%?|-|unknown|")
"""Cells that are set to the right: numbers, and words in the place of one."""


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table. The first column is set to the left, columns of numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if not column or not _is_number(rows, column) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *others)).rstrip()


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    for line in table_lines(header, rows):
        print(line)


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(NUMBER.fullmatch(row[column]) for row in rows)


def item_label(step: PipelineStep[Any], key: str) -> str:
    """`policies/DentalClinic`, `entities.json[DentalClinic]`: an item, named by the first artifact that it writes."""
    artifacts = step.join_writes if key == JOIN else step.writes
    if not artifacts:
        return key
    first = artifacts[0]
    if key in (ALL, JOIN):
        return first.pattern.replace("{key}", "*")
    if first.kind == "joined":
        return first.label(key)
    return first.path(key).rpartition(".")[0]


def duration(seconds: float) -> str:
    """A time in words: `4.2 s`, `14 min 5 s`, `2 h 3 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


CHARACTERS_PER_TOKEN = 4.0
"""Where no endpoint reported tokens."""
OFFLINE_PREFIX = "offline/"
"""What the names of authors begin with that are no models. They take no tokens and cost nothing."""
QUESTION_HEADER = (
    "question",
    "author",
    "asked",
    "accepted first",
    "repaired",
    "given up",
    "tokens",
    "cost",
    "complaints",
)


class QuestionUsage:
    """What questions took in a run, while it goes on."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._settled: dict[str, list[QuestionMetrics]] = {}

    def add(self, record: ItemRecord) -> None:
        """Count an item that was done, in this process or another."""
        if record.askings:
            self._settled.setdefault(record.step, []).extend(record.askings)

    def of(self, step: str) -> QuestionMetrics:
        """What the items of a step took."""
        return total_metrics(self._ledger.askings(step) or self._settled.get(step, []))

    def askings(self) -> list[QuestionMetrics]:
        """One entry for each question and author, sorted."""
        return self._ledger.askings() or by_question(asking for step in self._settled.values() for asking in step)

    def total(self) -> QuestionMetrics:
        """What all steps took."""
        return total_metrics(self.askings())


def of_records(records: Iterable[ItemRecord]) -> list[QuestionMetrics]:
    """What items asked: one entry for each question and author, sorted."""
    return by_question(asking for record in records for asking in record.askings)


def by_question(askings: Iterable[QuestionMetrics]) -> list[QuestionMetrics]:
    """The sum for each question and author, sorted."""
    groups: dict[tuple[str, str], list[QuestionMetrics]] = {}
    for asking in askings:
        groups.setdefault((asking.question, asking.author), []).append(asking)
    return [total_metrics(group, question=name[0], author=name[1]) for name, group in sorted(groups.items())]


def are_all_offline(askings: Iterable[QuestionMetrics]) -> bool:
    """Whether no model answered or was asked."""
    return all(asking.author.startswith(OFFLINE_PREFIX) for asking in askings)


def tokens_of(asking: QuestionMetrics) -> int:
    """The tokens of prompts and answers that endpoints reported."""
    return asking.input_tokens + asking.output_tokens


def tokens_in_words(asking: QuestionMetrics) -> str:
    """The tokens of one question and author: `1,234`; `~1,200` if its endpoint reported none; `0` offline."""
    reported = tokens_of(asking)
    if reported or asking.author.startswith(OFFLINE_PREFIX):
        return f"{reported:,}"
    return f"~{(asking.prompt_chars + asking.reply_chars) / CHARACTERS_PER_TOKEN:,.0f}"


def cost_of(asking: QuestionMetrics) -> str:
    """The cost in words, and the most that requests without a reply may have cost beside it."""
    lost = f", at most {cost_in_words(asking.lost_usd, 0)} lost" if asking.lost_usd else ""
    return cost_in_words(asking.cost_usd, asking.unpriced) + lost


def usage_note(asking: QuestionMetrics) -> str:
    """`12,345 tokens, $0.12`; empty if no model was asked."""
    was_model_asked = tokens_of(asking) or asking.requests or asking.cost_usd or asking.unpriced
    return f"{tokens_of(asking):,} tokens, {cost_of(asking)}" if was_model_asked else ""


def show_questions(askings: Iterable[QuestionMetrics]) -> None:
    """Print a row for each question and author."""
    show_table(QUESTION_HEADER, [_row(asking) for asking in askings])


def _row(asking: QuestionMetrics) -> list[str]:
    complaints = [f"{count} {kind}" for kind, count in asking.complaints.items()]
    cached = [f"{asking.kept:,} replies from the cache"] if asking.kept else []
    return [
        asking.question,
        asking.author,
        f"{asking.asked:,}",
        f"{asking.first_try:,}",
        f"{asking.repaired:,}",
        f"{asking.rejected:,}",
        tokens_in_words(asking),
        cost_of(asking),
        ", ".join([*complaints, *cached]) or "-",
    ]


EVERY_S = 15.0
"""Seconds between two plain lines about what is under way."""
REFRESH_S = 0.5
"""Seconds between two looks at what was spent."""
REASON_CHARS = 300
"""Most characters of an item's reasons that its line shows."""


@contextmanager
def display(usage: QuestionUsage, left: TimeLeft) -> Iterator[RunListener]:
    """The display that fits standard output: a live table on a terminal, else plain lines."""
    if not sys.stdout.isatty():
        lines = PlainLines(usage, left)
        with every(EVERY_S, lines.show):
            yield lines
        return
    with LiveProgress(usage, left) as progress:
        table = LiveTable(progress, usage, left)
        with every(REFRESH_S, table.show):
            yield table


class PlainLines(RunListener):
    """A line for each item that was done, and for each that is done again; now and then, what is under way."""

    def __init__(self, usage: QuestionUsage, left: TimeLeft) -> None:
        self._usage = usage
        self._left = left
        self._due: dict[ItemId, DueItem] = {}

    def show(self) -> None:
        """Print what is under way."""
        if line := self._left.line():
            print(line, flush=True)

    def planned(self, plan: StepPlan) -> None:
        self._left.planned(plan)

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            print(_redo_line(due), flush=True)

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        self._left.settled(item, record, was_done=was_done)
        if was_done:
            self._usage.add(record)
            total = usage_note(self._usage.total())
            print(_result_line(self._due[item], record) + (f"; so far {total}" if total else ""), flush=True)


class LiveTable(RunListener):
    """A row for each step, with a line above the table for each item that is redone or was not done."""

    def __init__(self, progress: "LiveProgress", usage: QuestionUsage, left: TimeLeft) -> None:
        self._progress = progress
        self._usage = usage
        self._left = left
        self._rows: dict[str, TaskID] = {}
        self._due: dict[ItemId, DueItem] = {}
        self._not_done: dict[str, Counter[str]] = {}

    def show(self) -> None:
        """Show in each step's row how far the item is that began first."""
        notes: dict[str, str] = {}
        for name, note in self._left.notes().items():
            step, _, key = name.partition("-")
            notes.setdefault(step, f"{key}: {note.words}")
        for name, row in list(self._rows.items()):
            self._progress.update(row, doing=notes.get(name.partition("_")[0], ""))

    def planned(self, plan: StepPlan) -> None:
        self._left.planned(plan)
        name = plan.step.name
        self._rows[name] = self._progress.add_task(name, total=len(plan.items), rate="", note="", doing="")
        self._not_done[name] = Counter()

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            self._progress.print(_redo_line(due))

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        self._left.settled(item, record, was_done=was_done)
        if was_done:
            self._usage.add(record)
        if record.state != "done":
            self._not_done[item.step][record.state] += 1
            if was_done:
                self._progress.print(_result_line(self._due[item], record))
        note = ", ".join(f"{count} {state}" for state, count in sorted(self._not_done[item.step].items()))
        row = self._rows[item.step]
        speed = self._progress.tasks[row].speed
        self._progress.update(row, advance=1, note=note, rate=f"{speed:.1f}/s" if speed else "")


class LiveProgress(Progress):
    """Rich's progress table: in each row what the step does and has taken, below the sum and the time that is left."""

    def __init__(self, usage: QuestionUsage, left: TimeLeft | None = None) -> None:
        self._usage = usage
        self._left = left
        super().__init__(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[note]}"),
            TextColumn("{task.fields[doing]}", markup=False),
            _UsageColumn(usage),
        )

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        total = usage_note(self._usage.total())
        if total:
            yield Text(f"in all {total}")
        if self._left is not None and not self.finished:
            yield Text(self._left.words())


class _UsageColumn(ProgressColumn):
    max_refresh = REFRESH_S

    def __init__(self, usage: QuestionUsage) -> None:
        super().__init__()
        self._usage = usage

    def render(self, task: Task) -> Text:
        return Text(usage_note(self._usage.of(task.description)))


def _redo_line(due: DueItem) -> str:
    return f"{due.step.short} {item_label(due.step, due.item.key)}: redo, {due.reason}"


def _result_line(due: DueItem, record: ItemRecord) -> str:
    label = f"{due.step.short} {item_label(due.step, due.item.key)}"
    if record.state == "done":
        return f"{label}: done in {record.seconds:.1f} s"
    return f"{label}: {record.state}, {'; '.join(record.reasons)[:REASON_CHARS]}"
