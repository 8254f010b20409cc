"""The progress of a run, a live table on a terminal, plain lines elsewhere; and the time that it still needs.

An item is expected to take what it took before; else what similar items took; else what a default run took. Times are
in units, and the pace of this run so far says how long a unit is here.
"""

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
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
from skillweave.base.progress import WorkNote, every, read_notes, time_left, waits
from synth.artifacts import DOMAIN_COMBINATIONS
from synth.cli.display import QuestionUsage, usage_note
from synth.engine.run import PipelineRun
from synth.engine.schedule import DueItem, ItemId, RunListener, StepPlan
from synth.engine.step import ALL, JOIN, PipelineStep
from synth.questions.sizes import UNIT_S, Sizes, StepSizes, keys_of

DOMAIN_COUNT = "target_domains"
COMBINATION_COUNT = "cross_domain_combinations"
COMBINATION_SIZE = "max_domains_per_combo"
"""Parameters of steps that say how many domains and combinations a run makes, and how large these are."""
SUPPOSED_UNITS = 5.0
"""How many units of work the usual pace counts for, beside what was done."""
MOST_NAMED = 3
"""Items under way that a line names."""


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


class ExpectedItems:
    """What is known of items that are not done yet: by the folder's records, and by the sizes of a default run."""

    def __init__(self, run: PipelineRun) -> None:
        self._run = run
        self._records = run.manifest.items()
        self._combinations = keys_of(DOMAIN_COMBINATIONS.pattern, self._records)
        self._done: dict[str, dict[str, list[ItemRecord]]] = {}
        """Step -> key of an item, or kind of items -> their records."""
        for record in self._records:
            if record.state == "done":
                of_step = self._done.setdefault(record.step, {})
                for name in (f"item {record.key}", self._kind(record.key)):
                    of_step.setdefault(name, []).append(record)
        shipped = Sizes.shipped()
        self._shipped = shipped.steps
        self._domains = self._param(DOMAIN_COUNT, shipped.domains)
        self._joined = 0
        if run.spec.config.task_mode != "single":
            # Two domains make one combination, however many are wanted.
            sizes = range(2, min(self._domains, self._param(COMBINATION_SIZE, 2)) + 1)
            possible = sum(math.comb(self._domains, size) for size in sizes)
            self._joined = min(self._param(COMBINATION_COUNT, shipped.combinations), possible)

    @property
    def is_measured(self) -> bool:
        """Whether this folder's own records are used."""
        return any(record.askings for record in self._records)

    def units_of_item(self, step: PipelineStep[Any], key: str) -> float:
        """The time that an item will take, in units."""
        similar = self._similar(step, key)
        sizes = self._shipped.get(step.name, StepSizes())
        if similar:
            return sum(record.seconds for record in similar) / len(similar) / UNIT_S
        if key == ALL:
            return sizes.units_of(self._domains, self._joined)
        return 0.0 if key == JOIN else sizes.combination_units if self._is_joined(key) else sizes.domain_units

    def units_of_step(self, step: PipelineStep[Any]) -> float:
        """The time that a step will take whose items are not known yet, in units."""
        known = [record for record in self._records if record.step == step.name and record.state == "done"]
        if known:
            return sum(record.seconds for record in known) / UNIT_S
        return self._shipped.get(step.name, StepSizes()).units_of(self._domains, self._joined)

    def _similar(self, step: PipelineStep[Any], key: str) -> list[ItemRecord]:
        """The last record of an item; else those of items of the same kind: a join, of a combination, of a domain."""
        done = self._done.get(step.name, {})
        return done.get(f"item {key}") or done.get(self._kind(key), [])

    def _kind(self, key: str) -> str:
        return JOIN if key == JOIN else "combination" if self._is_joined(key) else "domain"

    def _is_joined(self, key: str) -> bool:
        return key in self._combinations or "__" in key

    def _param(self, name: str, otherwise: int) -> int:
        """The value of a parameter that one step has; `otherwise` if no step has it."""
        values: Sequence[int] = [getattr(params, name) for params in self._run.params.values() if hasattr(params, name)]
        return values[0] if values else otherwise


class TimeLeft(RunListener):
    """Hears how a run goes, and says what is under way and how long it will take. Threads may ask it."""

    def __init__(self, run: PipelineRun, steps: Sequence[PipelineStep[Any]]) -> None:
        self._run = run
        self._expected = ExpectedItems(run)
        self._left = {ItemId(step.name, ""): self._expected.units_of_step(step) for step in steps}
        """Units of each item that is not settled; of each step whose items are not known, under an empty key."""
        self._units, self._seconds = SUPPOSED_UNITS, SUPPOSED_UNITS * UNIT_S
        self._lock = threading.Lock()

    def planned(self, plan: StepPlan) -> None:
        units = {item: self._expected.units_of_item(plan.step, item.key) for item in plan.items}
        with self._lock:
            if self._left.pop(ItemId(plan.step.name, ""), None) is not None:
                self._left |= units

    def settled(self, item: ItemId, record: ItemRecord, *, was_done: bool) -> None:
        with self._lock:
            units = self._left.pop(item, 0.0)
            if was_done and units:
                self._units += units
                self._seconds += record.seconds

    def seconds(self) -> float:
        """About how long the run will still take."""
        notes, now = self.notes(), time.time()
        with self._lock:
            pace, left = self._seconds / self._units, dict(self._left)
        total = 0.0
        for item, units in left.items():
            note = notes.get(f"{item.step.partition('_')[0]}-{item.key}")
            total += max(0.0, units * pace - (now - note.begun if note else 0.0))
        return total / self._run.spec.config.execution.workers

    def notes(self) -> dict[str, WorkNote]:
        """`step-item` of the items under way -> how far they are; the first one began first."""
        return read_notes(self._run.signs)

    def words(self) -> str:
        """The time in words; or what the run waits for, which nobody can tell the time of."""
        return waits() or time_left(self.seconds())

    def line(self) -> str:
        """What is under way and how long it will take; empty if nothing is."""
        notes = self.notes()
        names = [f"{name.replace('-', ' ', 1)} ({note.words})" for name, note in notes.items()][:MOST_NAMED]
        more = [f"{len(notes) - MOST_NAMED} more"] if len(notes) > MOST_NAMED else []
        return f"under way: {', '.join([*names, *more])}; {self.words()}" if notes else ""


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
