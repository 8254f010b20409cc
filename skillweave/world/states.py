"""The states that sessions of a world have been in, as a tree of changes, with all that was found out in each.

Contract SQL is a function of the rows and of its bindings. So a question asked, or a call made, in the same state once
more has the same outcome, in any session of the world. Where sessions share what they find out (`World.sharing`), it is
looked up; a connection follows only to what is new.
"""

import sqlite3
from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import RowChange
from skillweave.schema.record import Row
from skillweave.world import diff
from skillweave.world.arguments import BoundValue
from skillweave.world.interpreter import changed_by

MOST_CELLS = 1_000_000
"""Values that a world remembers, about; beyond that it forgets all of them."""
MOST_SAVEPOINTS = 32
"""Savepoints that a connection keeps where no mark is."""
MOST_UNDONE = 64
"""Returns to savepoints in one transaction: SQLite's journal of savepoints only grows, and slows it down."""


_PLAIN = frozenset({str, int, type(None)})
"""Types no two of which have equal values, so that these can stand in a key as they are."""


class Change(NamedTuple):
    """What leads from one state to the next: statements with their bindings, or a patch."""

    statements: Sequence[str] = ()
    bindings: Mapping[str, BoundValue] = {}
    patch: Sequence[RowChange] = ()

    def make(self, connection: sqlite3.Connection, blueprint: Blueprint) -> None:
        """Make it. Raises WorldError or sqlite3.Error if that is impossible."""
        if self.patch:
            diff.apply(connection, blueprint, self.patch)
        for statement in self.statements:
            changed_by(connection, statement, self.bindings)


class StateNode:
    """One state: the rows after a sequence of changes. `parent` is None for the world's original rows."""

    __slots__ = ("change", "depth", "found", "next", "parent", "patched", "steps")

    def __init__(self, parent: "StateNode | None" = None, change: Change | None = None) -> None:
        self.parent = parent
        self.change = change
        self.depth: int = parent.depth + 1 if parent else 0
        """Changes since the original rows."""
        self.patched: dict[tuple[str, str], Row | None] = parent.patched if parent else {}
        """(table, key) -> a row as the patch left it. Differences count from there."""
        self.next: dict[Hashable, StateNode] = {}
        """The states after further changes."""
        self.found: dict[Hashable, Any] = {}
        """Question -> answer."""
        self.steps: dict[Hashable, tuple[Any, StateNode]] = {}
        """Unit of work -> its outcome, and the state after it."""

    @property
    def key(self) -> Hashable:
        """What tells it from other states with the same parent."""
        assert self.change is not None
        statements, bindings, patch = self.change
        return (*statements, *bindings, key_of(bindings), *(change.model_dump_json() for change in patch))


class StateTree:
    """All states of one world that are remembered. What it holds is handed out again, and nobody may change it.

    Threads may share it: at worst both find out the same.
    """

    def __init__(self) -> None:
        self.root = StateNode()
        self._nodes = [self.root]
        self._cells = 0

    def add(self, node: StateNode) -> StateNode:
        """Keep a state, unless it is kept already. Returns the state that is kept."""
        assert node.parent is not None
        kept = node.parent.next.setdefault(node.key, node)
        if kept is node:
            self._nodes.append(node)
        return kept

    def remember(self, cells: int) -> None:
        """Count values that are to be remembered. If there are too many, forget everything first."""
        self._cells += cells
        if self._cells > MOST_CELLS:
            self.forget()
            self._cells = cells

    def forget(self) -> None:
        """Forget everything. States hold each other, so without this they would stay until the collector comes."""
        for node in self._nodes:
            for known in (node.next, node.found, node.steps):
                known.clear()
        self._nodes, self._cells = [self.root], 0


class StateFollower:
    """Brings a connection to states of its world's tree."""

    def __init__(self, connection: sqlite3.Connection, blueprint: Blueprint) -> None:
        """`connection` holds the world's original rows, and nothing else uses its transactions."""
        self.connection = connection
        self._blueprint = blueprint
        self._log = diff.log_touched(connection, blueprint)
        self._path: list[StateNode] = []
        """The states after the original rows, up to the present one."""
        self._saved: list[int] = []
        """How long the path was when the transaction began, and at each savepoint since."""
        self._logged: list[int] = []
        """How long the log was then."""
        self._undone = 0
        """How often a savepoint of this transaction was returned to."""
        self.steps = 0
        """Steps of SQLite in the present unit of work."""

    def go_to(self, node: StateNode) -> None:
        """Bring the rows to a state. An error leaves them in the original one."""
        if not self.connection.in_transaction:
            self._restart()
        path, ahead = self._path, []
        if node.depth == len(path) and (not path or path[-1] is node):
            return
        while node.depth > len(path) or (node.depth and path[node.depth - 1] is not node):
            ahead.append(node)
            node = node.parent  # type: ignore[assignment]  # only the root has none, and its depth is 0
        if node.depth < len(path):
            while self._saved[-1] > node.depth:
                self._pop()
            before = path[: node.depth]
            self.undo()
            ahead += reversed(before[len(self._path) :])
        for following in reversed(ahead):
            self._make(following)

    def save(self, marked: Sequence[StateNode] = ()) -> None:
        """Make it cheap to come back to the present state.

        Args:
            marked: States to which somebody will come back.
        """
        if self._saved[-1] == len(self._path):
            return
        while len(self._saved) > MOST_SAVEPOINTS and not any(one.depth == self._saved[-1] for one in marked):
            self._pop()
            self.connection.execute(f"RELEASE s{len(self._saved)}")
        self.connection.execute(f"SAVEPOINT s{len(self._saved)}")
        self._saved.append(len(self._path))
        self._logged.append(len(self._log))

    def _pop(self) -> None:
        self._saved.pop()
        self._logged.pop()

    def undo(self, *, is_changed: bool = True) -> None:
        """Come back to the last savepoint, or to one before it.

        Args:
            is_changed: Whether rows may differ since; if not, only the log is shortened. A statement that fails leaves
                its rows as they were, but its triggers have told of them.
        """
        if not is_changed:
            del self._log[self._logged[-1] :]
            return
        self._undone += 1
        if not self.connection.in_transaction or len(self._saved) == 1 or self._undone > MOST_UNDONE:
            self._restart()
            return
        self.connection.execute(f"ROLLBACK TO s{len(self._saved) - 1}")
        del self._path[self._saved[-1] :]
        del self._log[self._logged[-1] :]

    def arrive(self, node: StateNode) -> None:
        """Note that the present unit of work has led to a state."""
        self._path.append(node)

    def _make(self, node: StateNode) -> None:
        assert node.change is not None
        self.steps = 0
        try:
            node.change.make(self.connection, self._blueprint)
        except BaseException:
            self._restart()
            raise
        if node.change.patch:
            node.patched = self._touched()
            self._log.clear()
        self._path.append(node)

    def touched(self) -> list[tuple[diff.Place, tuple[Any, ...]]]:
        """The rows that changes since the original rows, or since the patch, have touched, with their cells; sorted.

        A row that is gone has no cells.
        """
        return sorted({(row[0], row[1]): row[2:] for row in self._log}.items(), key=itemgetter(0))

    def _touched(self) -> dict[diff.Place, Row | None]:
        readers = {entity.table: diff.reader_of(entity) for entity in self._blueprint.tables}
        return {place: diff.row_with(readers[place[0]], cells) for place, cells in self.touched()}

    def _restart(self) -> None:
        """Come back to the original rows."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN")
        self._path, self._saved, self._logged, self._undone = [], [0], [0], 0
        self._log.clear()


def key_of(values: Mapping[str, object]) -> Hashable:
    """Values by name as a key: equal only for equal values of equal types."""
    return tuple([value if value.__class__ in _PLAIN else (repr(value),) for value in values.values()])


def question_key(text: str, bindings: Mapping[str, object]) -> Hashable:
    """The key of a question, or of a call: its text and what is bound in it."""
    return (text, *bindings, key_of(bindings))
