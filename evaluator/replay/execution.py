"""Execution: calls carried out in a session, each with what it changed."""

from collections.abc import Sequence
from typing import NamedTuple

from skillweave.schema.contract import Call, CallResult, RowChange, ToolError
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message
from skillweave.world.diff import delta
from skillweave.world.replay import rebound
from skillweave.world.session import Session
from skillweave.world.tools import name_of, plain_name, read_call


class ExecutedCall(NamedTuple):
    """One call, executed."""

    position: int
    """Position among all calls of its side, from 0."""
    message: int
    """Position of the message that holds it; -1 for golden calls."""
    turn: int
    """Number of that message among the agent's messages, from 0; -1 for golden calls."""
    tool: str
    """Name without a namespace."""
    arguments: dict[str, Json]
    """As given; empty where they cannot be read."""
    result: CallResult
    """The result; of a call that cannot be read, an error."""
    is_malformed: bool
    changes: list[RowChange]
    """Row changes of this call, with ids as minted."""

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.result.ok

    @property
    def writes(self) -> bool:
        """Whether the call changed a row."""
        return bool(self.changes)


class Execution(NamedTuple):
    """All calls of one side, golden or the agent's, and the state that they led to."""

    calls: list[ExecutedCall]
    changes: list[RowChange]
    """The whole difference, canonical."""
    minted: list[str]
    """Minted ids, in order."""
    transfer: dict[str, Json] | None
    """Arguments of the transfer that ended the session; None: there was none."""
    caller: str | None
    """Who is signed in at the end."""
    defects: list[str]
    """Failures of the world itself, and golden arguments that could not be bound again."""


def execute_golden(session: Session, calls: Sequence[GoldenCall]) -> Execution:
    """Execute golden calls, with arguments bound again from results. Stops at a call that cannot be bound."""
    recorder = _Recorder(session)
    unbound: list[str] = []
    for position, call in enumerate(calls):
        try:
            arguments = rebound(call, session.results)
        except LookupError as fault:
            unbound.append(f"call {position} ({call.tool}): {fault}")
            break
        recorder.make(call.tool, arguments, message=-1, turn=-1)
    return recorder.finish(unbound)


def execute_messages(session: Session, messages: Sequence[Message], namespaces: Sequence[str] = ()) -> Execution:
    """The calls that a conversation records, made again in their order; what is recorded of results is not looked at.

    Names may carry one of the `namespaces`. Arguments that cannot be read make no call.
    """
    recorder = _Recorder(session)
    offered = frozenset(map(name_of, session.tools))
    turn = -1
    for place, message in enumerate(messages):
        if message.role != "assistant":
            continue
        turn += 1
        for given in message.tool_calls or ():
            call = read_call(given)
            tool = plain_name(call.tool, offered, namespaces)
            if call.arguments is None:
                recorder.note_malformed(tool, call.fault or "", message=place, turn=turn)
            else:
                recorder.make(tool, call.arguments, message=place, turn=turn)
    return recorder.finish([])


class _Recorder:
    """Makes calls in a session and records what each changed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps: list[ExecutedCall] = []
        self._before: list[RowChange] = []

    def make(self, tool: str, arguments: dict[str, Json], *, message: int, turn: int) -> None:
        result = self._session.call(tool, arguments)
        changes: list[RowChange] = []
        if result.ok and any(result.changed):
            after = self._session.diff()
            changes, self._before = delta(self._before, after), after
        self._steps.append(ExecutedCall(len(self._steps), message, turn, tool, arguments, result, False, changes))

    def note_malformed(self, tool: str, fault: str, *, message: int, turn: int) -> None:
        error = ToolError(code="invalid_arguments", message=fault)
        result = CallResult(call=Call(tool=tool), ok=False, error=error)
        self._steps.append(ExecutedCall(len(self._steps), message, turn, tool, {}, result, True, []))

    def finish(self, unbound: list[str]) -> Execution:
        session = self._session
        minted = list(session.minted)
        changes = session.canonical()
        defects = [*session.defects, *unbound]
        return Execution(self._steps, changes, minted, session.transfer, session.caller, defects)
