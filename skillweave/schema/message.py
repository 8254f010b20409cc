"""Messages of a conversation, in the form of OpenAI's chat API."""

from typing import Literal

from pydantic import ConfigDict

from skillweave.schema.record import Json, Record


class FunctionCall(Record):
    name: str
    arguments: str | dict[str, Json]
    """JSON text, or the object itself."""


class ToolCall(Record):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(Record):
    """Fields that other programs add are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
