"""The rows of one session: what was done to them, points to return to, and how they differ from the start.

Every change is kept in a journal too: SQLite gives up a whole transaction when it interrupts a runaway write, and then
the state is made again from the journal.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from skillweave.base.errors import WorldError
from skillweave.schema.call import RowChange
from skillweave.schema.record import Row
from skillweave.world import database, diff
from skillweave.world.arguments import BoundValue
from skillweave.world.authorizer import LOG_TABLE
from skillweave.world.ids import IdCounter, counter_of
from skillweave.world.interpreter import changed_by
from skillweave.world.pool import DatabaseCopy

if TYPE_CHECKING:
    from skillweave.world.world import World

Found = TypeVar("Found")


class _Done(NamedTuple):
    """Statements that were kept, with what they bound."""

    statements: Sequence[str]
    bindings: Mapping[str, BoundValue]


class State:
    """A copy of a world's rows, patched, in one transaction."""

    def __init__(self, world: "World", copy: DatabaseCopy, patch: Sequence[RowChange]) -> None:
        self._world = world
        self._copy: DatabaseCopy | None = copy
        self._patch = patch
        self._patched: dict[tuple[str, str], Row | None] = {}
        self._journal: list[_Done] = []
        self._marks: list[int] = []
        """For each mark, how long the journal was."""
        self._writes = False
        """Whether what was begun may write, and stands behind a savepoint of its own."""
        if patch:
            self._apply_patch()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection that holds the rows; WorldError once the state is given up."""
        return self._held.connection

    @property
    def _held(self) -> DatabaseCopy:
        if self._copy is None:
            raise WorldError(f"this session of {self._world.blueprint.server!r} is closed; open another")
        return self._copy

    def close(self) -> None:
        """Give the copy back."""
        copy, self._copy = self._copy, None
        if copy is not None:
            self._world.pool.take_back(copy)

    def counter(self) -> IdCounter:
        """The id counter behind everything that is here."""
        counter = self._world.counter
        if any(row is None and counter.is_held_by(key) for (_, key), row in self._patched.items()):
            return counter_of(self.connection, self._world.blueprint)
        return counter.behind(key for (_, key), row in self._patched.items() if row is not None)

    def begin(self, *, writes: bool = True) -> None:
        """Start something that is kept or dropped as a whole; steps are counted from zero."""
        self._held.steps = 0
        self._writes = writes
        if writes:
            self.connection.execute("SAVEPOINT call")

    def keep(self, statements: Sequence[str] = (), bindings: Mapping[str, BoundValue] | None = None) -> None:
        """Keep what was done since `begin`; `statements` are those that changed something."""
        if self._writes:
            self.connection.execute("RELEASE call")
        if statements:
            self._journal.append(_Done(statements, bindings or {}))

    def drop(self) -> None:
        """Undo what was done since `begin`."""
        if not self.connection.in_transaction:
            self._remake()
        elif self._writes:
            self.connection.execute("ROLLBACK TO call")
            self.connection.execute("RELEASE call")

    def query(self, sql: str, bindings: Mapping[str, BoundValue]) -> list[Row]:
        """The rows of a SELECT. WorldError where it is none; sqlite3.Error where it fails."""

        def read() -> list[Row]:
            before = self.connection.total_changes
            cursor = self.connection.execute(sql, bindings)
            if cursor.description is None or self.connection.total_changes > before:
                raise WorldError(f"a session's query must be a SELECT, not {sql!r}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        return self._whole(read, (), bindings)

    def execute(self, sql: str, bindings: Mapping[str, BoundValue]) -> int:
        """Run a statement that writes; how many rows it changed. sqlite3.Error leaves the rows as they were."""
        return self._whole(lambda: changed_by(self.connection, sql, bindings), (sql,), bindings)

    def _whole(self, run: Callable[[], Found], statements: Sequence[str], bindings: Mapping[str, BoundValue]) -> Found:
        self.begin()
        try:
            found = run()
        except BaseException:
            self.drop()
            raise
        self.keep(statements, bindings)
        return found

    def mark(self) -> int:
        """A point to return to."""
        self.connection.execute(f"SAVEPOINT mark_{len(self._marks)}")
        self._marks.append(len(self._journal))
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Be as at that mark, which stays; marks made after it are gone."""
        self._check(mark)
        self.connection.execute(f"ROLLBACK TO mark_{mark}")
        del self._journal[self._marks[mark] :]
        del self._marks[mark + 1 :]

    def forget(self, mark: int) -> None:
        """Give up that mark and those made after it; what was done stays."""
        self._check(mark)
        self.connection.execute(f"RELEASE mark_{mark}")
        del self._marks[mark:]

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key."""
        return database.rows(self.connection, self._world.entity(table))

    def has(self, table: str, key: str) -> bool:
        """Whether the table holds a row of that key."""
        return diff.read_row(self.connection, self._world.reader(table), key) is not None

    def account(self, column: str, person: str) -> str | None:
        """The key that a person has in a domain; `column` is where the core entity holds it."""
        people = self._world.people
        if column == people.key:
            return person
        return self._cell(f"SELECT {column} FROM {people.table} WHERE {people.key} = ?", person)

    def person(self, column: str, account: str) -> str | None:
        """Whose key that is; `column` is where the core entity holds it. None: nobody's."""
        people = self._world.people
        if column == people.key:
            return account
        return self._cell(f"SELECT {people.key} FROM {people.table} WHERE {column} = ?", account)

    def _cell(self, query: str, key: str) -> str | None:
        found = self.connection.execute(query, (key,)).fetchone()
        return None if found is None or found[0] is None else str(found[0])

    def diff(self) -> list[RowChange]:
        """Row changes since the start (behind the patch), sorted by table and key."""
        found = []
        for table, key in diff.touched(self.connection):
            reader = self._world.reader(table)
            before = self._patched[table, key] if (table, key) in self._patched else self._world.original(table, key)
            change = diff.change_between(reader, key, before, diff.read_row(self.connection, reader, key))
            if change is not None:
                found.append(change)
        return found

    def _check(self, mark: int) -> None:
        if not 0 <= mark < len(self._marks):
            raise WorldError(f"no mark {mark!r} in this session; there are {len(self._marks)}, counted from 0")

    def _apply_patch(self) -> None:
        try:
            diff.apply(self.connection, self._world.blueprint, self._patch)
        except (sqlite3.Error, WorldError) as error:
            self.close()
            raise WorldError(f"the patch does not fit the world {self._world.blueprint.server!r}: {error}") from error
        for table, key in diff.touched(self.connection):
            self._patched[table, key] = diff.read_row(self.connection, self._world.reader(table), key)
        self.connection.execute(f"DELETE FROM {LOG_TABLE}")

    def _remake(self) -> None:
        self.connection.execute("BEGIN")
        self._held.steps = 0
        if self._patch:
            self._apply_patch()
        for place in range(len(self._journal) + 1):
            for mark, length in enumerate(self._marks):
                if length == place:
                    self.connection.execute(f"SAVEPOINT mark_{mark}")
            if place < len(self._journal):
                self._held.steps = 0
                for statement in self._journal[place].statements:
                    changed_by(self.connection, statement, self._journal[place].bindings)
