"""A message of Anthropic's API, whole or as a stream of events, read into a reply.

A stream that ends without a stop reason was cut off on its way. Reasoning is kept twice: as text for the record, and
as the signed blocks that the API wants back.
"""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, Field

from skillweave.llm.backends.anthropic_wire import SIGNED
from skillweave.llm.backends.body import BodyError, Count, Part, read
from skillweave.llm.request import Reply, Stop
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

MEANT = "message"
STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "model_context_window_exceeded": "context_window",
}
"""All others mean that the model had no more to say."""
DECLINED = "the model declined to answer"


class _Block(Part):
    model_config = ConfigDict(extra="allow", protected_namespaces=())

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Json = None


class _Usage(Part):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0


class _Details(Part):
    explanation: str | None = None


class _Message(Part):
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None
    usage: _Usage = Field(default_factory=_Usage)


class _Delta(Part):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None


class _Event(Part):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


def read_message(body: Json) -> Reply:
    """The reply in `body`. Raises BodyError where it is no message."""
    return _reply(read(_Message, body, MEANT))


def read_events(events: Sequence[Json]) -> Reply:
    """The reply that a whole stream gives. Raises BodyError where it is none, or is cut off."""
    found = [read(_Event, event, "event of a message") for event in events]
    start = next((event.message for event in found if event.message is not None), None)
    end = next((event for event in reversed(found) if event.delta is not None and event.delta.stop_reason), None)
    if start is None or end is None or end.delta is None:
        raise BodyError(f"the stream ended after {len(events)} events without a stop reason")
    spent = end.usage.output_tokens if end.usage else start.usage.output_tokens
    message = _Message(
        content=_blocks(found),
        model=start.model,
        stop_reason=end.delta.stop_reason,
        stop_details=end.delta.stop_details,
        usage=start.usage.model_copy(update={"output_tokens": spent}),
    )
    return _reply(message)


def _reply(message: _Message) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    thinking = [block for block in message.content if block.type in SIGNED]
    is_refusal = message.stop_reason == "refusal"
    reason = (message.stop_details.explanation if message.stop_details else None) or text or DECLINED
    usage = message.usage
    # What is said before a refusal is not to be used, and calls not to be made.
    calls = () if is_refusal else tuple(_tool_call(block) for block in message.content if block.type == "tool_use")
    stop = STOPS.get(message.stop_reason or "", "stop")
    return Reply(
        text="" if is_refusal else text,
        # Theirs are those alone that no cache had to do with.
        input_tokens=usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        cached_input_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        output_tokens=usage.output_tokens,
        model=message.model,
        stop="tool_calls" if calls and stop == "stop" else stop,
        tool_calls=calls,
        reasoning="\n".join(block.thinking for block in thinking if block.thinking) or None,
        refusal=reason if is_refusal else None,
        blocks=tuple(block.model_dump(exclude_unset=True) for block in thinking),
    )


def _tool_call(block: _Block) -> ToolCall:
    # A stream's input is text, and stays what it is where it is malformed.
    arguments = block.input if isinstance(block.input, str) else json.dumps(block.input or {}, ensure_ascii=False)
    return ToolCall(id=block.id, function=FunctionCall(name=block.name, arguments=arguments))


def _blocks(events: Sequence[_Event]) -> list[_Block]:
    """The blocks that the events build up, in order."""
    begun: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.type == "content_block_start" and event.content_block is not None:
            begun[event.index] = event.content_block.model_dump(exclude_unset=True)
        elif event.type == "content_block_delta" and event.delta is not None and event.index in begun:
            _extend(begun[event.index], event.delta)
    return [_Block.model_validate(begun[index]) for index in sorted(begun)]


def _extend(block: dict[str, Any], delta: _Delta) -> None:
    if delta.type == "input_json_delta":
        if delta.partial_json:
            so_far = block.get("input")
            block["input"] = (so_far if isinstance(so_far, str) else "") + delta.partial_json
        return
    for name in ("text", "thinking", "signature"):
        more = getattr(delta, name)
        if more:
            block[name] = (block.get(name) or "") + more
