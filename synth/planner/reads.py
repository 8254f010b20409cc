"""Reads of a plan: all that the offered reads show in a state, and the smallest sets of reads that a plan needs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.contract import Tool
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell
from skillweave.world.canonical import dump
from skillweave.world.session import ContractSession
from synth.contracts.writes import tables_read
from synth.planner.problem import ExpansionBudget, Knowledge, PlanningProblem, ShownResult
from synth.search.slots import Slot, slots

ROUNDS = 3
"""How often reads are asked again about what they have shown."""
KEYS = 10
"""Rows of one kind that a read is asked about."""
DAYS = 6
"""Days, or other values, for one argument of a read."""
WAYS = 40
"""Ways in which one read is called in one round."""

ResultsByCall = dict[tuple[str, str], ShownResult]
"""Tool and arguments -> what the read shows."""


class ReadExplorer:
    """The reads of one problem."""

    def __init__(self, problem: PlanningProblem, budget: ExpansionBudget) -> None:
        self._problem = problem
        self._budget = budget
        self._reads = [tool for tool in problem.tools if tool.kind == "read"]

    def read_all(
        self,
        session: ContractSession,
        results: Sequence[ShownResult],
        before: ResultsByCall,
        changed: Collection[str] | None,
    ) -> ResultsByCall:
        """What reads show now; of `before` what reads no `changed` table still holds (None: nothing does)."""
        tables = tables_read(self._problem.world)
        kept = (
            {}
            if changed is None
            else {key: reading for key, reading in before.items() if tables[key[0]].isdisjoint(changed)}
        )
        shown: ResultsByCall = dict(kept)
        failed: set[tuple[str, str]] = set()
        for _ in range(ROUNDS):
            known = Knowledge(self._problem, [*before.values(), *shown.values()], results)
            new = [self._made(session, tool, arguments, shown, failed) for tool, arguments in self._calls(known)]
            if not any(new):
                break
        return shown

    def _made(
        self,
        session: ContractSession,
        tool: Tool,
        arguments: dict[str, Json],
        shown: ResultsByCall,
        failed: set[tuple[str, str]],
    ) -> bool:
        """Whether the call has shown something new."""
        key = tool.name, dump(arguments)
        if key in shown or key in failed:
            return False
        self._budget.spend()
        result = session.call(tool.name, arguments)
        if not result.ok or result.violations:
            failed.add(key)
            return False
        shown[key] = ShownResult(self._problem, result)
        return bool(shown[key].rows)

    def _calls(self, known: Knowledge) -> Iterator[tuple[Tool, dict[str, Json]]]:
        for tool in self._reads:
            compared = slots(tool)
            is_open = not any(parameter.required for parameter in tool.parameters)
            choices = [_choices(compared[parameter.name], known, is_open) for parameter in tool.parameters]
            names = [parameter.name for parameter in tool.parameters]
            for values in islice(product(*choices), WAYS):
                yield tool, {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _choices(slot: Slot, known: Knowledge, searches_all: bool) -> list[Json]:
    """Values for one argument of a read; what only narrows the result is left out, unless nothing else does."""
    parameter = slot.parameter
    if parameter.refers_to:
        entity = parameter.refers_to.partition(".")[0]
        keys = known.meant.get(entity) or known.keys.get(entity, {})
        return [*(() if parameter.required else (None,)), *islice(keys, KEYS)]
    if not parameter.required and not (parameter.type in ("date", "datetime") and searches_all):
        return [None]
    if parameter.enum:
        given = [one for one in known.problem.said if one.value in parameter.enum]
        named = [one for one in given if one.name == parameter.name]
        return [*dict.fromkeys(one.value for one in named or given)] or [*parameter.enum]
    return [*known.values(slot)[: DAYS + (not parameter.required)]]


MOST_NODES = 3000
"""Partial sets of reads that are looked at, at most."""
MOST_SETS = 40
"""Smallest sets that are kept."""


class ReadCall(NamedTuple):
    """A read at a moment of a plan."""

    stage: int
    """Writes of the plan that are made before it."""
    tool: str
    arguments: str
    """JSON."""


class NeededValue(NamedTuple):
    """A value that has to be shown."""

    stage: int
    """Before the write of that number."""
    value: str | int | float
    of: ReadCall | None = None
    """The read that needs it; None: a write, or the user, who is to be told."""


class PlanStage(NamedTuple):
    """A moment of a plan."""

    shown: ResultsByCall
    """What reads show then."""
    write: CallResult | None
    """The write that is made next; None at the end."""


@dataclass
class SmallestReads:
    """The smallest sets of reads for one plan."""

    problem: PlanningProblem
    stages: Sequence[PlanStage]
    given: Sequence[ShownResult] = ()
    """What calls before the plan have returned."""
    sets: list[frozenset[ReadCall]] = field(default_factory=list)
    is_exact: bool = True
    """False where the bound on nodes was met: a smaller set may have been missed."""
    _nodes: int = 0
    _best: int | None = None
    _sources: dict[NeededValue, list[ReadCall]] = field(default_factory=dict)

    def find(self) -> "SmallestReads":
        """Find them; no set where something is shown by no read."""
        needs = [need for stage, one in enumerate(self.stages) if one.write for need in self._of_call(stage, one.write)]
        needs += [need for fact in self.problem.tell for need in self._of_fact(fact)]
        self._add(frozenset(), tuple(dict.fromkeys(needs)))
        return self

    def needs_of(self, read: ReadCall) -> list[NeededValue]:
        """What a read's own arguments need."""
        reading = self.stages[read.stage].shown[read.tool, read.arguments]
        return [need._replace(of=read) for need in self._of_arguments(read.stage, reading.tool, reading.arguments)]

    def needs_of_first(self) -> list[NeededValue]:
        """What the first write needs."""
        first = self.stages[0].write
        return [*self._of_call(0, first)] if first else []

    def _add(self, chosen: frozenset[ReadCall], needs: tuple[NeededValue, ...]) -> None:
        self._nodes += 1
        if self._nodes > MOST_NODES:
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
        for read in self._shown_by(hardest):
            if read == hardest.of:
                continue
            self._add(chosen | {read}, tuple(dict.fromkeys((*left, *self.needs_of(read)))))

    def in_order(self, chosen: Collection[ReadCall]) -> list[ReadCall]:
        """The reads in an order in which each is possible; empty where there is none."""
        order: list[ReadCall] = []
        while len(order) < len(chosen):
            ready = [one for one in sorted(chosen) if one not in order and self._is_ready(one, order)]
            if not ready:
                return []
            order += ready
        return order

    def _is_ready(self, read: ReadCall, before: Sequence[ReadCall]) -> bool:
        return all(not set(before).isdisjoint(self._shown_by(need)) for need in self.needs_of(read))

    def _keep(self, chosen: frozenset[ReadCall]) -> None:
        if self._best is None or len(chosen) < self._best:
            self._best = len(chosen)
            self.sets = []
        if len(chosen) == self._best and chosen not in self.sets and len(self.sets) < MOST_SETS:
            self.sets.append(chosen)

    def _shown_by(self, need: NeededValue) -> list[ReadCall]:
        """The reads that show a value, of those that show it in a row that is meant if there are any."""
        need = need._replace(of=None)
        if need not in self._sources:
            shown = [(ReadCall(stage, *key), reading) for stage, key, reading in self._until(need.stage)]
            meant = [read for read, reading in shown if reading.shows(need.value, meant=True)]
            self._sources[need] = meant or [read for read, reading in shown if reading.shows(need.value)]
        return self._sources[need]

    def _until(self, last: int) -> Iterator[tuple[int, tuple[str, str], ShownResult]]:
        """Reads that show something new, by the moment from which on they do."""
        seen: set[int] = set()
        for stage, one in enumerate(self.stages[: last + 1]):
            for key, reading in one.shown.items():
                if id(reading) not in seen:
                    seen.add(id(reading))
                    yield stage, key, reading

    def _of_call(self, stage: int, result: CallResult) -> Iterator[NeededValue]:
        yield from self._of_arguments(stage, result.call.tool, result.call.arguments)

    def _of_arguments(self, stage: int, name: str, arguments: Mapping[str, Json]) -> Iterator[NeededValue]:
        tool = self.problem.world.blueprint.tool(name)
        for parameter, value in arguments.items():
            wanted = self._wanted(tool, parameter, value)
            if wanted is not None and not self._is_returned(wanted, stage):
                yield NeededValue(stage, wanted)

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

    def _of_fact(self, fact: FactToTell) -> Iterator[NeededValue]:
        last = len(self.stages) - 1
        values = [value for value in fact.values if isinstance(value, (str, int, float))]
        if values and not any(self._is_returned(value, last) for value in values):
            yield NeededValue(last, values[0])

    def _is_returned(self, value: str | int | float, stage: int) -> bool:
        """Whether a call before, or a write of the plan, has returned it."""
        writes = [ShownResult(self.problem, one.write) for one in self.stages[:stage] if one.write]
        return any(reading.shows(value) for reading in [*self.given, *writes])
