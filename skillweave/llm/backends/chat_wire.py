"""Messages and tools as chat endpoints that speak OpenAI's protocol take them.

Made by hand, since dumping the records of a long conversation costs more than all else in a call.
"""

import json
from collections.abc import Mapping
from typing import Any

from skillweave.schema.message import Message, ToolCall
from skillweave.schema.record import Json


def wire_message(message: Message) -> dict[str, Any]:
    """The fields that chat endpoints know; records carry more."""
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire["tool_calls"] = [_wire_call(call) for call in message.tool_calls]
    return wire


def strict_tool(tool: Mapping[str, Json]) -> dict[str, Json]:
    """The tool with arguments that are held to its schema while they are decoded."""
    function = tool.get("function")
    return {**tool, "function": {**function, "strict": True}} if isinstance(function, dict) else dict(tool)


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call.id, "type": call.type, "function": {"name": call.function.name, "arguments": text}}
