"""A conversation as OpenAI's Responses API takes it: instructions, and a flat list of items.

Nothing is stored at the endpoint, so what a reasoning model thought goes back in sealed form, among the very items that
it came with: the API refuses reasoning that is torn from what followed it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillweave.schema.message import Message, ToolCall
from skillweave.schema.record import Json

ITEMS = "thinking_blocks"
"""The field of an assistant's message that holds the items it came as."""


def instructions(messages: Iterable[Message]) -> str:
    """What the system messages say."""
    return "\n\n".join(said.content for said in messages if said.role == "system" and said.content)


def input_items(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """All other messages."""
    return [item for said in messages if said.role != "system" for item in _items(said)]


def wire_tools(tools: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """OpenAI's tool definitions in the flat form of this API."""
    return [_wire_tool(tool) for tool in tools]


def _wire_tool(tool: Mapping[str, Json]) -> dict[str, Any]:
    function = tool.get("function")
    given = function if isinstance(function, dict) else dict(tool)
    # The chat API holds no arguments to their schema unless told to; this one does unless told not to.
    return {"type": "function", "parameters": None, "strict": False, **given}


def _items(said: Message) -> list[dict[str, Any]]:
    if said.role == "tool":
        return [{"type": "function_call_output", "call_id": said.tool_call_id or "", "output": said.content or ""}]
    if said.role == "user":
        return [{"role": "user", "content": said.content or ""}]
    kept = _kept(said)
    if kept:
        return kept
    spoken: list[dict[str, Any]] = [{"role": "assistant", "content": said.content}] if said.content else []
    return spoken + [_wire_call(call) for call in said.tool_calls or ()]


def _kept(said: Message) -> list[dict[str, Any]]:
    """The items that a message came as, while it still says what they say; else none."""
    found = (said.model_extra or {}).get(ITEMS)
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    if not any(item.get("type") == "reasoning" for item in items):
        return []
    text = "".join(text_of(item) for item in items)
    calls = [item.get("call_id") for item in items if item.get("type") == "function_call"]
    is_same = text == (said.content or "") and calls == [call.id for call in said.tool_calls or ()]
    return items if is_same else []


def text_of(item: Mapping[str, Any]) -> str:
    """What an output item says aloud."""
    parts = item.get("content") if item.get("type") == "message" else None
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "call_id": call.id, "name": call.function.name, "arguments": text}
