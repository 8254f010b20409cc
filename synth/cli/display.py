"""The progress of a run: a live table on a terminal, plain lines elsewhere. Both show what models have taken so far."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

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
from synth.cli.text import QuestionUsage, item_label, usage_note
from synth.engine.schedule import DueItem, ItemId, RunListener, StepPlan

REFRESH_S = 0.5
"""Seconds between two looks at what was spent."""
REASON_CHARS = 300
"""Most characters of an item's reasons that its line shows."""


@contextmanager
def display(usage: QuestionUsage) -> Iterator[RunListener]:
    """The display that fits standard output: a live table on a terminal, else plain lines."""
    if not sys.stdout.isatty():
        yield PlainLines(usage)
        return
    with LiveProgress(usage) as progress:
        yield LiveTable(progress, usage)


class PlainLines(RunListener):
    """A line for each item that was done, and for each that is done again."""

    def __init__(self, usage: QuestionUsage) -> None:
        self._usage = usage
        self._due: dict[ItemId, DueItem] = {}

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            print(_redo_line(due), flush=True)

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            self._usage.add(record)
            total = usage_note(self._usage.total())
            print(_result_line(self._due[item], record) + (f"; so far {total}" if total else ""), flush=True)


class LiveTable(RunListener):
    """A row for each step, with a line above the table for each item that is redone or was not done."""

    def __init__(self, progress: "LiveProgress", usage: QuestionUsage) -> None:
        self._progress = progress
        self._usage = usage
        self._rows: dict[str, TaskID] = {}
        self._due: dict[ItemId, DueItem] = {}
        self._not_done: dict[str, Counter[str]] = {}

    def planned(self, plan: StepPlan) -> None:
        name = plan.step.name
        self._rows[name] = self._progress.add_task(name, total=len(plan.items), rate="", note="")
        self._not_done[name] = Counter()

    def ready(self, due: DueItem) -> None:
        self._due[due.item] = due
        if due.reason != "new":
            self._progress.print(_redo_line(due))

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
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
    """Rich's progress table, with what each step has taken in its row and the sum below."""

    def __init__(self, usage: QuestionUsage) -> None:
        self._usage = usage
        super().__init__(
            TextColumn("{task.description:<34}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[note]}"),
            _UsageColumn(usage),
        )

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        total = usage_note(self._usage.total())
        if total:
            yield Text(f"in all {total}")


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
