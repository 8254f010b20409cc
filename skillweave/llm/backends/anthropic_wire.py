"""A conversation as Anthropic's messages API takes it.

It knows two roles that take turns: the results of all calls of a turn, and what the user says after them, are one
user message. Empty texts are refused by it, and left out here.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillweave.schema.message import Message, ToolCall
from skillweave.schema.record import Json

THINKING = "thinking_blocks"
"""The field of an assistant's message that holds its reasoning in the provider's signed form."""
SIGNED = ("thinking", "redacted_thinking")
NO_PARAMETERS: dict[str, Json] = {"type": "object", "properties": {}}
CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def system_text(messages: Iterable[Message]) -> str:
    """What the system messages say."""
    return "\n\n".join(said.content for said in messages if said.role == "system" and said.content)


def turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The user's and the assistant's messages, neighbours of one role joined."""
    joined: list[dict[str, Any]] = []
    for said in messages:
        if said.role == "system":
            continue
        role = "assistant" if said.role == "assistant" else "user"
        blocks = _blocks(said)
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"].extend(blocks)
        elif blocks:
            joined.append({"role": role, "content": blocks})
    return joined


def wire_tools(tools: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """OpenAI tool definitions in Anthropic's form."""
    return [_wire_tool(tool) for tool in tools]


def _wire_tool(tool: Mapping[str, Json]) -> dict[str, Any]:
    function = tool.get("function")
    given = function if isinstance(function, dict) else dict(tool)
    wire: dict[str, Any] = {"name": given.get("name"), "input_schema": given.get("parameters") or NO_PARAMETERS}
    if given.get("description"):
        wire["description"] = given["description"]
    return wire


def _blocks(said: Message) -> list[dict[str, Any]]:
    if said.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": said.tool_call_id or ""}
        return [{**result, "content": said.content} if said.content else result]
    blocks = _thoughts(said) if said.role == "assistant" else []
    if said.content and said.content.strip():
        blocks.append({"type": "text", "text": said.content})
    return blocks + [_wire_call(call) for call in said.tool_calls or ()]


def _thoughts(said: Message) -> list[dict[str, Any]]:
    """Its signed reasoning; that of another provider says nothing here."""
    kept = (said.model_extra or {}).get(THINKING)
    blocks = kept if isinstance(kept, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") in SIGNED]


def _wire_call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": _input(call.function.arguments)}


def _input(arguments: str | dict[str, Json]) -> dict[str, Json]:
    """The object that the API asks for; malformed text goes back in the form that its documentation names for it."""
    if isinstance(arguments, dict):
        return arguments
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}
