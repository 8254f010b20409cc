"""One isolated, resettable copy of a world's state, with a clock, a caller and an id counter.

A call succeeds whole or leaves no trace; whatever goes wrong comes back as an error in its result, as data.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from skillweave.errors import WorldError
from skillweave.schema.call import TRANSFER, Call, CallResult, ToolError
from skillweave.schema.change import RowChange
from skillweave.schema.entity import Comparison
from skillweave.schema.record import Json, Row
from skillweave.world import diff, interpreter
from skillweave.world.authorizer import LOG_TABLE
from skillweave.world.ids import Counter
from skillweave.world.tools import TRANSFER_TOOL, Definition
from skillweave.world.values import ArgumentError, Bound, bind

if TYPE_CHECKING:
    from skillweave.world.world import World


class Session(Protocol):
    """What agents, replays and checks use. The contract makes one in process; an MCP server makes one elsewhere."""

    @property
    def tools(self) -> list[Definition]:
        """OpenAI tool definitions of what is offered."""

    @property
    def now(self) -> str:
        """The clock; it stands still."""

    @property
    def caller(self) -> str | None:
        """Who is signed in."""

    @property
    def results(self) -> list[CallResult]:
        """Every call so far, those that failed too."""

    @property
    def minted(self) -> list[str]:
        """Ids that this session's calls minted, in order."""

    @property
    def transfer(self) -> dict[str, Json] | None:
        """The arguments of the transfer that ended the session."""

    @property
    def defects(self) -> list[str]:
        """What went wrong in calls that answered `world_defect`."""

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool."""

    def diff(self) -> list[RowChange]:
        """Row changes since the start, with the ids as they are."""

    def comparison(self, table: str, column: str) -> Comparison:
        """How scores compare a column."""

    def close(self) -> None:
        """Give the state up. A closed session answers nothing."""


class _Mark(NamedTuple):
    calls: int
    minted: int
    defects: int
    counter: Counter
    caller: str | None
    transfer: dict[str, Json] | None


class ContractSession:
    """A session that the contract runs in process. Made by `World.session`."""

    def __init__(
        self,
        world: "World",
        connection: sqlite3.Connection,
        *,
        caller: str | None,
        now: str,
        patch: Sequence[RowChange] = (),
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.world = world
        self.now = now
        self.caller = caller
        self.results: list[CallResult] = []
        self.minted: list[str] = []
        self.defects: list[str] = []
        self.transfer: dict[str, Json] | None = None
        signed_in = frozenset(tool.name for tool in world.blueprint.tools if tool.kind == "auth" and caller is not None)
        self._hidden = hidden | signed_in
        self._connection: sqlite3.Connection | None = connection
        self._marks: list[_Mark] = []
        self._patched: dict[tuple[str, str], Row | None] = {}
        self._counter = world.counter
        connection.execute("BEGIN")
        if patch:
            self._apply(patch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the state up. A closed session answers nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self.world.take_back(connection)

    @property
    def tools(self) -> list[Definition]:
        """OpenAI tool definitions of what is offered."""
        return [tool for tool in self.world.tools if _name(tool) not in self._hidden]

    def comparison(self, table: str, column: str) -> Comparison:
        """How scores compare a column."""
        return self.world.comparison(table, column)

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key."""
        return self.world.rows(self._open, table)

    def query(self, sql: str, bindings: Mapping[str, Bound] | None = None) -> list[Row]:
        """The rows of a SELECT, for the engine: nothing written, not part of the session's record."""
        cursor = self._open.execute(sql, {**(bindings or {})})
        if cursor.description is None:
            raise WorldError(f"a session's query must be a SELECT, not {sql!r}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def execute(self, sql: str, bindings: Mapping[str, Bound] | None = None) -> int:
        """Run an INSERT, UPDATE or DELETE for the engine (an event of the back office); how many rows changed.

        It is part of the difference, and of no call. sqlite3.Error leaves the state as it was.
        """
        return interpreter.changed_by(self._open, sql, bindings or {})

    def peek(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """What a call would give; it leaves no trace in state or record."""
        mark = self.mark()
        result = self.call(tool, arguments)
        self.forget(mark)
        return result

    def forget(self, mark: int) -> None:
        """Be as at that mark, and give it up."""
        self.undo(mark)
        self._open.execute(f"RELEASE mark_{mark}")
        del self._marks[mark:]

    def diff(self) -> list[RowChange]:
        """Row changes since the start, sorted by table and key, with the ids as they are."""
        found = []
        for table, key in diff.touched(self._open):
            entity = self.world.entity(table)
            before = self._patched[table, key] if (table, key) in self._patched else self.world.original(table, key)
            change = diff.change_between(entity, key, before, diff.read_row(self._open, entity, key))
            if change is not None:
                found.append(change)
        return found

    def mark(self) -> int:
        """A point to return to."""
        self._open.execute(f"SAVEPOINT mark_{len(self._marks)}")
        self._marks.append(
            _Mark(len(self.results), len(self.minted), len(self.defects), self._counter, self.caller, self.transfer)
        )
        return len(self._marks) - 1

    def undo(self, mark: int) -> None:
        """Be as at that mark, which stays; marks made after it are gone."""
        if not 0 <= mark < len(self._marks):
            raise WorldError(f"no mark {mark!r} in this session; marks go from 0 to {len(self._marks) - 1}")
        self._open.execute(f"ROLLBACK TO mark_{mark}")
        del self._marks[mark + 1 :]
        back = self._marks[mark]
        del self.results[back.calls :]
        del self.minted[back.minted :]
        del self.defects[back.defects :]
        self._counter, self.caller, self.transfer = back.counter, back.caller, back.transfer

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool. Whatever is wrong comes back in the result."""
        call = Call.model_construct(tool=tool, arguments=dict(arguments))
        try:
            result = self._call(call)
        except ArgumentError as fault:
            result = _failed(call, "invalid_arguments", str(fault))
        self.results.append(result)
        return result

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise WorldError(f"this session of {self.world.blueprint.server!r} is closed; open another")
        return self._connection

    def _call(self, call: Call) -> CallResult:
        if self.transfer is not None:
            return _failed(call, "session_ended", "The conversation was handed over; no more calls are possible.")
        if call.tool == TRANSFER and TRANSFER not in self._hidden:
            bind(TRANSFER_TOOL, call.arguments)
            self.transfer = call.arguments
            return CallResult(call=call, ok=True, value={"status": "transferred"})
        if call.tool in self._hidden or not self.world.has_tool(call.tool):
            offered = ", ".join(_name(tool) for tool in self.tools)
            return _failed(call, "unknown_tool", f"There is no tool {call.tool!r}; there are {offered}.")
        compiled = self.world.compiled(call.tool)
        if self.caller is None and compiled.tool.kind != "auth":
            return _failed(call, "not_authenticated", "The user must be identified before this tool can be used.")
        return self._run(call, compiled)

    def _run(self, call: Call, compiled: interpreter.CompiledTool) -> CallResult:
        bindings = bind(compiled.tool, call.arguments)
        bindings["caller"], bindings["now"] = self.caller, self.now
        minted, counter = self._counter.mint(compiled.prefixes)
        bindings.update(zip(compiled.new, minted, strict=True))
        connection = self._open
        self.world.start_steps(connection)
        connection.execute("SAVEPOINT call")
        try:
            outcome = interpreter.run(connection, compiled, bindings)
            error = outcome.error or self._sign_in(compiled, outcome.value)
        except interpreter.Defect as defect:
            connection.execute("ROLLBACK TO call")
            self.defects.append(f"{call.tool}: {defect}")
            error, outcome = _DEFECT, interpreter.Outcome()
        if error is not None:
            connection.execute("ROLLBACK TO call")
        connection.execute("RELEASE call")
        if error is not None:
            return CallResult.model_construct(
                call=call, ok=False, value=None, error=error, verdicts=outcome.verdicts, minted=[], changed=[]
            )
        self._counter = counter
        self.minted.extend(minted)
        return CallResult.model_construct(
            call=call,
            ok=True,
            value=outcome.value,
            error=None,
            verdicts=outcome.verdicts,
            minted=minted,
            changed=outcome.changed,
        )

    def _sign_in(self, compiled: interpreter.CompiledTool, value: Json) -> ToolError | None:
        if compiled.tool.kind != "auth":
            return None
        person = value.get(self.world.blueprint.core.key) if isinstance(value, dict) else None
        if not isinstance(person, str):
            raise interpreter.Defect(f"signing in returned no {self.world.blueprint.core.key}")
        if self.caller is not None and self.caller != person:
            return ToolError(code="already_authenticated", message="Another person is signed in already.")
        self.caller = person
        return None

    def _apply(self, patch: Sequence[RowChange]) -> None:
        connection = self._open
        try:
            connection.execute("SAVEPOINT patch")
            diff.apply(connection, self.world.blueprint, patch)
            connection.execute("RELEASE patch")
        except (sqlite3.Error, WorldError) as error:
            self.close()
            raise WorldError(f"the patch does not fit the world {self.world.blueprint.server!r}: {error}") from error
        for table, key in diff.touched(connection):
            self._patched[table, key] = diff.read_row(connection, self.world.entity(table), key)
        connection.execute(f"DELETE FROM {LOG_TABLE}")
        self._counter = self.world.counted(connection)


_DEFECT = ToolError(code="world_defect", message="The system could not carry this out; nothing was changed.")


def _failed(call: Call, code: str, message: str) -> CallResult:
    error = ToolError(code=code, message=message)
    return CallResult.model_construct(call=call, ok=False, value=None, error=error, verdicts=[], minted=[], changed=[])


def _name(definition: Definition) -> str:
    function = definition["function"]
    return str(function["name"]) if isinstance(function, dict) else ""
