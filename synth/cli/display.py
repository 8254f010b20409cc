"""The display of a run: a live table on a terminal, plain lines elsewhere; both tell what models take meanwhile."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillweave.manifest import ItemRecord
from synth.cli.spent import Spent, note
from synth.cli.wording import item_label
from synth.engine.schedule import Item, Listener, Plan, Work

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY_S = 0.5
"""Seconds after which what is spent is looked up again."""


@contextmanager
def display(spent: Spent) -> Iterator[Listener]:
    """The display that standard output is fit for."""
    if not sys.stdout.isatty():
        yield PlainLines(spent)
        return
    with _table(spent) as progress:
        yield LiveTable(progress, spent)


class PlainLines(Listener):
    """A line for each thing that is done, with why it is done again."""

    def __init__(self, spent: Spent) -> None:
        self._spent = spent
        self._work: dict[Item, Work] = {}

    def ready(self, work: Work) -> None:
        self._work[work.item] = work
        if work.reason != "new":
            print(f"{work.step.short} {item_label(work.step, work.item.key)}: redo, {work.reason}", flush=True)

    def settled(self, item: Item, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            self._spent.settled(record)
            total = note(self._spent.total())
            print(outcome(self._work[item], record) + (f"; so far {total}" if total else ""), flush=True)


class LiveTable(Listener):
    """A row for each step."""

    def __init__(self, progress: "Progress", spent: Spent) -> None:
        self._progress = progress
        self._spent = spent
        self._rows: dict[str, TaskID] = {}
        self._work: dict[Item, Work] = {}
        self._lost: dict[str, Counter[str]] = {}

    def planned(self, plan: Plan) -> None:
        name = plan.step.name
        self._rows[name] = self._progress.add_task(name, total=len(plan.items), rate="", note="")
        self._lost[name] = Counter()

    def ready(self, work: Work) -> None:
        self._work[work.item] = work
        if work.reason != "new":
            self._progress.print(f"{work.step.short} {item_label(work.step, work.item.key)}: redo, {work.reason}")

    def settled(self, item: Item, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            self._spent.settled(record)
        if record.state != "done":
            self._lost[item.step][record.state] += 1
            if was_done:
                self._progress.print(outcome(self._work[item], record))
        note = ", ".join(f"{count} {state}" for state, count in sorted(self._lost[item.step].items()))
        row = self._rows[item.step]
        self._progress.update(row, advance=1, note=note, rate=self._rate(row))

    def _rate(self, row: "TaskID") -> str:
        speed = self._progress.tasks[row].speed
        return f"{speed:.1f}/s" if speed else ""


def _table(spent: Spent) -> "Progress":
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
        max_refresh = EVERY_S

        def render(self, task: Task) -> Text:
            return Text(note(spent.of(task.description)))

    class Table(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            total = note(spent.total())
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


def outcome(work: Work, record: ItemRecord) -> str:
    """What an item came to, in a line."""
    label = f"{work.step.short} {item_label(work.step, work.item.key)}"
    if record.state == "done":
        return f"{label}: done in {record.seconds:.1f} s"
    return f"{label}: {record.state}, {'; '.join(record.reasons)[:300]}"
