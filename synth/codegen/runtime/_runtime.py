"""What the tools of a generated server stand on: a session's database, clock, ids and sign-in, and the MCP transports.

A call is a transaction: a tool that raises, or a write that changes no row, leaves no trace. What the tools mean is in
the server's own file; nothing of it is known here.
"""

import argparse
import inspect
import json
import math
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

Row = dict[str, Any]
Date = Annotated[str, "date"]
Moment = Annotated[str, "datetime"]
Kind = Literal["auth", "read", "write"]
TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
DAY = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d)"
TIME = r"(?:\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?|\d{4}(?:\d\d)?)"
MOMENT = rf"{DAY}(?:[T ]{TIME}(?:Z|[+-]\d\d:?\d\d)?)?"
MOST_ROWS = 10_000


class Refused(Exception):
    """A call that is not carried out: it answers this error and changes nothing."""

    def __init__(self, code: str, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.error: Row = {"code": code, "message": message, "rule": rule}


class Defect(Exception):
    """A tool cannot keep its promise: the call is undone and answers `world_defect`."""


class Unfit(Exception):
    """A value that a parameter does not take."""


def plain(value: Any, what: str = "must be a string") -> str:
    """A string that SQLite can hold."""
    if not isinstance(value, str):
        raise Unfit(what)
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise Unfit("is not valid text")
    return value


def number(value: Any, kinds: type, what: str) -> Any:
    """A finite number of at most 64 bits, which true and false are not."""
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise Unfit(f"must be {what}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Unfit("must fit in 64 bits")
    if isinstance(value, float) and not math.isfinite(value):
        raise Unfit("must be a finite number")
    return value


def time(value: Any, form: str, what: str, read: Callable[[str], date]) -> str:
    """A date or time in any ISO form, in the form that the database holds: UTC, whole seconds."""
    written = plain(value, f"must be a {what}")
    try:
        found = read(written) if re.fullmatch(form, written, re.ASCII) else None
        if isinstance(found, datetime) and found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise Unfit(f"must be a {what}")
    if isinstance(found, datetime) and found.microsecond:
        raise Unfit(f"must be a {what}, in whole seconds")
    return found.isoformat(sep=" ") if isinstance(found, datetime) else found.isoformat()


def nested(value: Any, kind: type, depth: int = 32) -> Any:
    """An array or object whose parts the database could hold."""
    if not isinstance(value, kind):
        raise Unfit(f"must be an {TYPES[kind]}")
    if not depth:
        raise Unfit("must not be nested deeper than 32 levels")
    for part in [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
        nested(part, object, depth - 1)
    if isinstance(value, str):
        plain(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number(value, object, "")
    return value


def boolean(value: Any) -> bool:
    """True or false, and no number."""
    if not isinstance(value, bool):
        raise Unfit("must be true or false")
    return value


ACCEPT: dict[str, Callable[[Any], Any]] = {
    "string": plain,
    "integer": lambda value: number(value, int, "an integer"),
    "number": lambda value: float(number(value, (int, float), "a number")),  # type: ignore[arg-type]
    "boolean": boolean,
    "date": lambda value: time(value, DAY, "date, YYYY-MM-DD", date.fromisoformat),
    "datetime": lambda value: time(value, MOMENT, "datetime, YYYY-MM-DD HH:MM:SS", datetime.fromisoformat),
    "array": lambda value: nested(value, list),
    "object": lambda value: nested(value, dict),
}


class Parameter(NamedTuple):
    """A parameter of a tool, as the signature of its function declares it."""

    name: str
    type: str
    description: str
    required: bool
    enum: list[Any] | None

    def schema(self) -> Row:
        """Its JSON schema; null and left out are the same."""
        kind = "string" if self.type in ("date", "datetime") else self.type
        found: Row = {"type": kind if self.required else [kind, "null"], "description": self.description}
        if self.enum is not None:
            found["enum"] = self.enum if self.required else [*self.enum, None]
        return {**found, "items": {}} if self.type == "array" else found

    def accept(self, value: Any) -> Any:
        """The value as the function takes it; Refused where it does not fit."""
        if value is None and not self.required:
            return None
        try:
            if value is None:
                raise Refused("invalid_arguments", f"missing argument {self.name!r}")
            accepted = ACCEPT[self.type](value)
            if self.enum is not None and accepted not in self.enum:
                raise Unfit(f"must be one of {', '.join(self.enum)}")
        except Unfit as unfit:
            raise Refused("invalid_arguments", f"argument {self.name!r} {unfit}") from None
        return accepted


def parameter(name: str, declared: Any) -> Parameter:
    """Read `Annotated[<type>, description]`, or `Annotated[<type> | None, description]` of an optional one."""
    base, *notes = get_args(declared)
    required = get_origin(base) is Literal or type(None) not in get_args(base)
    base = base if required else get_args(base)[0]
    if get_origin(base) is Annotated:
        notes = [get_args(base)[1], *notes]
    if get_origin(base) is Literal:
        return Parameter(name, "string", notes[-1], required, list(get_args(base)))
    kind = notes[0] if len(notes) == 2 else TYPES[get_origin(base) or base]
    return Parameter(name, kind, notes[-1], required, None)


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
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def accept(self, arguments: Mapping[str, Any]) -> Row:
        """The arguments as the function takes them; Refused where one is unknown, missing or does not fit."""
        known = [parameter.name for parameter in self.parameters]
        for name in sorted(set(arguments) - set(known)):
            takes = ", ".join(known) or "no arguments"
            raise Refused("invalid_arguments", f"unknown argument {name!r}; {self.name} takes {takes}")
        return {parameter.name: parameter.accept(arguments.get(parameter.name)) for parameter in self.parameters}


class Session:
    """One copy of the state, with its clock, caller and ids. Tools get it as `db`; SQL sees `:caller` and `:now`."""

    def __init__(self, tools: Iterable[Tool], prefixes: Mapping[str, str], state: "State") -> None:
        self.now, self.caller, self.ended, self.minted = state.now, state.caller, False, list[str]()
        hidden = set(state.hidden)
        self.tools = {
            tool.name: tool for tool in tools if tool.name not in hidden and not (tool.kind == "auth" and state.caller)
        }
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.connection.deserialize(state.database)
        foreign = self.connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchall()
        if foreign:
            raise ValueError(f"the database holds the trigger or view {foreign[0][0]!r}; only tables are allowed")
        tables = [name for (name,) in self.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {name: [row[1] for row in self._run(f"PRAGMA table_info({name})", {})] for name in tables}
        for change in state.patch:
            apply(self.connection, columns, change)
        self.connection.execute("PRAGMA foreign_keys = ON")
        self._prefixes, self._last, self._digits = prefixes, 0, 4
        for table, (key, *_) in columns.items():
            for (value,) in self._run(f"SELECT {key} FROM {table}", {}):
                digits = re.search(r"\d+$", str(value))
                self._last = max(self._last, int(digits.group()) if digits else 0)
                self._digits = max(self._digits, len(digits.group()) if digits else 0)

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
            raise Refused("session_ended", "The conversation was handed over; no more calls are possible.")
        tool = self.tools.get(name)
        if tool is None:
            raise Refused("unknown_tool", f"There is no tool {name!r}; there are {', '.join(self.tools)}.")
        if self.caller is None and tool.kind != "auth" and name != TRANSFER.name:
            raise Refused("not_authenticated", "The user must be identified before this tool can be used.")
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
            name: json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, list | dict) else value
            for name, value in bound.items()
        }
        return self.connection.execute(sql, {**values, "caller": self.caller, "now": self.now})
