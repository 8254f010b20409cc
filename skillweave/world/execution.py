"""Executes one tool call on the rows of a session: binds arguments, mints ids, runs the contract, keeps or undoes it.

A call succeeds as a whole or changes nothing. If the contract has a defect, the call returns `world_defect`, and the
execution reports the defect separately.
"""

import sqlite3
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from skillweave.schema.blueprint import DomainRole
from skillweave.schema.contract import Call, CallResult, RuleVerdict, ToolError
from skillweave.schema.record import Json
from skillweave.world.arguments import bind
from skillweave.world.canonical import IdCounter
from skillweave.world.interpreter import CompiledTool, DefectError, run
from skillweave.world.state import State
from skillweave.world.states import Change, key_of

_DEFECT = ToolError(code="world_defect", message="The system could not carry this out; nothing was changed.")
_OTHER_PERSON = ToolError(code="already_authenticated", message="Another person is signed in already.")


class CallContext(NamedTuple):
    """The inputs of a call in addition to its arguments and the rows."""

    caller: str | None
    """Key of the person who is signed in."""
    now: str
    """The session's clock."""
    counter: IdCounter
    """The id counter of the session."""


class CallExecution(NamedTuple):
    """A result, and its changes to the session in addition to the rows."""

    result: CallResult
    context: CallContext
    """The context of the next call, after a sign-in or minted ids."""
    defect: str | None = None
    """The defect of the contract, if the call returned `world_defect`."""


def execute_call(state: State, compiled: CompiledTool, call: Call, context: CallContext) -> CallExecution:
    """Carry out a call of a domain's tool.

    Args:
        state: The session's rows; changed only if the call succeeds.
        compiled: The tool.
        call: The call, with its original arguments.
        context: Who calls, when, and the next id.

    Raises:
        ArgumentError: The arguments do not fit the tool's parameters.
    """
    bindings = bind(compiled.tool, call.arguments)
    role = state.world.role(call.tool)
    account = None if context.caller is None else state.account(role.account, context.caller)
    if account is None and compiled.tool.kind != "auth":
        return CallExecution(failed(call, _no_account(role)), context)
    bindings["caller"], bindings["person"], bindings["now"] = account, context.caller, context.now
    minted, counter = context.counter.mint(compiled.prefixes)
    if minted:
        bindings.update(zip(compiled.new, minted, strict=True))

    def carry_out(connection: sqlite3.Connection) -> tuple[CallExecution, Change | None]:
        caller = context.caller
        try:
            outcome = run(connection, compiled, bindings)
            if outcome.error is None and compiled.tool.kind == "auth":
                caller = _signed_in(state, role, outcome.value)
                if context.caller not in (None, caller):
                    outcome.error = _OTHER_PERSON
        except DefectError as defect:
            return CallExecution(failed(call, _DEFECT), context, f"{call.tool}: {defect}"), None
        if outcome.error is not None:
            return CallExecution(failed(call, outcome.error, outcome.verdicts), context), None
        result = CallResult.model_construct(
            call=call,
            ok=True,
            value=outcome.value,
            error=None,
            verdicts=outcome.verdicts,
            minted=minted,
            changed=outcome.changed,
        )
        change = Change(compiled.effects, bindings) if compiled.effects else None
        after = CallContext(caller, context.now, counter) if minted or caller != context.caller else context
        return CallExecution(result, after), change

    key = call_key(call.tool, call.arguments, context) if state.is_shared else None
    return state.step(key, carry_out, writes=bool(compiled.effects))


def call_key(tool: str, arguments: Mapping[str, Json], context: CallContext) -> Hashable:
    """What the outcome of a call in a given state depends on."""
    counter = context.counter
    return tool, context.caller, context.now, counter.last, counter.digits, *arguments, key_of(arguments)


def failed(call: Call, error: ToolError, verdicts: Sequence[RuleVerdict] = ()) -> CallResult:
    """The result of a failed call.

    Args:
        call: The call.
        error: Why it failed.
        verdicts: The verdicts of agent guards before it failed.
    """
    return CallResult.model_construct(
        call=call, ok=False, value=None, error=error, verdicts=list(verdicts), minted=[], changed=[]
    )


def noted(call: Call, status: str) -> CallResult:
    """The result of a call that the session answers itself."""
    value: Json = {"status": status}
    return CallResult.model_construct(call=call, ok=True, value=value, error=None, verdicts=[], minted=[], changed=[])


def _signed_in(state: State, role: DomainRole, value: Json) -> str:
    """The person whom the result of an auth tool signs in."""
    account = value.get(role.key) if isinstance(value, dict) else None
    if not isinstance(account, str):
        raise DefectError(f"signing in returned no {role.key}")
    person = state.person(role.account, account)
    if person is None:
        raise DefectError(f"signing in returned the {role.key} {account!r}, which nobody has")
    return person


def _no_account(role: DomainRole) -> ToolError:
    return ToolError(code="no_account_here", message=f"The user has no account with {role.title}.")
