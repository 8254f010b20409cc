"""Plans: search the shortest sequences of lawful writes from a state to an end state, without the golden calls.

The search allows one more write in each round. Plans with the same calls in another order count as one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, NamedTuple

from evaluator.checks.state import check_state
from skillweave.schema.contract import CallResult, RowChange, Tool
from skillweave.schema.criteria import Criteria, FactToTell
from skillweave.schema.record import Json, Value
from skillweave.world.canonical import canonical, dump
from skillweave.world.session import ContractSession
from synth.contracts.writes import Column, ToolWrites, writes_of
from synth.planner.distance import Distance, RemainingWork, is_allowed
from synth.planner.problem import (
    BudgetExhausted,
    ExpansionBudget,
    Knowledge,
    PlannerBounds,
    PlanningProblem,
    ShownResult,
)
from synth.planner.reads import ReadExplorer, ResultsByCall
from synth.search.arguments import Arguments, ArgumentSearch, ParameterNames
from synth.search.slots import DesiredGuard, Slot, slots


@dataclass
class KnownValuesSearch(ArgumentSearch):
    """The search for arguments, only among given values."""

    given: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    budget: ExpansionBudget = field(default_factory=lambda: ExpansionBudget(0))

    def _values(
        self, slot: Slot, desired: list[DesiredGuard], bound: Mapping[str, Value], budget: list[int], broken: bool
    ) -> list[Value]:
        name = slot.parameter.name
        return self._meeting_values(name, list(self.given[name]), desired, bound, budget)

    def _joint_parameters(self) -> ParameterNames:
        return ()

    def _meeting(
        self,
        names: ParameterNames,
        values: list[tuple[Value, ...]],
        desired: list[DesiredGuard],
        bound: Mapping[str, Value],
    ) -> list[tuple[Value, ...]]:
        self.budget.spend()
        return super()._meeting(names, values, desired, bound)


class LawfulWrites:
    """The writes of one problem."""

    def __init__(self, problem: PlanningProblem, budget: ExpansionBudget) -> None:
        self._problem = problem
        self._budget = budget
        created = {change.table for end in problem.ends for change in end if change.op == "insert"}
        writes = writes_of(problem.world)
        self.tools = {tool.name: tool for tool in problem.tools if tool.kind == "write"}
        """The tools that can be called without creating a row that no end state has."""
        while True:
            self._removable = {table for name in self.tools for table in writes[name].deletes}
            useless = [name for name in self.tools if writes[name].makes - created - self._removable]
            if not useless:
                break
            self.tools = {name: tool for name, tool in self.tools.items() if name not in useless}
        self._updated = {column for name in self.tools for column in writes[name].updates}
        self.writes: dict[str, ToolWrites] = {name: writes[name] for name in self.tools}

    def calls(
        self, session: ContractSession, tool: Tool, known: Knowledge, *, last: bool = False
    ) -> Iterator[Arguments]:
        """Arguments of lawful calls of the tool.

        Args:
            last: Whether it is the last call of a plan, so that the rows that it creates have to be right at once.

        Raises:
            BudgetExhausted: The budget of expansions is spent.
        """
        fixed = self._fixed(tool, last)
        given = {
            name: self._useful(known.values(slot), fixed.get(name, ()), session) for name, slot in slots(tool).items()
        }
        if not all(given.values()):
            return
        search = KnownValuesSearch(
            session.world.blueprint,
            tool,
            session,
            session.account(tool.name),
            session.now,
            Random(0),
            nodes=1 << 60,
            person=session.caller,
            given=given,
            budget=self._budget,
        )
        yield from search.meeting()

    def _fixed(self, tool: Tool, last: bool) -> dict[str, list[Column]]:
        """Parameter -> columns of the created row that no later call changes."""
        writes = self.writes[tool.name]
        updated = writes.updates if last else self._updated
        removable = writes.deletes if last else self._removable
        return {
            name: [column for column in sorted(columns) if column not in updated and column[0] not in removable]
            for name, columns in writes.flows.items()
        }

    def _useful(self, values: Sequence[Value], columns: Sequence[Column], session: ContractSession) -> list[Value]:
        """The values with which the created row can be a row of an end state."""
        return [value for value in values if all(self._fits(column, value, session) for column in columns)]

    def _fits(self, column: Column, value: Value, session: ContractSession) -> bool:
        how = self._problem.world.comparison(*column)
        return how == "free" or any(
            is_allowed(cell, value, how == "normalised", session.minted) for cell in self._cells(column)
        )

    def _cells(self, column: Column) -> Iterator[Json]:
        for end in self._problem.ends:
            for change in end:
                if change.op == "insert" and change.table == column[0]:
                    yield (change.after or {}).get(column[1])


PlanStatus = Literal["proved", "undecided", "not_reached"]
MOST_PLANS = 120
"""Limit on the plans kept for one state."""


class MintedArgument(NamedTuple):
    """An argument that an earlier write of the plan has minted."""

    by: "PlannedWrite"
    number: int


class PlannedWrite(NamedTuple):
    """A write, independent of the ids that a session mints for its rows."""

    tool: str
    arguments: tuple[tuple[str, Json | MintedArgument], ...]


WritePlan = tuple[PlannedWrite, ...]


class PlanSearchResult(NamedTuple):
    """The result of a search."""

    status: PlanStatus
    """`proved`: these are all shortest plans. `undecided`: the search met the bound on expansions. `not_reached`: no
    plan leads to an end state within the bound on calls."""
    plans: list[WritePlan]
    """The plans, in every order in which they can be executed."""
    dead_ends: int
    """Lawful calls of the last round after which no end state was in reach."""
    expansions: int
    depth: int
    """Writes allowed in the last round."""

    @property
    def distinct(self) -> dict[tuple[PlannedWrite, ...], WritePlan]:
        """Each set of calls with one of its orders."""
        by_calls: dict[tuple[PlannedWrite, ...], WritePlan] = {}
        for plan in self.plans:
            by_calls.setdefault(tuple(sorted(plan, key=repr)), plan)
        return by_calls


@dataclass(frozen=True)
class _Node:
    """A state that the search visits."""

    path: WritePlan
    results: tuple[ShownResult, ...]
    shown: ResultsByCall
    """The results of reads in this state."""
    changes: list[RowChange]
    wants: list[RemainingWork]


class Planner:
    """One search from the present state of a session. It leaves the session unchanged."""

    def __init__(
        self,
        problem: PlanningProblem,
        session: ContractSession,
        bounds: PlannerBounds,
        *,
        given: Sequence[ShownResult] = (),
        memo: bool = True,
    ) -> None:
        """`given` holds the results of earlier calls."""
        self._problem = problem
        self._session = session
        self.bounds = bounds
        self._budget = ExpansionBudget(bounds.expansions)
        self._explorer = ReadExplorer(problem, self._budget)
        self._lawful_writes = LawfulWrites(problem, self._budget)
        self._criteria = Criteria(
            state=list(problem.ends[0]), any_of=[*map(list, problem.ends[1:])], reward_basis=["state"]
        )
        self._distance = Distance(problem.ends, self._lawful_writes.writes, problem.world.comparison)
        self._given = tuple(given)
        self._memo: dict[tuple[object, ...], frozenset[WritePlan]] | None = {} if memo else None
        self._minted: dict[str, MintedArgument] = {}
        self._dead_ends = 0
        self.first: ResultsByCall = {}
        """The results of reads in the first state."""
        self._shown: dict[WritePlan, ResultsByCall] = {}

    def search(self) -> PlanSearchResult:
        """Search all shortest plans within the bounds."""
        mark = self._session.mark()
        depth, plans = 0, frozenset[WritePlan]()
        status: PlanStatus = "not_reached"
        try:
            self.first = self._explorer.read_all(self._session, self._given, {}, None)
            node = self._node((), self._given, self.first)
            least = self._distance.least(node.wants)
            rounds = range(0) if least is None else range(least, self.bounds.calls + 1)
            for depth in rounds if any(self._problem.ends) else rounds[:1]:
                self._dead_ends = 0
                plans = self._plans_from(node, depth)
                if plans:
                    status = "proved"
                    break
        except BudgetExhausted:
            status, plans = "undecided", frozenset()
        self._session.forget(mark)
        return PlanSearchResult(status, sorted(plans, key=repr), self._dead_ends, self._budget.used, depth)

    def _plans_from(self, node: _Node, left: int) -> frozenset[WritePlan]:
        """The plans of `left` writes from this state."""
        if left == 0:
            return frozenset({()}) if self._is_end(node) else frozenset()
        key = self._key(node, left)
        if self._memo is not None and key in self._memo:
            return self._memo[key]
        known = Knowledge(self._problem, [*self.first.values(), *node.shown.values()], node.results)
        plans: set[WritePlan] = set()
        for name, tool in self._lawful_writes.tools.items():
            if self._distance.leads(name, node.wants, left):
                # List all arguments before the first call, because the search reads the present state.
                for arguments in list(self._lawful_writes.calls(self._session, tool, known, last=left == 1)):
                    plans |= self._plans_with(node, name, dict(arguments), left - 1)
        result = frozenset(sorted(plans, key=repr)[:MOST_PLANS])
        if self._memo is not None:
            self._memo[key] = result
        return result

    def _plans_with(self, node: _Node, tool: str, arguments: dict[str, Json], left: int) -> set[WritePlan]:
        """The plans that begin with this call and have `left` writes after it."""
        self._budget.spend()
        if not left and not self._problem.patch and not self._distance.may_end(tool, arguments, self._session):
            self._dead_ends += 1
            return set()
        mark = self._session.mark()
        try:
            result = self._session.call(tool, arguments)
            if not result.ok or result.violations:
                return set()
            write = PlannedWrite(
                tool, tuple((name, self._with_minted(value)) for name, value in sorted(arguments.items()))
            )
            for number, minted in enumerate(result.minted):
                self._minted[minted] = MintedArgument(write, number)
            after = self._after(node, write, result, left)
            plans = {(write, *plan) for plan in self._plans_from(after, left)} if after else set()
            self._dead_ends += not plans
            return plans
        finally:
            self._session.forget(mark)

    def _after(self, node: _Node, write: PlannedWrite, result: CallResult, left: int) -> _Node | None:
        """The state after a call; None if no end state is in reach from it."""
        after = self._node((*node.path, write), (*node.results, ShownResult(self._problem, result)), node.shown)
        least = self._distance.least(after.wants)
        if least is None or least > left:
            return None
        return replace(after, shown=self._read_after(after.path, after.results, node.shown)) if left else after

    def _node(self, path: WritePlan, results: tuple[ShownResult, ...], shown: ResultsByCall) -> _Node:
        changes = self._session.diff()
        return _Node(path, results, shown, changes, self._distance.wants(changes))

    def shown_after(self, path: WritePlan, results: Sequence[ShownResult], before: ResultsByCall) -> ResultsByCall:
        """The results of reads after these writes; where the search has made the same, they are known.

        Args:
            path: The writes since the first state; the session has made them, with these `results`.
            before: The results of reads before the last write.
        """
        unbounded = ReadExplorer(self._problem, ExpansionBudget())
        return self._shown.get(path) or self._read_after(path, results, before, unbounded)

    def _read_after(
        self, path: WritePlan, results: Sequence[ShownResult], before: ResultsByCall, by: ReadExplorer | None = None
    ) -> ResultsByCall:
        writes = writes_of(self._problem.world)[path[-1].tool]
        changed = {table for table, _ in writes.updates} | writes.inserts.keys() | writes.deletes
        self._shown[path] = (by or self._explorer).read_all(self._session, results, before, changed)
        return self._shown[path]

    def _is_end(self, node: _Node) -> bool:
        end = check_state(self._criteria, canonical(node.changes, self._session.minted), self._problem.world.comparison)
        if end.score != 1:
            return False
        untold = [fact for fact in self._problem.tell if not self._is_told([*self.first.values(), *node.results], fact)]
        if not untold or not node.path:
            return not untold
        shown = self._read_after(node.path, node.results, node.shown)
        return all(self._is_told([*shown.values()], fact) for fact in untold)

    def _is_told(self, readings: Sequence[ShownResult], fact: FactToTell) -> bool:
        return any(reading.shows(value) for reading in readings for value in fact.values)

    def _with_minted(self, value: Json) -> Json | MintedArgument:
        return self._minted.get(value, value) if isinstance(value, str) else value

    def _key(self, node: _Node, left: int) -> tuple[object, ...]:
        """All that the plans from this state depend on: its rows, the writes that led to it, and their results."""
        state = canonical(node.changes, self._session.minted)
        rows = dump([[change.table, change.op, change.key, change.before, change.after] for change in state])
        returned = sorted(repr((known.name, self._with_minted(known.value))) for r in node.results for known in r.cells)
        return rows, tuple(sorted(map(repr, node.path))), tuple(returned), left


def bind_minted(write: PlannedWrite, minted: Mapping[PlannedWrite, Sequence[str]]) -> dict[str, Json]:
    """A write's arguments, with the ids that this session has minted."""
    return {
        name: minted[value.by][value.number] if isinstance(value, MintedArgument) else value
        for name, value in write.arguments
    }
