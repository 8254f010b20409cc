"""A session: one copy of a world's state, with its clock, caller and ids, and the tools that work on it.

A call is a transaction: a tool that raises, or a write that changes no row, leaves no trace.
"""

import inspect
import json
import math
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from _arguments import Refused, Row, parameter, time  # type: ignore[import-not-found]

Kind = Literal["auth", "read", "write"]
MOST_ROWS = 10_000
ORDER = ["delete", "update", "insert"]


class Defect(Exception):
    """A tool cannot keep its promise: the call is undone and answers `world_defect`."""


class Tool:
    """A function of the server's file: its first parameter is the session, the others are the tool's."""

    def __init__(self, function: Callable[..., Any], kind: Kind, description: str | None) -> None:
        hints = get_type_hints(function, include_extras=True)
        self.name, self.kind, self.function = function.__name__, kind, function
        paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
        self.description = " ".join(paragraph.split()) if description is None else description
        self.parameters = [parameter(name, hints[name]) for name in list(inspect.signature(function).parameters)[1:]]

    def schema(self) -> Row:
        """The JSON schema of its arguments."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    def accept(self, arguments: Mapping[str, Any]) -> Row:
        """The arguments as the function takes them; Refused where one is unknown, missing or does not fit."""
        known = [parameter.name for parameter in self.parameters]
        for name in sorted(set(arguments) - set(known)):
            takes = ", ".join(known) or "no arguments"
            raise Refused(
                "invalid_arguments",
                f"unknown argument {name!r}; {self.name} takes {takes}",
            )
        return {parameter.name: parameter.accept(arguments.get(parameter.name)) for parameter in self.parameters}


class Session:
    """One copy of the state, with its clock, caller and ids. Tools get it as `db`; SQL sees `:caller` and `:now`."""

    def __init__(self, tools: Iterable[Tool], prefixes: Mapping[str, str], state: "State") -> None:
        self.now, self.caller, self.ended = state.now, state.caller, False
        self.minted: list[str] = []
        hidden = set(state.hidden)
        self.tools = {
            tool.name: tool for tool in tools if tool.name not in hidden and not (tool.kind == "auth" and state.caller)
        }
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.deserialize(state.database)
        columns, last, digits = origin(state.database)
        patch = sorted(state.patch, key=lambda change: ORDER.index(change["op"]))
        for change in patch:
            apply(self.connection, columns, change)
        self.connection.execute("PRAGMA foreign_keys = ON")
        self._prefixes = prefixes
        if any(change["op"] == "delete" for change in patch):
            self._last, self._digits = behind(held(self.connection, columns))
        else:
            made = [str(change["after"][columns[change["table"]][0]]) for change in patch if change["op"] == "insert"]
            self._last, self._digits = behind(made, last, digits)

    def one(self, sql: str, /, **bound: Any) -> Row | None:
        """The first row, or None."""
        cursor = self._run(sql, bound)
        row = cursor.fetchone()
        return None if row is None else dict(zip([column[0] for column in cursor.description], row, strict=True))

    def value(self, sql: str, /, **bound: Any) -> Any:
        """The first value of the first row, or None."""
        row = self._run(sql, bound).fetchone()
        return None if row is None else row[0]

    def exists(self, sql: str, /, **bound: Any) -> bool:
        """Whether there is a row."""
        return self._run(sql, bound).fetchone() is not None

    def true(self, condition: str, /, **bound: Any) -> bool:
        """Whether an SQL condition is exactly true: NULL is not."""
        return bool(self.value(f"SELECT (\n{condition}\n) IS TRUE", **bound))

    def run(self, sql: str, /, **bound: Any) -> None:
        """Carry out an INSERT, UPDATE or DELETE."""
        self._run(sql, bound)

    def all(self, sql: str, booleans: Iterable[str] = (), /, **bound: Any) -> list[Row]:
        """All rows; columns named in `booleans` come back as true or false."""
        cursor = self._run(sql, bound)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(MOST_ROWS + 1)]
        if len(rows) > MOST_ROWS:
            raise Defect(f"the result has more than {MOST_ROWS} rows")
        for row in rows:
            for name, value in row.items():
                if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
                    raise Defect(f"column {name!r} holds {value!r}")
            row.update({name: bool(row[name]) for name in booleans if row[name] is not None})
        return rows

    def only(self, sql: str, booleans: Iterable[str] = (), /, **bound: Any) -> Row:
        """The one row that there must be."""
        rows = self.all(sql, booleans, **bound)
        if len(rows) != 1:
            raise Defect(f"{len(rows)} rows where one was promised")
        return rows[0]

    def new_id(self, table: str) -> str:
        """An id that no row has: the table's prefix and the session's counter."""
        self._last += 1
        self.minted.append(f"{self._prefixes[table]}-{self._last:0{self._digits}d}")
        return self.minted[-1]

    def sign_in(self, person: str) -> None:
        """Make this person the caller; one person a session."""
        if self.caller not in (None, person):
            raise Refused("already_authenticated", "Another person is signed in already.")
        self.caller = person

    def call(self, name: str, arguments: Mapping[str, Any]) -> Row:
        """Call a tool: `{"ok": true, "value": ...}` or `{"ok": false, "error": {code, message, rule}}`."""
        caller, last, minted = self.caller, self._last, len(self.minted)
        try:
            return {"ok": True, "value": self._call(name, arguments)}
        except Refused as refused:
            error = refused.error
        except Exception as fault:
            print(f"world_defect in {name}: {fault!r}", file=sys.stderr)
            message = "The system could not carry this out; nothing was changed."
            error = {"code": "world_defect", "message": message, "rule": None}
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.caller, self._last = caller, last
        del self.minted[minted:]
        return {"ok": False, "error": error}

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if self.ended:
            raise Refused(
                "session_ended",
                "The conversation was handed over; no more calls are possible.",
            )
        tool = self.tools.get(name)
        if tool is None:
            raise Refused(
                "unknown_tool",
                f"There is no tool {name!r}; there are {', '.join(self.tools)}.",
            )
        if self.caller is None and tool.kind != "auth" and tool.function is not transfer_to_human:
            raise Refused(
                "not_authenticated",
                "The user must be identified before this tool can be used.",
            )
        accepted = tool.accept(arguments)
        self.connection.execute("BEGIN")
        before = self.connection.total_changes
        value = tool.function(self, **accepted)
        if tool.kind == "write" and self.connection.total_changes == before:
            raise Defect("the write changed no row")
        self.connection.execute("COMMIT")
        return value

    def _run(self, sql: str, bound: Mapping[str, Any]) -> sqlite3.Cursor:
        values = {
            name: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if isinstance(value, list | dict)
            else value
            for name, value in bound.items()
        }
        return self.connection.execute(sql, {**values, "caller": self.caller, "now": self.now})


class State(NamedTuple):
    """What a session starts from."""

    database: bytes
    now: str
    caller: str | None = None
    patch: Iterable[Row] = ()
    hidden: Iterable[str] = ()


class Origin(NamedTuple):
    """What sessions of one database begin with."""

    columns: Mapping[str, list[str]]
    last: int
    digits: int


@lru_cache(maxsize=4)
def origin(database: bytes) -> Origin:
    """Its tables with their columns, and how far its ids have counted. ValueError where it holds more than tables."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(database)
    foreign = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
    if foreign:
        raise ValueError(f"the database holds the trigger or view {foreign[0][0]!r}; only tables are allowed")
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    columns = {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for (name,) in tables}
    found = Origin(columns, *behind(held(connection, columns)))
    connection.close()
    return found


def held(connection: sqlite3.Connection, columns: Mapping[str, list[str]]) -> list[str]:
    """The keys of all rows."""
    keys = " UNION ALL ".join(f"SELECT {names[0]} FROM {table}" for table, names in columns.items())
    return [key for (key,) in connection.execute(keys)]


def behind(keys: Iterable[str], last: int = 0, digits: int = 4) -> tuple[int, int]:
    """A counter and its digits, behind those of these keys too."""
    numbers = re.findall(r"\d+$", "\n".join(keys), re.MULTILINE)
    return max([last, *map(int, numbers)]), max([digits, *map(len, numbers)])


def check(state: State, opened: sqlite3.Connection, own: bytes) -> None:
    """ValueError where the state that was opened is not like the world's own database, or its caller is nobody."""
    if time(state.now, "datetime") != state.now:
        raise ValueError(f"the clock {state.now!r} is not of the form YYYY-MM-DD HH:MM:SS")
    tables, found = origin(own).columns, origin(state.database).columns
    for table, columns in tables.items():
        lacks = sorted(set(columns) - set(found.get(table, ())))
        if lacks:
            raise ValueError(f"the state is of another world: its table {table!r} lacks {', '.join(lacks)}")
    if state.caller is not None and state.caller not in held(opened, tables):
        raise ValueError(f"the caller {state.caller!r} is nobody in this state; give the id of a person in it")


def apply(connection: sqlite3.Connection, columns: Mapping[str, list[str]], change: Row) -> None:
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


def transfer_to_human(
    db: Session,
    *,
    reason: Annotated[
        Literal["policy", "no_tool", "cannot_verify", "user_request"],
        "Why: a rule forbids the request, no tool can do it, the user could not be identified, "
        "or the user asked for a human.",
    ],
    rule: Annotated[str | None, "The number of the rule that forbids the request, such as R7."] = None,
    summary: Annotated[str, "What the user wants and what was done so far."],
) -> Row:
    """Hand the conversation over to a human colleague. It ends the conversation."""
    db.ended = True
    return {"status": "transferred"}
