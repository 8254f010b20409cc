"""Plans: the shortest ways from a state to an end, found without having seen one.

Iterative deepening over writes, with savepoints. What reads show is looked up in each state that is gone on from. Plans
are the shortest by writes; two of them are one where they make the same calls in another order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from evaluator.checks.state import check_state
from skillweave.schema.call import CallResult
from skillweave.schema.change import RowChange
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, FactToTell
from skillweave.world.canonical import canonical, dump
from skillweave.world.session import ContractSession
from synth.planner.distance import Distance, Want
from synth.planner.knowledge import Knowledge, Reading
from synth.planner.looking import Looking, Memory
from synth.planner.moves import Moves
from synth.planner.problem import Bounds, Budget, Exhausted, Problem
from synth.planner.writes import writes_of

Status = Literal["proved", "undecided", "not_reached"]
MOST = 120
"""Plans that are kept of one state."""


class Minted(NamedTuple):
    """An argument that a write on the way has minted."""

    by: "Move"
    number: int


class Move(NamedTuple):
    """A write, whatever its session calls the rows that it makes."""

    tool: str
    arguments: tuple[tuple[str, Json | Minted], ...]


Plan = tuple[Move, ...]


class Plans(NamedTuple):
    """What a search came to."""

    status: Status
    """`proved`: these are all of the shortest plans. `undecided`: the bound on expansions was met. `not_reached`: no
    plan leads to an end within the bound on calls."""
    plans: list[Plan]
    """In every order in which they can be carried out."""
    dead_ends: int
    """Lawful calls of the last round from which no end was in reach."""
    expansions: int
    depth: int
    """Writes of a plan in the last round."""

    @property
    def distinct(self) -> dict[tuple[Move, ...], Plan]:
        """One order of each set of calls."""
        found: dict[tuple[Move, ...], Plan] = {}
        for plan in self.plans:
            found.setdefault(tuple(sorted(plan, key=repr)), plan)
        return found


@dataclass(frozen=True)
class _Node:
    """A state on the way."""

    path: Plan
    results: tuple[Reading, ...]
    shown: Memory
    """What reads show here."""
    changes: list[RowChange]
    wants: list[Want]


class Planner:
    """One search from the present state of a session; the session is left as it was."""

    def __init__(
        self,
        problem: Problem,
        session: ContractSession,
        bounds: Bounds,
        *,
        given: Sequence[Reading] = (),
        memo: bool = True,
    ) -> None:
        """`given`: what calls before have returned."""
        self._problem = problem
        self._session = session
        self.bounds = bounds
        self._budget = Budget(bounds.expansions)
        self._looking = Looking(problem, self._budget)
        self._moves = Moves(problem, self._budget)
        self._criteria = Criteria(
            state=list(problem.ends[0]), any_of=[*map(list, problem.ends[1:])], reward_basis=["state"]
        )
        self._distance = Distance(problem.ends, self._moves.writes, problem.world.comparison)
        self._given = tuple(given)
        self._memo: dict[tuple[object, ...], frozenset[Plan]] | None = {} if memo else None
        self._minted: dict[str, Minted] = {}
        self._dead_ends = 0
        self.first: Memory = {}
        """What reads show at the start."""

    def search(self) -> Plans:
        """All shortest plans, as far as the bounds go."""
        mark = self._session.mark()
        depth, found = 0, frozenset[Plan]()
        status: Status = "not_reached"
        try:
            self.first = self._looking.look(self._session, self._given, {}, None)
            node = self._node((), self._given, self.first)
            least = self._distance.least(node.wants)
            rounds = range(0) if least is None else range(least, self.bounds.calls + 1)
            for depth in rounds if any(self._problem.ends) else rounds[:1]:
                self._dead_ends = 0
                found = self._below(node, depth)
                if found:
                    status = "proved"
                    break
        except Exhausted:
            status, found = "undecided", frozenset()
        self._session.forget(mark)
        return Plans(status, sorted(found, key=repr), self._dead_ends, self._budget.used, depth)

    def _below(self, node: _Node, left: int) -> frozenset[Plan]:
        """The plans of `left` writes from here."""
        if left == 0:
            return frozenset({()}) if self._is_end(node) else frozenset()
        key = self._key(node, left)
        if self._memo is not None and key in self._memo:
            return self._memo[key]
        known = Knowledge(self._problem, [*self.first.values(), *node.shown.values()], node.results)
        found: set[Plan] = set()
        for name, tool in self._moves.tools.items():
            if self._distance.leads(name, node.wants, left):
                # All of them before any is made: they are sought in the state as it is here.
                for arguments in list(self._moves.calls(self._session, tool, known, last=left == 1)):
                    found |= self._through(node, name, dict(arguments), left - 1)
        kept = frozenset(sorted(found, key=repr)[:MOST])
        if self._memo is not None:
            self._memo[key] = kept
        return kept

    def _through(self, node: _Node, tool: str, arguments: dict[str, Json], left: int) -> set[Plan]:
        """The plans that begin with this call and have `left` writes behind it."""
        self._budget.spend()
        mark = self._session.mark()
        try:
            result = self._session.call(tool, arguments)
            if not result.ok or result.violations:
                return set()
            move = Move(tool, tuple((name, self._named(value)) for name, value in sorted(arguments.items())))
            for number, minted in enumerate(result.minted):
                self._minted[minted] = Minted(move, number)
            after = self._after(node, move, result, left)
            found = {(move, *plan) for plan in self._below(after, left)} if after else set()
            self._dead_ends += not found
            return found
        finally:
            self._session.forget(mark)

    def _after(self, node: _Node, move: Move, result: CallResult, left: int) -> _Node | None:
        """The state behind a call; None where no end is in reach from it."""
        after = self._node((*node.path, move), (*node.results, Reading(self._problem, result)), node.shown)
        least = self._distance.least(after.wants)
        if least is None or least > left:
            return None
        return replace(after, shown=self._look(node, move.tool, after.results)) if left else after

    def _node(self, path: Plan, results: tuple[Reading, ...], shown: Memory) -> _Node:
        changes = self._session.diff()
        return _Node(path, results, shown, changes, self._distance.wants(changes))

    def look_after(self, looking: Looking, tool: str, results: Sequence[Reading], shown: Memory) -> Memory:
        """What reads show once a tool was called, where `shown` is what they showed before."""
        writes = writes_of(self._problem.world)[tool]
        changed = {table for table, _ in writes.updates} | writes.inserts.keys() | writes.deletes
        return looking.look(self._session, results, shown, changed)

    def _look(self, node: _Node, tool: str, results: Sequence[Reading]) -> Memory:
        return self.look_after(self._looking, tool, results, node.shown)

    def _is_end(self, node: _Node) -> bool:
        end = check_state(self._criteria, canonical(node.changes, self._session.minted), self._problem.world.comparison)
        if end.score != 1:
            return False
        untold = [fact for fact in self._problem.tell if not self._tells([*self.first.values(), *node.results], fact)]
        if not untold or not node.path:
            return not untold
        shown = self._look(node, node.path[-1].tool, node.results)
        return all(self._tells([*shown.values()], fact) for fact in untold)

    def _tells(self, readings: Sequence[Reading], fact: FactToTell) -> bool:
        return any(reading.shows(value) for reading in readings for value in fact.values)

    def _named(self, value: Json) -> Json | Minted:
        return self._minted.get(value, value) if isinstance(value, str) else value

    def _key(self, node: _Node, left: int) -> tuple[object, ...]:
        """What the plans from here follow from: the rows, the writes that made them, and what those returned."""
        state = canonical(node.changes, self._session.minted)
        rows = dump([[one.table, one.op, one.key, one.before, one.after] for one in state])
        returned = sorted(repr((known.name, self._named(known.value))) for r in node.results for known in r.cells)
        return rows, tuple(sorted(map(repr, node.path))), tuple(returned), left


def bound(move: Move, minted: Mapping[Move, Sequence[str]]) -> dict[str, Json]:
    """A move's arguments, with ids as this session has minted them."""
    return {
        name: minted[value.by][value.number] if isinstance(value, Minted) else value for name, value in move.arguments
    }
