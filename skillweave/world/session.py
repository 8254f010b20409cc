"""A session: an isolated copy of a world's state with a clock, a caller and an id counter. It can return to a mark.

A failed call returns an error in its result and never raises.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from skillweave.base.errors import WorldError
from skillweave.schema.contract import DECLINE, TRANSFER, Call, CallResult, RowChange, ToolError
from skillweave.schema.entity import ColumnComparison
from skillweave.schema.record import Json, Row
from skillweave.world.arguments import ArgumentError, BoundValue, bind, by_name, is_clock
from skillweave.world.canonical import IdCounter, canonical
from skillweave.world.database import digest
from skillweave.world.execution import CallContext, CallExecution, call_key, execute_call, failed, noted
from skillweave.world.interpreter import CompiledTool
from skillweave.world.noise import ToolNoise
from skillweave.world.prepared import PreparedWorld
from skillweave.world.state import State
from skillweave.world.tools import ToolDefinition, name_of

_ENDED = ToolError(code="session_ended", message="The conversation was handed over; no more calls are possible.")
_NOT_AUTHENTICATED = ToolError(
    code="not_authenticated", message="The user must be identified before this tool can be used."
)


class Session(Protocol):
    """The session that agents, replays and checks use: a `ContractSession` in this process, or an MCP server."""

    @property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI definitions of the offered tools."""

    @property
    def now(self) -> str:
        """The clock, `YYYY-MM-DD HH:MM:SS`, which does not advance."""

    @property
    def caller(self) -> str | None:
        """Key of the person who is signed in."""

    @property
    def results(self) -> list[CallResult]:
        """The results of all calls so far, including failed ones."""

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
        """The defects behind calls that returned `world_defect`."""

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool. Every failure is an error in the result."""

    def diff(self) -> list[RowChange]:
        """Row changes since the start, with the minted ids."""

    def canonical(self) -> list[RowChange]:
        """Row changes since the start in canonical form, in which sessions with different ids compare equal."""

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column."""

    def close(self) -> None:
        """Release the state. A closed session answers no calls."""


class _Mark(NamedTuple):
    """The state of a session at a mark, except its rows."""

    calls: int
    minted: int
    defects: int
    declined: int
    counter: IdCounter
    caller: str | None
    now: str
    transfer: dict[str, Json] | None


class ContractSession:
    """A session whose calls the contract executes in this process. `World.session` opens one.

    Code of this project may set `now` and `caller` between calls, as a simulated history does; agents cannot.
    """

    def __init__(
        self,
        state: State,
        *,
        caller: str | None,
        now: str,
        hidden: frozenset[str] = frozenset(),
        noise: ToolNoise | None = None,
    ) -> None:
        """Open a session.

        Args:
            state: The rows at the start; closing the session closes them.
            caller: Key of the person who is signed in; None if nobody is.
            now: The clock, `YYYY-MM-DD HH:MM:SS`.
            hidden: Names of tools that the session does not offer.
            noise: Faults planted in the tools' results.

        Raises:
            WorldError: The caller is not in the data, or the clock has another form.
        """
        self.world: PreparedWorld = state.world
        self.now = now
        self.caller = caller
        self.results: list[CallResult] = []
        self.minted: list[str] = []
        self.defects: list[str] = []
        self.transfer: dict[str, Json] | None = None
        self.declined: list[str] = []
        self._noise = noise
        self._hidden = hidden if caller is None else hidden | state.world.sign_ins
        self._marks: list[_Mark] = []
        self._state = state
        fault = self._fault_at_start()
        if fault:
            self.close()
            raise WorldError(fault)
        self._counter = self._state.counter()

    def _fault_at_start(self) -> str | None:
        if not is_clock(self.now):
            return f"the session's clock {self.now!r} is not a time of the form YYYY-MM-DD HH:MM:SS; give it as that"
        if self.caller is not None and not self._state.began_with(str(self.caller)):
            key = self.world.people.key
            return f"the caller {self.caller!r} is no {key} in the data; give one that is, or None to sign in"
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the state. A closed session answers no calls."""
        self._state.close()

    @property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI definitions of the offered tools."""
        return [tool for name, tool in self.world.definitions.items() if name not in self._hidden]

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column."""
        return self.world.comparison(table, column)

    def account(self, tool: str) -> str | None:
        """The caller's key in the domain of a tool; None if nobody is signed in, or has no account there."""
        return None if self.caller is None else self._state.account(self.world.role(tool).account, self.caller)

    def rows(self, table: str) -> list[Row]:
        """All rows of a table, sorted by key. Raises WorldError if there is no such table."""
        return self._state.rows(table)

    def digest(self) -> str:
        """sha256 of all rows in their present state."""
        return digest(self._state.connection, self.world.blueprint)

    def query(self, sql: str, bindings: Mapping[str, BoundValue] | None = None) -> list[Row]:
        """Read rows without a call.

        Args:
            sql: A SELECT.
            bindings: Values of its `:name` bindings.

        Raises:
            WorldError: The statement is no SELECT.
            sqlite3.Error: The statement fails.
        """
        return self._state.query(sql, bindings or {})

    def execute(self, sql: str, bindings: Mapping[str, BoundValue] | None = None) -> int:
        """Change rows without a call, as an event of the back office does. The change appears in `diff`.

        Args:
            sql: An INSERT, UPDATE or DELETE.
            bindings: Values of its `:name` bindings.

        Returns:
            How many rows changed.

        Raises:
            sqlite3.Error: The statement fails; the rows stay unchanged.
        """
        return self._state.execute(sql, bindings or {})

    def diff(self) -> list[RowChange]:
        """Row changes since the start, sorted by table and key, with the minted ids."""
        return self._state.diff()

    def canonical(self) -> list[RowChange]:
        """Row changes since the start in canonical form, in which sessions with different ids compare equal.

        Sessions that share what they find out, and are in the same state, get the same list.
        """
        return self._state.recall(("canonical", *self.minted), lambda: canonical(self.diff(), self.minted), len)

    def mark(self) -> int:
        """Set a mark, and return its number for `undo` and `forget`."""
        self._marks.append(
            _Mark(
                len(self.results),
                len(self.minted),
                len(self.defects),
                len(self.declined),
                self._counter,
                self.caller,
                self.now,
                self.transfer,
            )
        )
        return self._state.mark()

    def undo(self, mark: int) -> None:
        """Return to a mark. The mark stays; marks set after it are gone. Raises WorldError if there is no such mark."""
        self._state.undo(mark)
        del self._marks[mark + 1 :]
        back = self._marks[mark]
        del self.results[back.calls :]
        del self.minted[back.minted :]
        del self.defects[back.defects :]
        del self.declined[back.declined :]
        self._counter, self.caller, self.now, self.transfer = back.counter, back.caller, back.now, back.transfer

    def forget(self, mark: int) -> None:
        """Return to a mark and remove it. Raises WorldError if there is no such mark."""
        self.undo(mark)
        self._state.forget(mark)
        del self._marks[mark:]

    def peek(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """The result that a call would have now; the session stays unchanged."""
        mark = self.mark()
        result = self.call(tool, arguments)
        self.forget(mark)
        return result

    def call(self, tool: str, arguments: Mapping[str, Json]) -> CallResult:
        """Call a tool. Every failure is an error in the result.

        Args:
            tool: The name of a tool of the world or of the session.
            arguments: Values by parameter.
        """
        known = self._known_result(tool, arguments) if self._state.is_shared else None
        if known is not None:
            self.results.append(known)
            return known
        call = Call.model_construct(tool=_name_in(tool), arguments={})
        try:
            call.arguments.update(by_name(arguments))
            result = self._answer(call)
        except ArgumentError as fault:
            result = failed(call, ToolError(code="invalid_arguments", message=str(fault)))
        self.results.append(result)
        return result

    def _known_result(self, tool: str, arguments: Mapping[str, Json]) -> CallResult | None:
        """The result of a call that another session has made in this state; None if it is to be found out."""
        if self._noise is not None or self.transfer is not None:
            return None
        if type(tool) is not str or tool in self._hidden or not isinstance(arguments, (dict, Mapping)):
            return None
        executed = self._state.known_step(call_key(tool, arguments, self._context))
        return None if executed is None else self._after(executed)

    @property
    def _context(self) -> CallContext:
        return CallContext(self.caller, self.now, self._counter)

    def _answer(self, call: Call) -> CallResult:
        if self.transfer is not None:
            return failed(call, _ENDED)
        is_offered = call.tool not in self._hidden
        own = self.world.session_tools.get(call.tool)
        if own is not None and is_offered:
            bind(own, call.arguments)
            return self._note(call)
        if not is_offered or not self.world.has_tool(call.tool):
            offered = ", ".join(name_of(tool) for tool in self.tools)
            return failed(
                call, ToolError(code="unknown_tool", message=f"There is no tool {call.tool!r}; there are {offered}.")
            )
        compiled = self.world.compiled(call.tool)
        is_sign_in = compiled.tool.kind == "auth"
        if self.caller is None and not is_sign_in:
            return failed(call, _NOT_AUTHENTICATED)
        if self._noise is None or is_sign_in:
            return self._execute(call, compiled)
        return self._with_noise(call, compiled, self._noise)

    def _note(self, call: Call) -> CallResult:
        """Record that the agent declines a request or hands the conversation over."""
        if call.tool == DECLINE:
            self.declined.append(str(call.arguments["rule"]))
            return noted(call, "recorded")
        assert call.tool == TRANSFER
        self.transfer = call.arguments
        return noted(call, "transferred")

    def _with_noise(self, call: Call, compiled: CompiledTool, noise: ToolNoise) -> CallResult:
        """Execute a call, with its planted fault if it has one."""
        fault = noise.fault_for(call, self.results)
        if fault is None:
            return self._execute(call, compiled)
        if fault.error is not None:
            return failed(call, fault.error)
        return fault.on(self._execute(call, compiled))

    def _execute(self, call: Call, compiled: CompiledTool) -> CallResult:
        return self._after(execute_call(self._state, compiled, call, self._context))

    def _after(self, executed: CallExecution) -> CallResult:
        """Take over what a call has changed in the session."""
        self.caller, self._counter = executed.context.caller, executed.context.counter
        self.minted += executed.result.minted
        if executed.defect is not None:
            self.defects.append(executed.defect)
        return executed.result


def _name_in(tool: object) -> str:
    """The given name; if it is no text, a name that no tool can have."""
    return tool if isinstance(tool, str) else f"<{type(tool).__name__}>"
