"""What contract SQL may touch, asked by SQLite itself when it prepares a statement.

It sees tables, columns and functions as SQLite resolved them. It does not see arguments: `datetime('now')` passes
here, and is refused by the syntax tree (`refusals`).
"""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

LOG_TABLE = "touched__rows"
"""Where sessions log which rows were touched. Two underscores: no entity can have this table."""

VIEWED_TABLE = "_viewed_rows"
"""Where updates through a person's view are counted. No name begins with an underscore."""

_NAMES = (
    "abs avg ceil ceiling char coalesce count cume_dist date datetime dense_rank first_value floor format glob "
    "group_concat ifnull iif instr json_array_length json_extract json_type json_valid julianday lag last_value lead "
    "length like lower ltrim max min mod nth_value ntile nullif percent_rank pow power printf rank replace round "
    "row_number rtrim sign strftime substr substring sum time total trim trunc unicode unixepoch upper -> ->>"
)
FUNCTIONS = frozenset(_NAMES.split())
"""Functions of contract SQL: their value follows from their arguments."""

_CALLABLE = FUNCTIONS | {"changes"}
"""The interpreter itself asks for `changes`; contract SQL may not, by its syntax."""

_PRAGMAS = ("defer_foreign_keys", "foreign_key_check")
"""Used where row changes are applied; contract SQL holds no PRAGMA by its syntax."""

_Callback = Callable[[int, str | None, str | None, str | None, str | None], int]


@dataclass
class Access:
    """Tables and columns that a statement reads and writes. A column of `` stands for the row as such."""

    reads: dict[str, set[str]] = field(default_factory=dict)
    inserts: set[str] = field(default_factory=set)
    deletes: set[str] = field(default_factory=set)
    updates: dict[str, set[str]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    """What was denied, in words."""


def authorize(
    connection: sqlite3.Connection, tables: Collection[str], access: Access | None = None, views: Collection[str] = ()
) -> None:
    """Allow contract SQL over `tables` and `views` alone; what statements touch is added to `access`.

    Of a view that is what a statement itself names, and not what the view reads, or its trigger does, in turn.
    """
    access = access if access is not None else Access()
    made = frozenset(views) | {trigger_of(view) for view in views}
    connection.set_authorizer(_authorizer(frozenset(tables) | frozenset(views), made, access))


def trigger_of(view: str) -> str:
    """The name of the trigger that carries out updates of a view."""
    return f"{view}__update"


def _authorizer(tables: frozenset[str], made: frozenset[str], access: Access) -> _Callback:
    def decide(action: int, first: str | None, second: str | None, _base: str | None, source: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_TRANSACTION):
            return sqlite3.SQLITE_OK
        name, detail = first or "", second or ""
        if action == sqlite3.SQLITE_PRAGMA and name in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and detail in _CALLABLE:
            access.functions.add(detail)
            return sqlite3.SQLITE_OK
        if source in made and name in tables:
            return sqlite3.SQLITE_OK
        if _is_log(name, source) or (name in tables and _note(access, action, name, detail)):
            return sqlite3.SQLITE_OK
        # A common table expression that is only counted is announced as a read of no column.
        if action == sqlite3.SQLITE_READ and not detail and not name.startswith(("sqlite_", "pragma_", "json_")):
            return sqlite3.SQLITE_OK
        access.refused.append(f"function {detail!r}" if action == sqlite3.SQLITE_FUNCTION else f"access to {name!r}")
        return sqlite3.SQLITE_DENY

    return decide


def _is_log(name: str, source: str | None) -> bool:
    return name in (LOG_TABLE, VIEWED_TABLE) or (source is not None and source.endswith("__log"))


def _note(access: Access, action: int, table: str, column: str) -> bool:
    if action == sqlite3.SQLITE_READ:
        access.reads.setdefault(table, set()).add(column)
    elif action == sqlite3.SQLITE_UPDATE:
        access.updates.setdefault(table, set()).add(column)
    elif action == sqlite3.SQLITE_INSERT:
        access.inserts.add(table)
    elif action == sqlite3.SQLITE_DELETE:
        access.deletes.add(table)
    else:
        return False
    return True
