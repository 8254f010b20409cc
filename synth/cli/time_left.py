"""What items that are not done yet will take, and the time that a run still needs. Estimates: nothing else uses them.

An item is expected to take what it took before; else what similar items took; else what a default run took. Times are
in units, and the pace of this run so far says how long a unit is here.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

from skillweave.base.manifest import ItemRecord
from skillweave.base.progress import WorkNote, read_notes, time_left
from synth.artifacts import DOMAIN_COMBINATIONS
from synth.engine.run import PipelineRun
from synth.engine.schedule import ItemId, RunListener, StepPlan
from synth.engine.step import ALL, JOIN, PipelineStep
from synth.questions.sizes import UNIT_S, Sizes, StepSizes, keys_of

DOMAIN_COUNT = "target_domains"
COMBINATION_COUNT = "cross_domain_combinations"
"""Parameters of steps that say how many domains and combinations a run makes."""
SUPPOSED_UNITS = 5.0
"""How many units of work the usual pace counts for, beside what was done."""
MOST_NAMED = 3
"""Items under way that a line names."""


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
        self._joined = (
            self._param(COMBINATION_COUNT, shipped.combinations) if run.spec.config.task_mode != "single" else 0
        )

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
        """The time in words."""
        return time_left(self.seconds())

    def line(self) -> str:
        """What is under way and how long it will take; empty if nothing is."""
        notes = self.notes()
        names = [f"{name.replace('-', ' ', 1)} ({note.words})" for name, note in notes.items()][:MOST_NAMED]
        more = [f"{len(notes) - MOST_NAMED} more"] if len(notes) > MOST_NAMED else []
        return f"under way: {', '.join([*names, *more])}; {self.words()}" if notes else ""
