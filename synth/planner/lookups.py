"""Look-ups: the fewest reads that show all that the calls of a plan need and the user cannot say.

A key, and every other value that is neither said, nor a constant, nor a result of a write before, has to be shown by a
read; one that needs such values itself needs more reads. The search is exact up to a bound on its nodes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell
from synth.planner.knowledge import Reading
from synth.planner.looking import Memory
from synth.planner.problem import Problem
from synth.planner.slots import slots

NODES = 3000
"""Partial sets of reads that are looked at, at most."""
MOST = 40
"""Smallest sets that are kept."""


class Look(NamedTuple):
    """A read at a moment of a plan."""

    stage: int
    """Writes of the plan that are made before it."""
    tool: str
    arguments: str
    """JSON."""


class Need(NamedTuple):
    """A value that has to be shown."""

    stage: int
    """Before the write of that number."""
    value: str | int | float
    of: Look | None = None
    """The read that needs it; None: a write, or the user, who is to be told."""


class Stage(NamedTuple):
    """A moment of a plan."""

    shown: Memory
    """What reads show then."""
    write: CallResult | None
    """The write that is made next; None at the end."""


@dataclass
class Lookups:
    """The smallest sets of reads for one plan."""

    problem: Problem
    stages: Sequence[Stage]
    given: Sequence[Reading] = ()
    """What calls before the plan have returned."""
    sets: list[frozenset[Look]] = field(default_factory=list)
    is_exact: bool = True
    """False where the bound on nodes was met: a smaller set may have been missed."""
    _nodes: int = 0
    _best: int | None = None
    _sources: dict[Need, list[Look]] = field(default_factory=dict)

    def find(self) -> "Lookups":
        """Find them; no set where something is shown by no read."""
        needs = [need for stage, one in enumerate(self.stages) if one.write for need in self._of_call(stage, one.write)]
        needs += [need for fact in self.problem.tell for need in self._of_fact(fact)]
        self._add(frozenset(), tuple(dict.fromkeys(needs)))
        return self

    def needs_of(self, look: Look) -> list[Need]:
        """What a read's own arguments need."""
        reading = self.stages[look.stage].shown[look.tool, look.arguments]
        return [need._replace(of=look) for need in self._of_arguments(look.stage, reading.tool, reading.arguments)]

    def needs_of_first(self) -> list[Need]:
        """What the first write needs."""
        first = self.stages[0].write
        return [*self._of_call(0, first)] if first else []

    def _add(self, chosen: frozenset[Look], needs: tuple[Need, ...]) -> None:
        self._nodes += 1
        if self._nodes > NODES:
            self.is_exact = False
            return
        left = [need for need in needs if (chosen - {need.of}).isdisjoint(self._shown_by(need))]
        if not left:
            if len(self.in_order(chosen)) == len(chosen):
                self._keep(chosen)
            return
        if self._best is not None and len(chosen) >= self._best:
            return
        hardest = min(left, key=lambda need: (len(self._shown_by(need)), repr(need)))
        for look in self._shown_by(hardest):
            if look == hardest.of:
                continue
            self._add(chosen | {look}, tuple(dict.fromkeys((*left, *self.needs_of(look)))))

    def in_order(self, chosen: Collection[Look]) -> list[Look]:
        """The reads in an order in which each is possible; empty where there is none."""
        order: list[Look] = []
        while len(order) < len(chosen):
            ready = [one for one in sorted(chosen) if one not in order and self._is_ready(one, order)]
            if not ready:
                return []
            order += ready
        return order

    def _is_ready(self, look: Look, before: Sequence[Look]) -> bool:
        return all(not set(before).isdisjoint(self._shown_by(need)) for need in self.needs_of(look))

    def _keep(self, chosen: frozenset[Look]) -> None:
        if self._best is None or len(chosen) < self._best:
            self._best = len(chosen)
            self.sets = []
        if len(chosen) == self._best and chosen not in self.sets and len(self.sets) < MOST:
            self.sets.append(chosen)

    def _shown_by(self, need: Need) -> list[Look]:
        """The reads that show a value, of those that show it in a row that is meant if there are any."""
        need = need._replace(of=None)
        if need not in self._sources:
            shown = [(Look(stage, *key), reading) for stage, key, reading in self._until(need.stage)]
            meant = [look for look, reading in shown if reading.shows(need.value, meant=True)]
            self._sources[need] = meant or [look for look, reading in shown if reading.shows(need.value)]
        return self._sources[need]

    def _until(self, last: int) -> Iterator[tuple[int, tuple[str, str], Reading]]:
        """Reads that show something new, by the moment from which on they do."""
        seen: set[int] = set()
        for stage, one in enumerate(self.stages[: last + 1]):
            for key, reading in one.shown.items():
                if id(reading) not in seen:
                    seen.add(id(reading))
                    yield stage, key, reading

    def _of_call(self, stage: int, result: CallResult) -> Iterator[Need]:
        yield from self._of_arguments(stage, result.call.tool, result.call.arguments)

    def _of_arguments(self, stage: int, name: str, arguments: Mapping[str, Json]) -> Iterator[Need]:
        tool = self.problem.world.blueprint.tool(name)
        for parameter, value in arguments.items():
            wanted = self._wanted(tool, parameter, value)
            if wanted is not None and not self._is_returned(wanted, stage):
                yield Need(stage, wanted)

    def _wanted(self, tool: Tool, name: str, value: Json) -> str | int | float | None:
        """The value, where it has to be shown."""
        parameter = tool.parameter(name)
        if isinstance(value, (bool, list, dict)) or value is None or parameter.enum:
            return None
        said = {str(known.value) for known in self.problem.said}
        if parameter.type == "date":
            said |= {text[:10] for text in said}
        if not parameter.refers_to and (str(value) in said or value in slots(tool)[name].literals):
            return None
        return value

    def _of_fact(self, fact: FactToTell) -> Iterator[Need]:
        last = len(self.stages) - 1
        values = [value for value in fact.values if isinstance(value, (str, int, float))]
        if values and not any(self._is_returned(value, last) for value in values):
            yield Need(last, values[0])

    def _is_returned(self, value: str | int | float, stage: int) -> bool:
        """Whether a call before, or a write of the plan, has returned it."""
        writes = [Reading(self.problem, one.write) for one in self.stages[:stage] if one.write]
        return any(reading.shows(value) for reading in [*self.given, *writes])
