"""A session: one copy of a world's state, with its clock, caller and ids, and the tools that work on it.

A call is a transaction: a tool that raises, or a write that changes no row, leaves no trace.
"""

import inspect
import json
import math
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, get_type_hints

from _arguments import Bindings, Defect, Refused, Row, parameter  # type: ignore[import-not-found]
from _noise import PlantedFaults  # type: ignore[import-not-found]
from _people import People  # type: ignore[import-not-found]
from _state import ServerState, all_keys, counter_after, open_copy, outline_of  # type: ignore[import-not-found]

Kind = Literal["auth", "read", "write"]
MOST_ROWS = 10_000


class ServerTool:
    """A function of the server's file: its first parameter is the session, the others are the tool's."""

    def __init__(
        self, function: Callable[..., Any], kind: Kind, description: str | None, member: str | None = None
    ) -> None:
        hints = get_type_hints(function, include_extras=True)
        self.name, self.kind, self.function, self.member = function.__name__, kind, function, member
        paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
        self.description = " ".join(paragraph.split()) if description is None else description
        self.parameters = [parameter(name, hints[name]) for name in list(inspect.signature(function).parameters)[1:]]

    def schema(self) -> Row:
        """The JSON schema of its arguments."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        return {"type": "object", "properties": properties, "required": required}

    def accept(self, arguments: Mapping[str, Any]) -> Row:
        """The arguments as the function takes them. Refused if one is unknown, missing or does not fit."""
        known = [parameter.name for parameter in self.parameters]
        for name in sorted(set(arguments) - set(known)):
            takes = ", ".join(known) or "no arguments"
            raise Refused(
                "invalid_arguments",
                f"unknown argument {name!r}; {self.name} takes {takes}",
            )
        return {parameter.name: parameter.accept(arguments.get(parameter.name)) for parameter in self.parameters}


class ServerSession:
    """One copy of the state, with its clock, caller and ids. Tools get it as `db`; SQL sees `:caller` and `:now`.

    In a world of several domains `person` (`:person`) is who is signed in, and `caller` is that person's key in the
    domain whose tool is called. Elsewhere the two are the same.
    """

    def __init__(
        self, tools: Iterable[ServerTool], prefixes: Mapping[str, str], state: ServerState, people: People | None = None
    ) -> None:
        self.now, self.person, self.caller, self.ended = state.now, state.caller, state.caller, False
        self.minted: list[str] = []
        self.fault = ""  # why the last call was a world_defect; empty if it was none
        self._people = people
        self._member: str | None = None
        self._planted = PlantedFaults(state.noise) if state.noise else None
        hidden = set(state.hidden)
        self.tools = {
            tool.name: tool for tool in tools if tool.name not in hidden and not (tool.kind == "auth" and state.caller)
        }
        self.connection: sqlite3.Connection = state.opened or open_copy(state, people)
        columns, last, digits = outline_of(state.database)
        self._prefixes = prefixes
        if any(change["op"] == "delete" for change in state.patch):
            self._last, self._digits = counter_after(all_keys(self.connection, columns))
        else:
            inserted = [
                str(change["after"][columns[change["table"]][0]]) for change in state.patch if change["op"] == "insert"
            ]
            self._last, self._digits = counter_after(inserted, last, digits)

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

    def all(self, sql: str, /, booleans: Iterable[str] = (), **bound: Any) -> list[Row]:
        """All rows; columns named in `booleans` come back as true or false."""
        cursor = self._run(sql, bound)
        names = [column[0] for column in cursor.description]
        unknown = [booleans] if isinstance(booleans, str) else [name for name in booleans if name not in names]
        if unknown:
            raise Defect(f"booleans lists columns of the result ({', '.join(names)}), not {unknown[0]!r}")
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(MOST_ROWS + 1)]
        if len(rows) > MOST_ROWS:
            raise Defect(f"the result has more than {MOST_ROWS} rows")
        for row in rows:
            for name, value in row.items():
                if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
                    raise Defect(f"column {name!r} holds {value!r}")
            row.update({name: bool(row[name]) for name in booleans if row[name] is not None})
        return rows

    def only(self, sql: str, /, booleans: Iterable[str] = (), **bound: Any) -> Row:
        """The row of a query that must return exactly one."""
        rows = self.all(sql, booleans, **bound)
        if len(rows) != 1:
            raise Defect(f"{len(rows)} rows where one was promised")
        return rows[0]

    def new_id(self, table: str) -> str:
        """An id that no row has: the table's prefix and the session's counter."""
        if table not in self._prefixes:
            raise Defect(f"Server(ids=...) has no table {table!r}; it has {', '.join(self._prefixes) or 'none'}")
        self._last += 1
        self.minted.append(f"{self._prefixes[table]}-{self._last:0{self._digits}d}")
        return self.minted[-1]

    def sign_in(self, caller: str) -> None:
        """Sign in the person who has this key in the tool's domain. A session has one person."""
        person = caller
        if self._people is not None:
            person = self._people.person(self.connection, self._member, caller)
        if person is None:
            raise Defect(f"nobody has the account {caller!r}")
        if self.person not in (None, person):
            raise Refused("already_authenticated", "Another person is signed in already.")
        self.person, self.caller = person, caller

    def offered(self, member: str | None = None) -> dict[str, ServerTool]:
        """The tools by name; of a member, its own and those of no member."""
        return {name: tool for name, tool in self.tools.items() if member is None or tool.member in (None, member)}

    def call(self, name: str, arguments: Mapping[str, Any], member: str | None = None) -> Row:
        """Call a tool: `{"ok": true, "value": ...}` or `{"ok": false, "error": {code, message, rule}}`."""
        answer = self._answer(name, arguments, member)
        if self._planted is not None:
            wrote = name in self.tools and self.tools[name].kind == "write"
            self._planted.note(name, arguments, answer, wrote=wrote)
        return answer

    def _answer(self, name: str, arguments: Mapping[str, Any], member: str | None) -> Row:
        person, last, minted = self.person, self._last, len(self.minted)
        self.fault = ""
        try:
            return {"ok": True, "value": self._call(name, arguments, self.offered(member))}
        except Refused as refused:
            error = refused.error
        except Exception as fault:
            self.fault = f"{_line(fault, self.tools[name])}{type(fault).__name__}: {fault}"
            print(f"world_defect in {name}: {self.fault}", file=sys.stderr)
            message = "The system could not carry this out; nothing was changed."
            error = {"code": "world_defect", "message": message, "rule": None}
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.person, self._last = person, last
        del self.minted[minted:]
        return {"ok": False, "error": error}

    def _call(self, name: str, arguments: Mapping[str, Any], tools: Mapping[str, ServerTool]) -> Any:
        if self.ended:
            raise Refused(
                "session_ended",
                "The conversation was handed over; no more calls are possible.",
            )
        tool = tools.get(name)
        if tool is None:
            raise Refused(
                "unknown_tool",
                f"There is no tool {name!r}; there are {', '.join(tools)}.",
            )
        is_exempt = tool.kind == "auth" or tool.function in SESSION_TOOLS
        if self.person is None and not is_exempt:
            raise Refused(
                "not_authenticated",
                "The user must be identified before this tool can be used.",
            )
        fault = None if is_exempt or self._planted is None else self._planted.fault_for(name, arguments)
        if fault is None:
            return self._carry_out(tool, arguments)
        fault.refuse()
        return fault.changed(self._carry_out(tool, arguments), wrote=tool.kind == "write")

    def _carry_out(self, tool: ServerTool, arguments: Mapping[str, Any]) -> Any:
        accepted = tool.accept(arguments)
        self._set_caller(tool)
        self.connection.execute("BEGIN")
        before = self.connection.total_changes
        value = tool.function(self, **accepted)
        if tool.kind == "write" and self.connection.total_changes == before:
            raise Defect("the write changed no row")
        self.connection.execute("COMMIT")
        return value

    def _set_caller(self, tool: ServerTool) -> None:
        """Set `caller` to the key by which the tool's domain knows who is signed in."""
        self._member, self.caller = tool.member, self.person
        if self._people is not None and tool.member is not None and self.person is not None:
            self.caller = self._people.account(self.connection, tool.member, self.person)
            if self.caller is None and tool.kind != "auth":
                title = self._people.members[tool.member].title
                raise Refused("no_account_here", f"The user has no account with {title}.")

    def _run(self, sql: str, bound: Mapping[str, Any]) -> sqlite3.Cursor:
        values = {
            name: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if isinstance(value, list | dict)
            else value
            for name, value in bound.items()
        }
        bindings = Bindings({**values, "caller": self.caller, "person": self.person, "now": self.now})
        cursor = self.connection.execute(sql, bindings)
        bindings.refuse_others(bound)
        return cursor


def _line(fault: Exception, tool: ServerTool) -> str:
    """The line of the tool's file at which a call failed."""
    file = tool.function.__code__.co_filename
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == file]
    return f"line {lines[-1]}: " if lines else ""


def decline_request(
    db: ServerSession,
    *,
    rule: Annotated[str, "The number of the rule that decides it."],
    note: Annotated[str | None, "What was asked for, in a few words."] = None,
) -> Row:
    """Record that a request is declined and the rule that decides it. Tell the user as well. It changes nothing and
    does not end the conversation."""
    return {"status": "recorded"}


def transfer_to_human(
    db: ServerSession,
    *,
    reason: Annotated[
        Literal["policy", "no_tool", "cannot_verify", "user_request"],
        "Why: a rule forbids the request, no tool can do it, the user could not be identified, "
        "or the user asked for a human.",
    ],
    rule: Annotated[str | None, "With the reason policy: the number of the rule that forbids the request."] = None,
    summary: Annotated[str, "What the user wants and what was done so far."],
) -> Row:
    """Hand the conversation over to a human colleague. It ends the conversation."""
    db.ended = True
    return {"status": "transferred"}


SESSION_TOOLS = (decline_request, transfer_to_human)
"""Tools of the session itself: anybody may call them, and they never fail by a planted fault."""


def session_tools(rules: Iterable[str]) -> list[ServerTool]:
    """The session's own tools; their argument `rule` is one of these."""
    tools = [ServerTool(function, "read", None) for function in SESSION_TOOLS]
    for tool in tools:
        tool.parameters = [
            parameter._replace(enum=list(rules)) if parameter.name == "rule" else parameter
            for parameter in tool.parameters
        ]
    return tools
