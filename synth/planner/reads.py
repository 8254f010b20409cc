"""Reads of a plan: the results of the offered reads in a state, and the smallest sets of reads that a plan needs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import NamedTuple

from skillweave.schema.contract import CallResult, Tool
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.session import ContractSession
from synth.contracts.writes import tables_read
from synth.planner.problem import ExpansionBudget, Knowledge, PlanningProblem, ShownResult
from synth.search.slots import Slot, slots

ROUNDS = 3
"""Rounds of reads: each round calls the reads with values from earlier results."""
KEYS = 10
"""Most keys of one entity to pass to a read."""
DAYS = 6
"""Most other values, such as days, for one argument of a read."""
WAYS = 40
"""Most calls of one read in one round."""

ResultsByCall = dict[tuple[str, str], ShownResult]
"""Tool and arguments -> result of the read."""


class ReadExplorer:
    """Calls the reads of one problem."""

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
        """The results of all reads now.

        Results in `before` still hold if their reads use no `changed` table; if `changed` is None, none of them hold.
        """
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
        """Make a call, and return whether it showed something new."""
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
    """Values for one argument of a read. Optional filters stay out, except dates if no argument is required."""
    parameter = slot.parameter
    if parameter.refers_to:
        entity = parameter.refers_to.partition(".")[0]
        keys = known.meant.get(entity) or known.keys.get(entity, {})
        return [*(() if parameter.required else (None,)), *islice(keys, KEYS)]
    if not parameter.required and not (parameter.type in ("date", "datetime") and searches_all):
        return [None]
    if parameter.enum:
        known_values = [value for value in known.problem.said if value.value in parameter.enum]
        named = [value for value in known_values if value.name == parameter.name]
        return [*dict.fromkeys(value.value for value in named or known_values)] or [*parameter.enum]
    return [*known.values(slot)[: DAYS + (not parameter.required)]]


MOST_NODES = 3000
"""Most partial sets of reads to visit."""
MOST_SETS = 40
"""Most smallest sets to keep."""


class ReadCall(NamedTuple):
    """A read at one stage of a plan."""

    stage: int
    """Number of the plan's writes before it."""
    tool: str
    arguments: str
    """The arguments as JSON."""


class NeededValue(NamedTuple):
    """A value that some result has to show."""

    stage: int
    """Stage by which it has to be shown: the number of writes before."""
    value: str | int | float
    of: ReadCall | None = None
    """The read that needs it; None if a write or the user needs it."""


class PlanStage(NamedTuple):
    """The state before a write of a plan, or at its end."""

    shown: ResultsByCall
    """The results of reads at this stage."""
    write: CallResult | None
    """The next write; None at the end."""


@dataclass
class SmallestReads:
    """Searches the smallest sets of reads for one plan."""

    problem: PlanningProblem
    stages: Sequence[PlanStage]
    given: Sequence[ShownResult] = ()
    """The results of calls before the plan."""
    sets: list[frozenset[ReadCall]] = field(default_factory=list)
    is_exact: bool = True
    """False if the search met its bound on nodes, so that it may have missed a smaller set."""
    _nodes: int = 0
    _best: int | None = None
    _sources: dict[NeededValue, list[ReadCall]] = field(default_factory=dict)

    def find(self) -> "SmallestReads":
        """Find the sets; there is none if no read shows a needed value."""
        needs = [
            need
            for stage, moment in enumerate(self.stages)
            if moment.write
            for need in self._of_call(stage, moment.write)
        ]
        needs += [need for fact in self.problem.tell for need in self._of_fact(fact)]
        self._add(frozenset(), tuple(dict.fromkeys(needs)))
        return self

    def needs_of(self, read: ReadCall) -> list[NeededValue]:
        """The values that a read needs for its own arguments."""
        reading = self.stages[read.stage].shown[read.tool, read.arguments]
        return [need._replace(of=read) for need in self._of_arguments(read.stage, reading.tool, reading.arguments)]

    def needs_of_first(self) -> list[NeededValue]:
        """The values that the first write needs."""
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
        """The reads in an order in which each has the values it needs; empty if there is no such order."""
        order: list[ReadCall] = []
        while len(order) < len(chosen):
            ready = [read for read in sorted(chosen) if read not in order and self._is_ready(read, order)]
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
        """The reads that show a value, preferably in a row that the user may mean."""
        need = need._replace(of=None)
        if need not in self._sources:
            shown = [(ReadCall(stage, *key), reading) for stage, key, reading in self._until(need.stage)]
            meant = [read for read, reading in shown if reading.shows(need.value, meant=True)]
            self._sources[need] = meant or [read for read, reading in shown if reading.shows(need.value)]
        return self._sources[need]

    def _until(self, last: int) -> Iterator[tuple[int, tuple[str, str], ShownResult]]:
        """Reads that show something new, each with the first stage at which they do."""
        seen: set[int] = set()
        for stage, plan_stage in enumerate(self.stages[: last + 1]):
            for key, reading in plan_stage.shown.items():
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
        """The value if a result has to show it, else None."""
        parameter = tool.parameter(name)
        if isinstance(value, (bool, list, dict)) or value is None or parameter.enum:
            return None
        known_texts = self._said_days if parameter.type == "date" else self._said_texts
        if not parameter.refers_to and (str(value) in known_texts or value in slots(tool)[name].literals):
            return None
        return value

    def _of_fact(self, fact: FactToTell) -> Iterator[NeededValue]:
        last = len(self.stages) - 1
        values = [value for value in fact.values if isinstance(value, (str, int, float))]
        if values and not any(self._is_returned(value, last) for value in values):
            yield NeededValue(last, values[0])

    def _is_returned(self, value: str | int | float, stage: int) -> bool:
        """Whether an earlier call or a write of the plan has returned the value."""
        writes = [reading for reading in self._returned[:stage] if reading]
        return any(reading.shows(value) for reading in [*self.given, *writes])

    @cached_property
    def _returned(self) -> list[ShownResult | None]:
        """What the write of each stage returned."""
        return [ShownResult(self.problem, stage.write) if stage.write else None for stage in self.stages]

    @cached_property
    def _said_texts(self) -> frozenset[str]:
        return frozenset(str(known.value) for known in self.problem.said)

    @cached_property
    def _said_days(self) -> frozenset[str]:
        """What the user says, and the days of the times in it."""
        return self._said_texts | {text[:10] for text in self._said_texts}
