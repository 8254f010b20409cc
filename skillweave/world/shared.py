"""Sessions that share their work: what one of them has executed, the others do not execute again.

What a call gives follows from the rows, its arguments, the caller, the clock and the id counter, and from nothing else.
The rows follow from the start and the changes made since. So the sessions of one start share a tree of changes; each
session stands at a point of it, and each point keeps the calls that were executed there. One copy of the database moves
between the points by undoing and repeating changes.
"""

import sqlite3
from collections.abc import Hashable, Mapping

from skillweave.schema.contract import Call, RowChange
from skillweave.schema.record import Row
from skillweave.world.arguments import BoundValue
from skillweave.world.canonical import IdCounter
from skillweave.world.execution import CallContext, CallExecution, execute_call
from skillweave.world.interpreter import CompiledTool
from skillweave.world.prepared import PreparedWorld
from skillweave.world.session import ContractSession
from skillweave.world.state import Change, State, check_mark


class RowsPoint:
    """The rows after some changes, and what was executed on them."""

    def __init__(self, before: "RowsPoint | None" = None, change: Change = Change()) -> None:
        """The rows after one more change; without arguments those of the start."""
        self.before = before
        self.change = change
        self.depth: int = 0 if before is None else before.depth + 1
        """How many changes led here."""
        self.calls: dict[Hashable, tuple[CallExecution, RowsPoint]] = {}
        """Each call executed here, with its outcome and the point that it led to."""
        self.changes: list[RowChange] | None = None
        """The difference from the start, once somebody has asked for it."""
        self.canonical: list[RowChange] | None = None
        """The same in canonical form."""


class SharedRows:
    """The rows of all sessions with one start."""

    def __init__(self, world: PreparedWorld, state: State) -> None:
        """Take over the rows at their start."""
        self.world = world
        self.start = RowsPoint()
        self.counter: IdCounter = state.counter()
        self._state = state
        self._path = [self.start]
        """The points from the start to where the copy of the database is now."""
        self._marks = 0
        """Mark number n lies before the change that leads to point n + 1 of the path."""

    def at(self, point: RowsPoint) -> State:
        """The state, moved to a point."""
        wanted, shared = point, list[RowsPoint]()
        while wanted.depth >= len(self._path) or self._path[wanted.depth] is not wanted:
            assert wanted.before is not None
            shared.append(wanted)
            wanted = wanted.before
        if wanted is not self._path[-1]:
            self._state.undo(wanted.depth)
            self._marks = wanted.depth + 1
            del self._path[wanted.depth + 1 :]
        for following in reversed(shared):
            self._mark()
            self._state.repeat(following.change)
            self._path.append(following)
        return self._state

    def executed(
        self, point: RowsPoint, compiled: CompiledTool, call: Call, context: CallContext
    ) -> tuple[CallExecution, RowsPoint]:
        """The outcome of a call at a point, and the point that it leads to. Raises ArgumentError."""
        key = call.tool, repr(call.arguments), context
        if key not in point.calls:
            state = self.at(point)
            if compiled.effects:
                self._mark()
            done = execute_call(state, compiled, call, context)
            point.calls[key] = done, self._moved() if compiled.effects and done.result.ok else point
        return point.calls[key]

    def changed(self, point: RowsPoint, sql: str, bindings: Mapping[str, BoundValue]) -> tuple[int, RowsPoint]:
        """How many rows a statement changes at a point, and the point that it leads to."""
        state = self.at(point)
        self._mark()
        return state.execute(sql, bindings), self._moved()

    def changes(self, point: RowsPoint) -> list[RowChange]:
        """The difference between the start and a point."""
        if point.changes is None:
            point.changes = self.at(point).diff()
        return point.changes

    def close(self) -> None:
        """Give the copy back."""
        self._state.close()

    def _mark(self) -> None:
        if self._marks < len(self._path):
            self._state.mark()
            self._marks += 1

    def _moved(self) -> RowsPoint:
        """The point after the change that the state has just kept."""
        self._path.append(RowsPoint(self._path[-1], self._state.last_change))
        return self._path[-1]


class SharedState(State):
    """The state of one session: a point in shared rows."""

    def __init__(self, shared: SharedRows) -> None:
        """Stand at the start. The rows belong to all their sessions, so closing one gives nothing back."""
        self.world = shared.world
        self.shared = shared
        self.point = shared.start
        self._points: list[RowsPoint] = []
        """The point at each mark."""

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, with the rows of this point."""
        return self.shared.at(self.point).connection

    def close(self) -> None:
        """Leave the copy to the other sessions."""

    def counter(self) -> IdCounter:
        """The id counter past every key in the rows of the start."""
        return self.shared.counter

    def query(self, sql: str, bindings: Mapping[str, BoundValue]) -> list[Row]:
        """The rows of a SELECT. Raises WorldError for another statement, sqlite3.Error if it fails."""
        return self.shared.at(self.point).query(sql, bindings)

    def execute(self, sql: str, bindings: Mapping[str, BoundValue]) -> int:
        """Run a statement that writes, and count the changed rows. An sqlite3.Error leaves the rows unchanged."""
        count, self.point = self.shared.changed(self.point, sql, bindings)
        return count

    def mark(self) -> int:
        """Set a mark, and return its number, counted from 0."""
        self._points.append(self.point)
        return len(self._points) - 1

    def undo(self, mark: int) -> None:
        """Return to a mark. The mark stays; marks set after it are gone. Raises WorldError if there is no such mark."""
        check_mark(mark, len(self._points))
        self.point = self._points[mark]
        del self._points[mark + 1 :]

    def forget(self, mark: int) -> None:
        """Remove a mark and those set after it; the rows stay. Raises WorldError if there is no such mark."""
        check_mark(mark, len(self._points))
        del self._points[mark:]

    def diff(self) -> list[RowChange]:
        """Row changes since the start, without the patch, sorted by table and key."""
        return [*self.shared.changes(self.point)]


class SharedSession(ContractSession):
    """A session on shared rows."""

    _state: SharedState

    def _carry_out(self, compiled: CompiledTool, call: Call, context: CallContext) -> CallExecution:
        state = self._state
        done, state.point = state.shared.executed(state.point, compiled, call, context)
        return done

    def canonical(self) -> list[RowChange]:
        """Row changes since the start in canonical form. The ids that were minted follow from the calls that led here."""
        point = self._state.point
        if point.canonical is None:
            point.canonical = super().canonical()
        return point.canonical
