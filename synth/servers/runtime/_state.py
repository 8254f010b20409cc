"""What a session starts from: a database, a clock, who is signed in, and the rows that a task adds.

A database from elsewhere is looked at before it is served: it holds tables and nothing else, those of this world.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from _arguments import Row, time  # type: ignore[import-not-found]
from _people import People  # type: ignore[import-not-found]

CHANGE_ORDER = ["delete", "update", "insert"]


class ServerState(NamedTuple):
    """What a session starts from."""

    database: bytes
    now: str
    caller: str | None = None
    patch: Sequence[Row] = ()
    hidden: Iterable[str] = ()
    noise: Mapping[str, Any] | None = None
    opened: sqlite3.Connection | None = None
    """A copy of the database that has the patch already; a session without it makes its own."""


class DatabaseOutline(NamedTuple):
    """What every session of one database starts with: its tables, and how far its ids have counted."""

    columns: Mapping[str, list[str]]
    """Table -> its columns, the key first."""
    last: int
    """The highest number in an id."""
    digits: int
    """Digits of the longest number."""


def open_copy(state: ServerState, people: People | None = None) -> sqlite3.Connection:
    """A state's rows, in memory, with the views of its people. ValueError for an empty file.

    The patch comes before references are checked; from then on each must name a row.
    """
    if not state.database:
        raise ValueError("the state is an empty file; give a SQLite database")
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.deserialize(state.database)
    columns = outline_of(state.database).columns
    if people is not None:
        people.make_views(connection, columns)
    for change in in_order(state.patch):
        apply_change(connection, columns, change)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def in_order(patch: Sequence[Row]) -> list[Row]:
    """Row changes in the order in which they are made: other rows may take the unique values of deleted ones."""
    return sorted(patch, key=lambda change: CHANGE_ORDER.index(change["op"]))


@lru_cache(maxsize=4)
def outline_of(database: bytes) -> DatabaseOutline:
    """Read a SQLite file. ValueError if it holds anything but tables."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(database)
    foreign = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
    if foreign:
        raise ValueError(f"the database holds the trigger or view {foreign[0][0]!r}; only tables are allowed")
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    columns = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for (name,) in tables}
    outline = DatabaseOutline(columns, *counter_after(all_keys(connection, columns)))
    connection.close()
    return outline


def all_keys(connection: sqlite3.Connection, columns: Mapping[str, list[str]]) -> list[str]:
    """The keys of all rows of all tables."""
    keys = " UNION ALL ".join(f"SELECT {names[0]} FROM {table}" for table, names in columns.items())
    return [key for (key,) in connection.execute(keys)]


def counter_after(keys: Iterable[str], last: int = 0, digits: int = 4) -> tuple[int, int]:
    """The id counter and its digits after these keys, beginning with `last` and `digits`."""
    numbers = re.findall(r"\d+$", "\n".join(keys), re.MULTILINE)
    return max([last, *map(int, numbers)]), max([digits, *map(len, numbers)])


def check_state(state: ServerState, opened: sqlite3.Connection, own: bytes, people: People | None = None) -> None:
    """Check a state before it is served.

    Raises:
        ValueError: The clock has another form, a table or column of the world's own database is missing, or the caller
            is nobody.
    """
    if time(state.now, "datetime") != state.now:
        raise ValueError(f"the clock {state.now!r} is not of the form YYYY-MM-DD HH:MM:SS")
    tables, given = outline_of(own).columns, outline_of(state.database).columns
    for table, columns in tables.items():
        lacks = sorted(set(columns) - set(given.get(table, ())))
        if lacks:
            raise ValueError(f"the state is of another world: its table {table!r} lacks {', '.join(lacks)}")
    if state.caller is None:
        return
    known = people.is_person(opened, state.caller) if people else state.caller in all_keys(opened, tables)
    if not known:
        raise ValueError(f"the caller {state.caller!r} is nobody in this state; give the id of a person in it")


def apply_change(connection: sqlite3.Connection, columns: Mapping[str, list[str]], change: Row) -> None:
    """Make one row change `{table, op, key, after}` that a task adds to the database."""
    table, key, after = change["table"], change["key"], change.get("after") or {}
    if table not in columns or not {*key, *after} <= set(columns[table]):
        raise ValueError(f"the patch names a table or column that is not in the database: {change!r}")
    where = " AND ".join(f"{name} = ?" for name in key)
    statements = {
        "insert": (
            f"INSERT INTO {table} ({', '.join(after)}) VALUES ({', '.join('?' * len(after))})",
            [*after.values()],
        ),
        "update": (
            f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in after)} WHERE {where}",
            [*after.values(), *key.values()],
        ),
        "delete": (f"DELETE FROM {table} WHERE {where}", [*key.values()]),
    }
    if connection.execute(*statements[change["op"]]).rowcount != 1:
        raise ValueError(f"the patch finds no row to {change['op']}: {change!r}")
