"""A tool call as an agent wrote it, read: its name, and its arguments or why they cannot be read.

Rollouts make the calls that are read here, and evaluations make them again: both must read them alike.
"""

import json
from collections.abc import Collection
from typing import NamedTuple

from pydantic_core import from_json

from skillweave.schema.call import CallResult
from skillweave.schema.message import ToolCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task

LONGEST_ARGUMENTS = 2**20
"""Characters of the arguments of one call; no tool needs as many."""
_JOINTS = ("__", ".", "/", ":", "-")
"""What stands between a namespace and a tool's name."""


class AgentCall(NamedTuple):
    """A call that the agent wants made."""

    id: str
    tool: str
    arguments: dict[str, Json] | None
    """None: they cannot be read."""
    fault: str | None = None
    """Why not, in words for the agent."""


def read_call(call: ToolCall) -> AgentCall:
    """A call with its arguments read, or why they cannot be."""
    given = call.function.arguments
    if isinstance(given, dict):
        return AgentCall(call.id, call.function.name, given)
    if len(given) > LONGEST_ARGUMENTS:
        limit = f"The arguments have {len(given)} characters; at most {LONGEST_ARGUMENTS} are read."
        return AgentCall(call.id, call.function.name, None, limit)
    try:
        arguments = from_json(given, allow_inf_nan=False) if given.strip() else {}
        # A number too large for a float comes out as infinite, which is no JSON.
        json.dumps(arguments, allow_nan=False)
    except ValueError as error:
        return AgentCall(call.id, call.function.name, None, f"The arguments are not valid JSON: {error}.")
    if not isinstance(arguments, dict):
        return AgentCall(call.id, call.function.name, None, "The arguments must be one JSON object.")
    return AgentCall(call.id, call.function.name, arguments)


def namespaces_of(task: Task) -> tuple[str, ...]:
    """What agents may write before the names of a task's tools: its servers, and the namespaces that it gives them."""
    return tuple(sorted({*task.domains, *task.namespaces.values(), task.world}))


def plain_name(tool: str, offered: Collection[str], namespaces: Collection[str]) -> str:
    """The offered tool that a name with one of these namespaces before it means: `Clinic__book`, `clinic.book`.

    Any other name is given back as it is, for the session to refuse.
    """
    if tool in offered:
        return tool
    for namespace in namespaces:
        rest = tool[len(namespace) :] if tool.casefold().startswith(namespace.casefold()) else ""
        for joint in _JOINTS:
            if rest.startswith(joint) and rest[len(joint) :] in offered:
                return rest[len(joint) :]
    return tool


def shown(result: CallResult) -> str:
    """A result as agents read it, on every engine: the value, or the error."""
    value: Json = result.value if result.error is None else {"error": result.error.model_dump(mode="json")}
    return json.dumps(value, ensure_ascii=False)


def whole(text: str) -> str:
    """The text with halves of characters joined or replaced, since no file can hold them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
