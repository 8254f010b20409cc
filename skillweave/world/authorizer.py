"""Which tables, columns and functions contract SQL may touch: SQLite asks when it prepares a statement.

SQLite names tables, columns and functions as it resolved them, without their arguments. So `datetime('now')` passes
here; `forbidden_sql` refuses it.
"""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

LOG_TABLE = "touched__rows"
"""Where sessions log the rows that statements touch. No entity can have a name with two underscores."""

VIEWED_TABLE = "_viewed_rows"
"""Where updates through a person's view are counted. No entity's name begins with an underscore."""

_NAMES = (
    "abs avg ceil ceiling char coalesce count cume_dist date datetime dense_rank first_value floor format glob "
    "group_concat ifnull iif instr json_array_length json_extract json_type json_valid julianday lag last_value lead "
    "length like lower ltrim max min mod nth_value ntile nullif percent_rank pow power printf rank replace round "
    "row_number rtrim sign strftime substr substring sum time total trim trunc unicode unixepoch upper -> ->>"
)
FUNCTIONS = frozenset(_NAMES.split())
"""Functions that contract SQL may use: their value follows from their arguments alone."""

_CALLABLE = FUNCTIONS | {"changes"}
"""The interpreter itself uses `changes`; contract SQL cannot, since `forbidden_sql` refuses it."""

_PRAGMAS = ("defer_foreign_keys", "foreign_key_check")
"""Used to apply row changes. Contract SQL cannot hold a PRAGMA, since `forbidden_sql` refuses it."""

_Callback = Callable[[int, str | None, str | None, str | None, str | None], int]


@dataclass
class Access:
    """Tables and columns that a statement reads and writes. The column `""` stands for the row itself."""

    reads: dict[str, set[str]] = field(default_factory=dict)
    """Table -> columns."""
    inserts: set[str] = field(default_factory=set)
    """Tables."""
    deletes: set[str] = field(default_factory=set)
    """Tables."""
    updates: dict[str, set[str]] = field(default_factory=dict)
    """Table -> columns."""
    functions: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    """What was denied, in words."""


def authorize(
    connection: sqlite3.Connection, tables: Collection[str], access: Access | None = None, views: Collection[str] = ()
) -> None:
    """Allow contract SQL over these tables and views alone.

    Args:
        connection: Whose statements are checked from now on.
        tables: Tables that statements may touch.
        access: Where to add what statements touch. For a view that is what the statement names, not what the view
            reads or its trigger writes.
        views: Views that statements may touch.
    """
    access = access if access is not None else Access()
    own = frozenset(views) | {trigger_of(view) for view in views}
    connection.set_authorizer(_authorizer(frozenset(tables) | frozenset(views), own, access))


def trigger_of(view: str) -> str:
    """The name of the trigger that carries out updates of a view."""
    return f"{view}__update"


def _authorizer(tables: frozenset[str], own: frozenset[str], access: Access) -> _Callback:
    """The callback for SQLite. `own` are our views and triggers: what they touch themselves is allowed."""

    def decide(action: int, first: str | None, second: str | None, _base: str | None, source: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_TRANSACTION):
            return sqlite3.SQLITE_OK
        name, detail = first or "", second or ""
        if action == sqlite3.SQLITE_PRAGMA and name in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and detail in _CALLABLE:
            access.functions.add(detail)
            return sqlite3.SQLITE_OK
        if source in own and name in tables:
            return sqlite3.SQLITE_OK
        if _is_log(name, source) or (name in tables and _note(access, action, name, detail)):
            return sqlite3.SQLITE_OK
        # SQLite reports a common table expression that is only counted as a read of no column.
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
