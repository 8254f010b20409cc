"""The rows of one session, with marks to return to and the difference from the start.

A session stands at a node of its world's tree of states. It borrows a copy of the database only for what nobody has
found out in that state before.
"""

import sqlite3
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from skillweave.base.errors import WorldError
from skillweave.schema.contract import RowChange
from skillweave.schema.record import Row
from skillweave.world import database, diff
from skillweave.world.arguments import BoundValue
from skillweave.world.canonical import IdCounter, counter_of
from skillweave.world.interpreter import changed_by, column_names
from skillweave.world.prepared import DatabaseCopy, PreparedWorld
from skillweave.world.states import Change, StateNode, StateTree, question_key

_UNKNOWN: Any = object()
Answer = TypeVar("Answer")
Work = Callable[[sqlite3.Connection], tuple[Answer, Change | None]]
"""What is done with the present rows: it gives an answer, and the change that it has made."""


class State:
    """A copy of a world's rows, patched."""

    def __init__(self, world: PreparedWorld, patch: Sequence[RowChange], states: StateTree | None) -> None:
        """Begin with the world's rows, and apply a patch to them.

        Args:
            world: The contract and the original rows.
            patch: Row changes that belong to the start, not to the difference.
            states: What sessions of this world have found out; None: everything is found out here, and not kept.

        Raises:
            WorldError: The patch does not fit the world.
        """
        self.world = world
        self._copy: DatabaseCopy | None = None
        self._is_closed = False
        self._states = states
        self.is_shared = states is not None
        """Whether other sessions get to know what is found out here."""
        self._node = states.root if states else StateNode()
        self._marks: list[StateNode] = []
        self._last_diff: tuple[StateNode, list[RowChange]] | None = None
        """The last state whose difference was asked for, and the difference."""
        if patch:
            self._apply_patch(patch)

    @property
    def connection(self) -> sqlite3.Connection:
        """A connection that holds the present rows. Raises WorldError after `close`."""
        return self._follow().connection

    def _follow(self) -> DatabaseCopy:
        if self._is_closed:
            raise WorldError(f"this session of {self.world.blueprint.server!r} is closed; open another")
        copy = self._copy
        if copy is None:
            copy = self._copy = self.world.pool.lend()
        copy.go_to(self._node)
        copy.steps = 0
        return copy

    def close(self) -> None:
        """Give the copy back."""
        copy, self._copy, self._is_closed = self._copy, None, True
        if copy is not None:
            self.world.pool.take_back(copy)

    def recall(self, key: Hashable, find: Callable[[], Answer], cells: Callable[[Answer], int]) -> Answer:
        """What was found out in this state before; else it is found out now.

        Args:
            key: The same for the same question.
            find: Finds the answer.
            cells: About how many values an answer consists of.
        """
        if self._states is None:
            return find()
        known = self._node.found
        remembered: Answer = known.get(key, _UNKNOWN)
        if remembered is _UNKNOWN:
            remembered = find()
            self._states.remember(cells(remembered))
            known[key] = remembered
        return remembered

    def counter(self) -> IdCounter:
        """The id counter past every key in these rows."""
        counter, patched = self.world.counter, self._node.patched
        if not patched:
            return counter
        if any(row is None and counter.is_held_by(key) for (_, key), row in patched.items()):
            return counter_of(self.connection, self.world.blueprint)
        return counter.behind(key for (_, key), row in patched.items() if row is not None)

    def known_step(self, key: Hashable) -> Any:
        """Do a unit of work that was done in this state before. Its outcome; None, with nothing done, if it is new."""
        known = self._node.steps.get(key)
        if known is None:
            return None
        answer, self._node = known
        return answer

    def step(self, key: Hashable, work: Work[Answer], *, writes: bool = True) -> Answer:
        """Carry out a unit of work.

        Args:
            key: The same for the same work, by which `known_step` finds it; not looked at where nothing is shared.
            work: Gives an answer, and the change that it has made; None: it is to leave no trace.
            writes: Whether it may change rows.
        """
        answer, reached = self._carry_out(work) if writes else (work(self.connection)[0], self._node)
        if self._states is not None:
            self._states.remember(STEP_CELLS)
            self._node.steps[key] = answer, reached
        self._node = reached
        return answer

    def _carry_out(self, work: Work[Answer]) -> tuple[Answer, StateNode]:
        copy = self._follow()
        copy.save(self._marks)
        change, before = None, copy.connection.total_changes
        try:
            answer, change = work(copy.connection)
        finally:
            if change is None:
                copy.undo(is_changed=copy.connection.total_changes > before)
        if change is None:
            return answer, self._node
        reached = StateNode(self._node, change)
        if self._states is not None:
            reached = self._states.add(reached)
        copy.arrive(reached)
        return answer, reached

    def query(self, sql: str, bindings: Mapping[str, BoundValue]) -> list[Row]:
        """The rows of a SELECT. Raises WorldError for another statement, sqlite3.Error if it fails."""
        if self._states is None:
            return self._read(sql, bindings)
        return [*self.recall(question_key(sql, bindings), lambda: self._read(sql, bindings), _cells)]

    def _read(self, sql: str, bindings: Mapping[str, BoundValue]) -> list[Row]:
        connection = self.connection
        before = connection.total_changes
        cursor = connection.execute(sql, bindings)
        if cursor.description is None or connection.total_changes > before:
            connection.execute("ROLLBACK")
            raise WorldError(f"a session's query must be a SELECT, not {sql!r}")
        return database.named(column_names(cursor), cursor.fetchall())

    def execute(self, sql: str, bindings: Mapping[str, BoundValue]) -> int:
        """Run a statement that writes, and count the changed rows. An sqlite3.Error leaves the rows unchanged."""

        def work(connection: sqlite3.Connection) -> tuple[int, Change]:
            return changed_by(connection, sql, bindings), Change((sql,), bindings)

        key = question_key(sql, bindings)
        known: int | None = self.known_step(key)
        return self.step(key, work) if known is None else known

    def mark(self) -> int:
        """Set a mark, and return its number, counted from 0."""
        self._marks.append(self._node)
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Return to a mark. The mark stays; marks set after it are gone. Raises WorldError if there is no such mark."""
        self._check(mark)
        self._node = self._marks[mark]
        del self._marks[mark + 1 :]

    def forget(self, mark: int) -> None:
        """Remove a mark and those set after it; the rows stay. Raises WorldError if there is no such mark."""
        self._check(mark)
        del self._marks[mark:]

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key. Raises WorldError if there is no such table."""
        entity = self.world.entity(table)
        return [*self.recall(("rows", table), lambda: database.rows(self.connection, entity), _cells)]

    def began_with(self, person: str) -> bool:
        """Whether a person with that key was in the rows at the start."""
        place = self.world.people.table, person
        patched = self._node.patched
        return patched[place] is not None if place in patched else person in self.world.person_keys

    def account(self, column: str, person: str) -> str | None:
        """A person's key in a domain.

        Args:
            column: The column of the core entity that holds that domain's keys.
            person: The person's own key.

        Returns:
            The key in that domain; None if the person has no account there.
        """
        people = self.world.people
        if column == people.key:
            return person
        query = f"SELECT {column} FROM {people.table} WHERE {people.key} = ?"
        return self.recall((query, person), lambda: self._cell(query, person), _one_cell)

    def person(self, column: str, account: str) -> str | None:
        """The person who has a key in a domain.

        Args:
            column: The column of the core entity that holds that domain's keys.
            account: The key in that domain.

        Returns:
            The person's own key; None if nobody has that account.
        """
        people = self.world.people
        if column == people.key:
            return account
        return self._cell(f"SELECT {people.key} FROM {people.table} WHERE {column} = ?", account)

    def _cell(self, query: str, key: str) -> str | None:
        row = self.connection.execute(query, (key,)).fetchone()
        return None if row is None or row[0] is None else str(row[0])

    def diff(self) -> list[RowChange]:
        """Row changes since the start, without the patch, sorted by table and key."""
        last = self._last_diff
        if last is None or last[0] is not self._node:
            last = self._last_diff = self._node, self.recall("diff", self._changes, _change_cells)
        return [*last[1]]

    def _changes(self) -> list[RowChange]:
        copy, patched = self._follow(), self._node.patched
        changes = []
        for place, cells in copy.touched():
            table, key = place
            reader = self.world.reader(table)
            before = patched[place] if place in patched else self.world.original(table, key)
            change = diff.change_between(reader, key, before, diff.row_with(reader, cells))
            if change is not None:
                changes.append(change)
        return changes

    def _check(self, mark: int) -> None:
        if not 0 <= mark < len(self._marks):
            raise WorldError(f"no mark {mark!r} in this session; there are {len(self._marks)}, counted from 0")

    def _apply_patch(self, patch: Sequence[RowChange]) -> None:
        """Start from the patched rows. They become part of the tree only if the patch fits."""
        patched = StateNode(self._node, Change(patch=patch))
        known = self._node.next.get(patched.key)
        self._node = known or patched
        if known:
            return
        try:
            self._follow()
        except (sqlite3.Error, WorldError) as error:
            self.close()
            raise WorldError(f"the patch does not fit the world {self.world.blueprint.server!r}: {error}") from error
        if self._states is not None:
            self._node = self._states.add(patched)


STEP_CELLS = 64
"""Values of the outcome of a unit of work, about."""


def _cells(rows: Sequence[Row]) -> int:
    return 4 + len(rows) * len(rows[0]) if rows else 4


def _one_cell(_: object) -> int:
    return 4


def _change_cells(changes: Sequence[RowChange]) -> int:
    return 4 + 32 * len(changes)
