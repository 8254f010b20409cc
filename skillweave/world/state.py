"""The rows of one session, with marks to return to and the difference from the start.

The state keeps a journal of every change. When SQLite interrupts a runaway write, it rolls back the whole transaction;
the state then repeats the changes in the journal.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from skillweave.base.errors import WorldError
from skillweave.schema.contract import RowChange
from skillweave.schema.record import Row
from skillweave.world import database, diff
from skillweave.world.arguments import BoundValue
from skillweave.world.canonical import IdCounter, counter_of
from skillweave.world.interpreter import changed_by
from skillweave.world.prepared import DatabaseCopy, PreparedWorld
from skillweave.world.sql import LOG_TABLE

Answer = TypeVar("Answer")


class Change(NamedTuple):
    """Statements of a kept unit of work, with their bindings."""

    statements: Sequence[str] = ()
    bindings: Mapping[str, BoundValue] = {}


class State:
    """A copy of a world's rows, patched, in one transaction."""

    def __init__(self, world: PreparedWorld, copy: DatabaseCopy, patch: Sequence[RowChange]) -> None:
        """Take over a copy and apply a patch to it.

        Args:
            world: The contract and the original rows.
            copy: The copy to work on.
            patch: Row changes that belong to the start, not to the difference.

        Raises:
            WorldError: The patch does not fit the world. The state gives the copy back.
        """
        self.world = world
        self._copy: DatabaseCopy | None = copy
        self._patch = patch
        self._patched: dict[tuple[str, str], Row | None] = {}
        self._journal: list[Change] = []
        self._marks: list[int] = []
        """For each mark, the length of the journal when it was set."""
        self._writes = False
        """Whether the present unit of work may write, and so has its own savepoint."""
        if patch:
            self._apply_patch()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection that holds the rows. Raises WorldError after `close`."""
        return self._open_copy.connection

    @property
    def _open_copy(self) -> DatabaseCopy:
        if self._copy is None:
            raise WorldError(f"this session of {self.world.blueprint.server!r} is closed; open another")
        return self._copy

    def close(self) -> None:
        """Give the copy back."""
        copy, self._copy = self._copy, None
        if copy is not None:
            self.world.pool.take_back(copy)

    def counter(self) -> IdCounter:
        """The id counter past every key in these rows."""
        counter = self.world.counter
        if any(row is None and counter.is_held_by(key) for (_, key), row in self._patched.items()):
            return counter_of(self.connection, self.world.blueprint)
        return counter.behind(key for (_, key), row in self._patched.items() if row is not None)

    def begin(self, *, writes: bool = True) -> None:
        """Start a unit of work, which `keep` or `drop` ends. It resets the count of SQLite's steps.

        Args:
            writes: Whether it may change rows; only then does it need a savepoint.
        """
        self._open_copy.steps = 0
        self._writes = writes
        if writes:
            self.connection.execute("SAVEPOINT call")

    def keep(self, statements: Sequence[str] = (), bindings: Mapping[str, BoundValue] | None = None) -> None:
        """Keep the changes since `begin`.

        Args:
            statements: The statements that changed rows, in order.
            bindings: Their bindings.
        """
        if self._writes:
            self.connection.execute("RELEASE call")
        if statements:
            self._journal.append(Change(statements, bindings or {}))

    def drop(self) -> None:
        """Undo the changes since `begin`."""
        if not self.connection.in_transaction:
            self._remake()
        elif self._writes:
            self.connection.execute("ROLLBACK TO call")
            self.connection.execute("RELEASE call")

    def query(self, sql: str, bindings: Mapping[str, BoundValue]) -> list[Row]:
        """The rows of a SELECT. Raises WorldError for another statement, sqlite3.Error if it fails."""

        def read() -> list[Row]:
            before = self.connection.total_changes
            cursor = self.connection.execute(sql, bindings)
            if cursor.description is None or self.connection.total_changes > before:
                raise WorldError(f"a session's query must be a SELECT, not {sql!r}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return self._as_unit(read, (), bindings)

    def execute(self, sql: str, bindings: Mapping[str, BoundValue]) -> int:
        """Run a statement that writes, and count the changed rows. An sqlite3.Error leaves the rows unchanged."""
        return self._as_unit(lambda: changed_by(self.connection, sql, bindings), (sql,), bindings)

    def _as_unit(
        self, run: Callable[[], Answer], statements: Sequence[str], bindings: Mapping[str, BoundValue]
    ) -> Answer:
        self.begin()
        try:
            answer = run()
        except BaseException:
            self.drop()
            raise
        self.keep(statements, bindings)
        return answer

    @property
    def last_change(self) -> Change:
        """The change that was kept last. IndexError if there is none."""
        return self._journal[-1]

    def repeat(self, change: Change) -> None:
        """Make a change that was kept before, on the rows on which it was made."""
        self.begin()
        for statement in change.statements:
            changed_by(self.connection, statement, change.bindings)
        self.keep(*change)

    def mark(self) -> int:
        """Set a mark, and return its number, counted from 0."""
        self.connection.execute(f"SAVEPOINT mark_{len(self._marks)}")
        self._marks.append(len(self._journal))
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Return to a mark. The mark stays; marks set after it are gone. Raises WorldError if there is no such mark."""
        check_mark(mark, len(self._marks))
        self.connection.execute(f"ROLLBACK TO mark_{mark}")
        del self._journal[self._marks[mark] :]
        del self._marks[mark + 1 :]

    def forget(self, mark: int) -> None:
        """Remove a mark and those set after it; the rows stay. Raises WorldError if there is no such mark."""
        check_mark(mark, len(self._marks))
        self.connection.execute(f"RELEASE mark_{mark}")
        del self._marks[mark:]

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key. Raises WorldError if there is no such table."""
        return database.rows(self.connection, self.world.entity(table))

    def has(self, table: str, key: str) -> bool:
        """Whether a table has a row with that key. Raises KeyError if there is no such table."""
        return diff.read_row(self.connection, self.world.reader(table), key) is not None

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
        return self._cell(f"SELECT {column} FROM {people.table} WHERE {people.key} = ?", person)

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
        changes = []
        for table, key in diff.touched(self.connection):
            reader = self.world.reader(table)
            before = self._patched[table, key] if (table, key) in self._patched else self.world.original(table, key)
            change = diff.change_between(reader, key, before, diff.read_row(self.connection, reader, key))
            if change is not None:
                changes.append(change)
        return changes

    def _apply_patch(self) -> None:
        try:
            diff.apply(self.connection, self.world.blueprint, self._patch)
        except (sqlite3.Error, WorldError) as error:
            self.close()
            raise WorldError(f"the patch does not fit the world {self.world.blueprint.server!r}: {error}") from error
        for table, key in diff.touched(self.connection):
            self._patched[table, key] = diff.read_row(self.connection, self.world.reader(table), key)
        self.connection.execute(f"DELETE FROM {LOG_TABLE}")

    def _remake(self) -> None:
        """Begin a new transaction, and repeat the journal with the marks at their places."""
        self.connection.execute("BEGIN")
        self._open_copy.steps = 0
        if self._patch:
            self._apply_patch()
        for place in range(len(self._journal) + 1):
            for mark, length in enumerate(self._marks):
                if length == place:
                    self.connection.execute(f"SAVEPOINT mark_{mark}")
            if place < len(self._journal):
                self._open_copy.steps = 0
                for statement in self._journal[place].statements:
                    changed_by(self.connection, statement, self._journal[place].bindings)


def check_mark(mark: int, count: int) -> None:
    """Raises WorldError if there is no such mark among so many."""
    if not 0 <= mark < count:
        raise WorldError(f"no mark {mark!r} in this session; there are {count}, counted from 0")
