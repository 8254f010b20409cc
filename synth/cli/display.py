"""What commands print: plain tables, labels of items, tokens and cost in words, and the progress of a run.

Progress is a live table on a terminal and plain lines elsewhere.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from skillweave.base.manifest import ItemRecord
from skillweave.llm.ledger import Ledger, cost_in_words
from skillweave.schema.question_metrics import QuestionMetrics, total_metrics
from synth.engine.schedule import DueItem, ItemId, RunListener, StepPlan
from synth.engine.step import ALL, JOIN, PipelineStep


def item_label(step: PipelineStep[Any], key: str) -> str:
    """`policies/DentalClinic`, `entities.json[DentalClinic]`: an item by the first thing that it makes."""
    artifacts = step.join_writes if key == JOIN else step.writes
    if not artifacts:
        return key
    first = artifacts[0]
    if key in (ALL, JOIN):
        return first.pattern.replace("{key}", "*")
    if first.kind == "joined":
        return first.label(key)
    return first.path(key).rpartition(".")[0]


def counted(count: int, noun: str) -> str:
    """`1 item`, `3 items`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


NUMBER = re.compile(r"~?[$]?[\d,]+(\.\d+)?(e-\d+)?%?|-|unknown|")
"""What stands to the right, with what stands in a number's place."""


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print it: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if not column or not _is_number(rows, column) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)).rstrip())


def _is_number(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(NUMBER.fullmatch(row[column]) for row in rows)


CHARACTERS_PER_TOKEN = 4.0
"""In a token, where nothing was measured."""


class QuestionUsage:
    """While a run goes on. Its ledger holds what is under way too, but only where items run in this process."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._settled: dict[str, list[QuestionMetrics]] = {}

    def settled(self, record: ItemRecord) -> None:
        """An item was done, here or elsewhere."""
        if record.askings:
            self._settled.setdefault(record.step, []).extend(record.askings)

    def of(self, step: str) -> QuestionMetrics:
        """What the items of a step took."""
        return total_metrics(self._ledger.askings(step) or self._settled.get(step, []))

    def askings(self) -> list[QuestionMetrics]:
        """By question and author, sorted."""
        return self._ledger.askings() or by_question([each for found in self._settled.values() for each in found])

    def total(self) -> QuestionMetrics:
        """What all steps took."""
        return total_metrics(self.askings())


def tokens_of(asking: QuestionMetrics) -> int:
    """Of prompts and answers together."""
    return asking.input_tokens + asking.output_tokens


def tokens_in_words(asking: QuestionMetrics) -> str:
    """Of prompts and answers together; by their characters, marked `~`, where nobody reported any."""
    reported = tokens_of(asking)
    return f"{reported:,}" if reported else f"~{(asking.prompt_chars + asking.reply_chars) / CHARACTERS_PER_TOKEN:,.0f}"


def was_paid_for(asking: QuestionMetrics) -> bool:
    """Whether a model had a part in it."""
    return bool(tokens_of(asking) or asking.requests or asking.cost_usd or asking.unpriced)


def cost_of(asking: QuestionMetrics) -> str:
    """What it cost, in words; what may have been charged for requests without a reply stands beside it."""
    lost = f", at most {cost_in_words(asking.lost_usd, 0)} lost" if asking.lost_usd else ""
    return cost_in_words(asking.cost_usd, asking.unpriced) + lost


def usage_note(asking: QuestionMetrics) -> str:
    """`12,345 tokens, $0.12`; empty where no model was asked."""
    return f"{tokens_of(asking):,} tokens, {cost_of(asking)}" if was_paid_for(asking) else ""


def of_records(records: Sequence[ItemRecord]) -> list[QuestionMetrics]:
    """By question and author, sorted."""
    return by_question([asking for record in records for asking in record.askings])


def by_question(askings: Sequence[QuestionMetrics]) -> list[QuestionMetrics]:
    """Those of one question and author together, sorted."""
    found: dict[tuple[str, str], list[QuestionMetrics]] = {}
    for asking in askings:
        found.setdefault((asking.question, asking.author), []).append(asking)
    return [total_metrics(each, question=question, author=author) for (question, author), each in sorted(found.items())]


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
OFFLINE_PREFIX = "offline/"


def show_questions(askings: Sequence[QuestionMetrics]) -> None:
    """Print a row for each question and author."""
    show_table(QUESTION_HEADER, [_row(asking) for asking in askings])


def are_all_offline(askings: Sequence[QuestionMetrics]) -> bool:
    """Whether no model had a part in it."""
    return all(asking.author.startswith(OFFLINE_PREFIX) for asking in askings)


def _row(asking: QuestionMetrics) -> list[str]:
    complaints = [f"{count} {kind}" for kind, count in asking.complaints.items()]
    kept = [f"{asking.kept:,} replies from the cache"] if asking.kept else []
    return [
        asking.question,
        asking.author,
        f"{asking.asked:,}",
        f"{asking.first_try:,}",
        f"{asking.repaired:,}",
        f"{asking.rejected:,}",
        tokens_in_words(asking),
        cost_of(asking),
        ", ".join([*complaints, *kept]) or "-",
    ]


if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

REFRESH_S = 0.5
"""Seconds after which what is spent is looked up again."""


@contextmanager
def display(spent: QuestionUsage) -> Iterator[RunListener]:
    """The display that standard output is fit for."""
    if not sys.stdout.isatty():
        yield PlainLines(spent)
        return
    with _table(spent) as progress:
        yield LiveTable(progress, spent)


class PlainLines(RunListener):
    """A line for each thing that is done, with why it is done again."""

    def __init__(self, spent: QuestionUsage) -> None:
        self._spent = spent
        self._due: dict[ItemId, DueItem] = {}

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            print(f"{due.step.short} {item_label(due.step, due.item.key)}: redo, {due.reason}", flush=True)

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            self._spent.settled(record)
            total = usage_note(self._spent.total())
            print(outcome(self._due[item], record) + (f"; so far {total}" if total else ""), flush=True)


class LiveTable(RunListener):
    """A row for each step."""

    def __init__(self, progress: "Progress", spent: QuestionUsage) -> None:
        self._progress = progress
        self._spent = spent
        self._rows: dict[str, TaskID] = {}
        self._due: dict[ItemId, DueItem] = {}
        self._lost: dict[str, Counter[str]] = {}

    def planned(self, plan: StepPlan) -> None:
        name = plan.step.name
        self._rows[name] = self._progress.add_task(name, total=len(plan.items), rate="", note="")
        self._lost[name] = Counter()

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            self._progress.print(f"{due.step.short} {item_label(due.step, due.item.key)}: redo, {due.reason}")

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            self._spent.settled(record)
        if record.state != "done":
            self._lost[item.step][record.state] += 1
            if was_done:
                self._progress.print(outcome(self._due[item], record))
        note = ", ".join(f"{count} {state}" for state, count in sorted(self._lost[item.step].items()))
        row = self._rows[item.step]
        self._progress.update(row, advance=1, note=note, rate=self._rate(row))

    def _rate(self, row: "TaskID") -> str:
        speed = self._progress.tasks[row].speed
        return f"{speed:.1f}/s" if speed else ""


def _table(spent: QuestionUsage) -> "Progress":
    """A table whose rows, and whose last line, tell what is spent as it is spent."""
    from rich.console import RenderableType
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class SpentColumn(ProgressColumn):
        max_refresh = REFRESH_S

        def render(self, task: Task) -> Text:
            return Text(usage_note(spent.of(task.description)))

    class Table(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            total = usage_note(spent.total())
            if total:
                yield Text(f"in all {total}")

    return Table(
        TextColumn("{task.description:<34}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[note]}"),
        SpentColumn(),
    )


def outcome(due: DueItem, record: ItemRecord) -> str:
    """What an item came to, in a line."""
    label = f"{due.step.short} {item_label(due.step, due.item.key)}"
    if record.state == "done":
        return f"{label}: done in {record.seconds:.1f} s"
    return f"{label}: {record.state}, {'; '.join(record.reasons)[:300]}"
