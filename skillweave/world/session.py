"""One isolated, resettable copy of a world's state, with a clock, a caller and an id counter.

A call succeeds whole or leaves no trace; whatever goes wrong comes back as an error in its result, as data.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import DomainRole
from skillweave.schema.call import DECLINE, TRANSFER, Call, CallResult, RowChange, RuleVerdict, ToolError
from skillweave.schema.entity import ColumnComparison
from skillweave.schema.record import Json, Row
from skillweave.world import interpreter
from skillweave.world.arguments import ArgumentError, BoundValue, bind, by_name, is_clock
from skillweave.world.database import digest
from skillweave.world.ids import IdCounter
from skillweave.world.noise import ToolNoise
from skillweave.world.pool import DatabaseCopy
from skillweave.world.state import State
from skillweave.world.tools import ToolDefinition, name_of

if TYPE_CHECKING:
    from skillweave.world.world import World


class Session(Protocol):
    """What agents, replays and checks use. The contract makes one in process; an MCP server makes one elsewhere."""

    @property
    def tools(self) -> list[ToolDefinition]:
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
    def declined(self) -> list[str]:
        """Rules by which requests were recorded as declined, in order."""

    @property
    def defects(self) -> list[str]:
        """What went wrong in calls that answered `world_defect`."""

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool."""

    def diff(self) -> list[RowChange]:
        """Row changes since the start, with the ids as they are."""

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column."""

    def close(self) -> None:
        """Give the state up. A closed session answers nothing."""


class _Mark(NamedTuple):
    calls: int
    minted: int
    defects: int
    counter: IdCounter
    caller: str | None
    now: str
    transfer: dict[str, Json] | None
    declined: int


class ContractSession:
    """A session that the contract runs in process. Made by `World.session`.

    The engine may set `now` and `caller` between calls (history moves both); agents cannot.
    """

    def __init__(
        self,
        world: "World",
        copy: DatabaseCopy,
        *,
        caller: str | None,
        now: str,
        patch: Sequence[RowChange] = (),
        hidden: frozenset[str] = frozenset(),
        faults: ToolNoise | None = None,
    ) -> None:
        self.world = world
        self.now = now
        self.caller = caller
        self.results: list[CallResult] = []
        self.minted: list[str] = []
        self.defects: list[str] = []
        self.transfer: dict[str, Json] | None = None
        self.declined: list[str] = []
        self._faults = faults
        self._hidden = hidden if caller is None else hidden | world.sign_ins
        self._marks: list[_Mark] = []
        self._state = State(world, copy, patch)
        fault = self._fault_at_start()
        if fault:
            self.close()
            raise WorldError(fault)
        self._counter = self._state.counter()

    def _fault_at_start(self) -> str | None:
        if not is_clock(self.now):
            return f"the session's clock {self.now!r} is not a time of the form YYYY-MM-DD HH:MM:SS; give it as that"
        people = self.world.people
        if self.caller is not None and not self._state.has(people.table, str(self.caller)):
            return f"the caller {self.caller!r} is no {people.key} in the data; give one that is, or None to sign in"
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the state up. A closed session answers nothing."""
        self._state.close()

    @property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI tool definitions of what is offered."""
        return [tool for tool in self.world.tools if name_of(tool) not in self._hidden]

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column."""
        return self.world.comparison(table, column)

    def account(self, tool: str) -> str | None:
        """The key by which a tool's own domain knows the caller; None for nobody, or who has no account there."""
        return None if self.caller is None else self._state.account(self.world.role(tool).account, self.caller)

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key."""
        return self._state.rows(table)

    def digest(self) -> str:
        """sha256 of all rows as they are now."""
        return digest(self._state.connection, self.world.blueprint)

    def query(self, sql: str, bindings: Mapping[str, BoundValue] | None = None) -> list[Row]:
        """The rows of a SELECT, for the engine: of no call. sqlite3.Error where it fails."""
        return self._state.query(sql, bindings or {})

    def execute(self, sql: str, bindings: Mapping[str, BoundValue] | None = None) -> int:
        """Run an INSERT, UPDATE or DELETE for the engine (an event of the back office); how many rows changed.

        It is part of the difference, and of no call. sqlite3.Error leaves the state as it was.
        """
        return self._state.execute(sql, bindings or {})

    def diff(self) -> list[RowChange]:
        """Row changes since the start, sorted by table and key, with the ids as they are."""
        return self._state.diff()

    def mark(self) -> int:
        """A point to return to."""
        back = _Mark(
            len(self.results),
            len(self.minted),
            len(self.defects),
            self._counter,
            self.caller,
            self.now,
            self.transfer,
            len(self.declined),
        )
        self._marks.append(back)
        return self._state.mark()

    def undo(self, mark: int) -> None:
        """Be as at that mark, which stays; marks made after it are gone."""
        self._state.undo(mark)
        del self._marks[mark + 1 :]
        back = self._marks[mark]
        del self.results[back.calls :]
        del self.minted[back.minted :]
        del self.defects[back.defects :]
        del self.declined[back.declined :]
        self._counter, self.caller, self.now, self.transfer = back.counter, back.caller, back.now, back.transfer

    def peek(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """What a call would answer now; nothing of it stays."""
        mark = self.mark()
        result = self.call(tool, arguments)
        self.forget(mark)
        return result

    def forget(self, mark: int) -> None:
        """Be as at that mark, which is gone then too."""
        self.undo(mark)
        self._state.forget(mark)
        del self._marks[mark:]

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool. Whatever is wrong comes back in the result."""
        call = Call.model_construct(tool=_name_in(tool), arguments={})
        try:
            call.arguments.update(by_name(arguments))
            result = self._answer(call)
        except ArgumentError as fault:
            result = _failed(call, ToolError(code="invalid_arguments", message=str(fault)))
        self.results.append(result)
        return result

    def _answer(self, call: Call) -> CallResult:
        if self.transfer is not None:
            return _failed(call, _ENDED)
        own = self.world.session_tools.get(call.tool)
        if own is not None and call.tool not in self._hidden:
            bind(own, call.arguments)
            return self._note(call)
        if call.tool in self._hidden or not self.world.has_tool(call.tool):
            offered = ", ".join(name_of(tool) for tool in self.tools)
            return _failed(
                call, ToolError(code="unknown_tool", message=f"There is no tool {call.tool!r}; there are {offered}.")
            )
        compiled = self.world.compiled(call.tool)
        if self.caller is None and compiled.tool.kind != "auth":
            return _failed(call, _NOT_AUTHENTICATED)
        if self._faults is not None and compiled.tool.kind != "auth":
            return self._run_or_befallen(call, compiled, self._faults)
        return self._run(call, compiled)

    def _note(self, call: Call) -> CallResult:
        """Record that a request is declined, or that the conversation is handed over."""
        if call.tool == DECLINE:
            self.declined.append(str(call.arguments["rule"]))
            return CallResult(call=call, ok=True, value={"status": "recorded"})
        assert call.tool == TRANSFER
        self.transfer = call.arguments
        return CallResult(call=call, ok=True, value={"status": "transferred"})

    def _run_or_befallen(self, call: Call, compiled: interpreter.CompiledTool, faults: ToolNoise) -> CallResult:
        befalling = faults.befalling(call, self.results)
        if befalling is None:
            return self._run(call, compiled)
        if befalling.error is not None:
            return _failed(call, befalling.error)
        return befalling.on(self._run(call, compiled))

    def _run(self, call: Call, compiled: interpreter.CompiledTool) -> CallResult:
        bindings = bind(compiled.tool, call.arguments)
        account = self.account(call.tool)
        if account is None and compiled.tool.kind != "auth":
            return _failed(call, _no_account(self.world.role(call.tool)))
        bindings["caller"], bindings["person"], bindings["now"] = account, self.caller, self.now
        minted, counter = self._counter.mint(compiled.prefixes)
        bindings.update(zip(compiled.new, minted, strict=True))
        outcome = self._attempt(call, compiled, bindings)
        if outcome.error is not None:
            return _failed(call, outcome.error, outcome.verdicts)
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

    def _attempt(
        self, call: Call, compiled: interpreter.CompiledTool, bindings: Mapping[str, BoundValue]
    ) -> interpreter.CallOutcome:
        """Run the tool; what an error or a defect has left is undone."""
        self._state.begin(writes=bool(compiled.effects))
        done = False
        try:
            outcome = interpreter.run(self._state.connection, compiled, bindings)
            if outcome.error is None and compiled.tool.kind == "auth":
                outcome.error = self._sign_in(call.tool, outcome.value)
            done = outcome.error is None
        except interpreter.DefectError as defect:
            self.defects.append(f"{call.tool}: {defect}")
            outcome = interpreter.CallOutcome(error=_DEFECT)
        finally:
            if done:
                self._state.keep(compiled.effects, bindings)
            else:
                self._state.drop()
        return outcome

    def _sign_in(self, tool: str, value: Json) -> ToolError | None:
        role = self.world.role(tool)
        account = value.get(role.key) if isinstance(value, dict) else None
        if not isinstance(account, str):
            raise interpreter.DefectError(f"signing in returned no {role.key}")
        person = self._state.person(role.account, account)
        if person is None:
            raise interpreter.DefectError(f"signing in returned the {role.key} {account!r}, which nobody has")
        if self.caller is not None and self.caller != person:
            return _OTHER_PERSON
        self.caller = person
        return None


_DEFECT = ToolError(code="world_defect", message="The system could not carry this out; nothing was changed.")
_ENDED = ToolError(code="session_ended", message="The conversation was handed over; no more calls are possible.")
_NOT_AUTHENTICATED = ToolError(
    code="not_authenticated", message="The user must be identified before this tool can be used."
)
_OTHER_PERSON = ToolError(code="already_authenticated", message="Another person is signed in already.")


def _no_account(role: DomainRole) -> ToolError:
    return ToolError(code="no_account_here", message=f"The user has no account with {role.title}.")


def _failed(call: Call, error: ToolError, verdicts: Sequence[RuleVerdict] = ()) -> CallResult:
    return CallResult.model_construct(
        call=call, ok=False, value=None, error=error, verdicts=list(verdicts), minted=[], changed=[]
    )


def _name_in(tool: object) -> str:
    """The name as it was given; of what is no text, a name that no tool can have."""
    return tool if isinstance(tool, str) else f"<{type(tool).__name__}>"
