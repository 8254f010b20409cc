"""The display of a run: a live table on a terminal, plain lines elsewhere."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillweave.manifest import ItemRecord
from synth.cli.wording import item_label
from synth.engine.schedule import Item, Listener, Plan, Work

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@contextmanager
def display() -> Iterator[Listener]:
    """The display that standard output is fit for."""
    if not sys.stdout.isatty():
        yield PlainLines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns) as progress:
        yield LiveTable(progress)


class PlainLines(Listener):
    """A line for each thing that is done, with why it is done again."""

    def __init__(self) -> None:
        self._work: dict[Item, Work] = {}

    def ready(self, work: Work) -> None:
        self._work[work.item] = work
        if work.reason != "new":
            print(f"{work.step.short} {item_label(work.step, work.item.key)}: redo, {work.reason}", flush=True)

    def settled(self, item: Item, record: ItemRecord, *, was_done: bool) -> None:
        if was_done:
            print(outcome(self._work[item], record), flush=True)


class LiveTable(Listener):
    """A row for each step."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
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


def outcome(work: Work, record: ItemRecord) -> str:
    """What an item came to, in a line."""
    label = f"{work.step.short} {item_label(work.step, work.item.key)}"
    if record.state == "done":
        return f"{label}: done in {record.seconds:.1f} s"
    return f"{label}: {record.state}, {'; '.join(record.reasons)[:300]}"
