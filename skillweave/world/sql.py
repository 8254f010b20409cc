"""Contract SQL: its syntax tree, and SQLite's authorizer, which allows a statement only what its contract may touch."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from skillweave.base.errors import WorldError

# sqlglot warns about syntax that it keeps as text; `forbidden_sql` decides whether to refuse it.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Statement:
    """One statement, or one expression, of a contract."""

    text: str
    tree: exp.Expr

    @cached_property
    def bindings(self) -> tuple[str, ...]:
        """Names of the `:name` bindings, in order of first appearance."""
        return tuple(dict.fromkeys(str(node.this) for node in self._all(exp.Placeholder) if node.args.get("this")))

    @property
    def literals(self) -> tuple[str, ...]:
        """Numbers and strings, in order of appearance; strings without their quotes."""
        return tuple(str(node.this) for node in self._all(exp.Literal))

    @property
    def target(self) -> str | None:
        """The table that an INSERT, UPDATE or DELETE writes; None for a statement that only reads."""
        if not isinstance(self.tree, exp.Insert | exp.Update | exp.Delete):
            return None
        table = self.tree.this.this if isinstance(self.tree.this, exp.Schema) else self.tree.this
        return str(table.name) if isinstance(table, exp.Table) else None

    @property
    def inserted(self) -> list[tuple[str | None, exp.Expr]]:
        """For an INSERT: (column, value) of its first row. The column is None if the statement lists no columns."""
        if not isinstance(self.tree, exp.Insert):
            return []
        values = _first_row(self.tree.expression)
        if not isinstance(self.tree.this, exp.Schema):
            return [(None, value) for value in values]
        return list(zip([column.name for column in self.tree.this.expressions], values, strict=False))

    def _all(self, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
        return (node for node in self.tree.dfs() if isinstance(node, kind))


def _first_row(source: exp.Expr | None) -> list[exp.Expr]:
    if isinstance(source, exp.Values) and source.expressions:
        row = source.expressions[0]
        return list(row.expressions) if isinstance(row, exp.Tuple) else [row]
    if isinstance(source, exp.Select):
        return [node.this if isinstance(node, exp.Alias) else node for node in source.expressions]
    return []


@lru_cache(maxsize=4096)
def parse(text: str) -> Statement:
    """Parse a statement or expression. Raises WorldError if the text is not exactly one."""
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="sqlite") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        raise WorldError(f"SQL does not parse: {str(error).splitlines()[0]}") from error
    if len(trees) != 1:
        raise WorldError(f"{len(trees)} SQL statements where one was expected")
    if isinstance(trees[0], exp.Command):
        raise WorldError(f"SQL statement {str(trees[0].this)!r} may not be used; use SELECT, INSERT, UPDATE or DELETE")
    return Statement(text, trees[0])


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a statement. Raises WorldError if SQL does not know one of them."""
    try:
        return tuple(sqlglot.tokenize(text, dialect="sqlite"))
    except SqlglotError as error:
        raise WorldError(f"SQL does not parse: {str(error).splitlines()[0]}") from error


LOG_FUNCTION = "touched__row"
"""The function by which triggers tell which rows a statement touches. Contract SQL cannot call it."""

VIEWED_TABLE = "_viewed_rows"
"""The table that counts updates through a person's view. No entity's name begins with an underscore."""

_NAMES = (
    "abs avg ceil ceiling char coalesce count cume_dist date datetime dense_rank first_value floor format glob "
    "group_concat ifnull iif instr json_array_length json_extract json_type json_valid julianday lag last_value lead "
    "length like lower ltrim max min mod nth_value ntile nullif percent_rank pow power printf rank replace round "
    "row_number rtrim sign strftime substr substring sum time total trim trunc unicode unixepoch upper -> ->>"
)
FUNCTIONS = frozenset(_NAMES.split())
"""Functions that contract SQL may use: their value depends on their arguments alone."""

_LOGS = "__log"
"""How the names of the triggers end that log touched rows. No entity can have a name with two underscores."""
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
    """Denied actions, in words."""


def authorize(
    connection: sqlite3.Connection, tables: Collection[str], access: Access | None = None, views: Collection[str] = ()
) -> None:
    """Allow contract SQL over these tables and views alone.

    Args:
        connection: The connection whose statements to check from now on.
        tables: Tables that statements may touch.
        access: Collects the tables and columns that statements touch. For a view it collects the names in the
            statement, not the tables that the view reads or its trigger writes.
        views: Views that statements may touch.
    """
    access = access if access is not None else Access()
    own = frozenset(views) | {trigger_of(view) for view in views}
    connection.set_authorizer(_authorizer(frozenset(tables) | frozenset(views), own, access))


def trigger_of(view: str) -> str:
    """The name of the trigger that carries out updates of a view."""
    return f"{view}__update"


def _authorizer(tables: frozenset[str], own: frozenset[str], access: Access) -> _Callback:
    """The callback for SQLite. `own` are the views and triggers of this module, which may touch any table."""

    def decide(action: int, first: str | None, second: str | None, _base: str | None, source: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_TRANSACTION):
            return sqlite3.SQLITE_OK
        name, detail = first or "", second or ""
        if action == sqlite3.SQLITE_PRAGMA and name in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and detail == LOG_FUNCTION and source is not None:
            return sqlite3.SQLITE_OK if source.endswith(_LOGS) else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and detail in _CALLABLE:
            access.functions.add(detail)
            return sqlite3.SQLITE_OK
        if source in own and name in tables:
            return sqlite3.SQLITE_OK
        if _is_log(name, source) or (name in tables and _note(access, action, name, detail)):
            return sqlite3.SQLITE_OK
        # If a statement only counts the rows of a CTE, SQLite reports a read of no column.
        if action == sqlite3.SQLITE_READ and not detail and not name.startswith(("sqlite_", "pragma_", "json_")):
            return sqlite3.SQLITE_OK
        access.refused.append(f"function {detail!r}" if action == sqlite3.SQLITE_FUNCTION else f"access to {name!r}")
        return sqlite3.SQLITE_DENY

    return decide


def _is_log(name: str, source: str | None) -> bool:
    return name == VIEWED_TABLE or (source is not None and source.endswith(_LOGS))


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
