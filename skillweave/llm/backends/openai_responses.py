"""OpenAI's Responses API, which its reasoning models work best with: the request body, and the reply.

Nothing is stored at the endpoint: each request holds the whole conversation, encrypted reasoning included. The
API has no seed, so a sampling's seed is left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillweave.llm.backends.backend import Reply, Request, Stop, Tokens
from skillweave.llm.backends.body import BodyError, Events, SentError, TokenCount, WireModel, read
from skillweave.llm.backends.errors import OptionalField
from skillweave.llm.backends.json_schema import text_format
from skillweave.llm.backends.openai_chat import OpenAIEndpoint
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

ENCRYPTED_REASONING = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
ITEMS = "thinking_blocks"
"""The field of an assistant's message that holds the items in which it came."""
END_EVENTS = ("response.completed", "response.incomplete", "response.failed")
STOPS: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Reasons why a response is incomplete."""
UNFINISHED = ("queued", "in_progress", "cancelled")


class ResponsesBackend(OpenAIEndpoint):
    """A model behind the Responses API."""

    path = "/responses"
    schema_path = ("text", "format")
    optional_fields = (
        OptionalField(("include",), r"[`'\"]include[`'\"]|encrypted[_ ]content"),
        OptionalField(("max_output_tokens",), r"\bmax_(output_)?tokens\b", is_limit=True),
        OptionalField(("top_p",), r"\btop_p\b"),
        OptionalField(("temperature",), r"\btemperature\b"),
        OptionalField(("reasoning",), r"\breasoning\b"),
        OptionalField(("text", "format"), r"text\.format|response_format|json_schema|\bschema\b|\bstrict\b|structured"),
    )

    def _body(self, request: Request) -> dict[str, Any]:
        settings, sampling = self._settings, request.sampling
        sampled = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": sampling.max_tokens,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "input": input_items(request.messages),
            "store": False,
            "include": [ENCRYPTED_REASONING, *([LOGPROBS] if settings.record_tokens else [])],
            **{name: value for name, value in sampled.items() if value is not None},
        }
        system = instructions(request.messages)
        if system:
            body["instructions"] = system
        if settings.reasoning_effort is not None:
            body["reasoning"] = {"effort": settings.reasoning_effort}
        if request.tools:
            body |= {"tools": wire_tools(request.tools), "tool_choice": request.tool_choice}
        if request.schema is not None and settings.structured:
            body["text"] = {"format": text_format(request.schema)}
        if settings.stream:
            body["stream"] = True
        return body

    def _read(self, body: Json, request: Request) -> Reply:
        return read_response(body, tokens=self._settings.record_tokens)

    def _read_events(self, events: Events, request: Request) -> Reply:
        return read_response_events(events, tokens=self._settings.record_tokens)


def instructions(messages: Iterable[Message]) -> str:
    """The text of all system messages."""
    return "\n\n".join(message.content for message in messages if message.role == "system" and message.content)


def input_items(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """All other messages, as a flat list of items."""
    return [item for message in messages if message.role != "system" for item in _items(message)]


def wire_tools(tools: Sequence[Mapping[str, Json]]) -> list[dict[str, Any]]:
    """OpenAI's tool definitions in the flat form of this API."""
    return [_wire_tool(tool) for tool in tools]


def _wire_tool(tool: Mapping[str, Json]) -> dict[str, Any]:
    function = tool.get("function")
    definition = function if isinstance(function, dict) else dict(tool)
    # As in the chat API: there arguments are not held to their schema by default, here they are.
    return {"type": "function", "parameters": None, "strict": False, **definition}


def _items(message: Message) -> list[dict[str, Any]]:
    content = message.content or ""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id or "", "output": content}]
    if message.role == "user":
        return [{"role": "user", "content": content}]
    items = _original_items(message)
    if items:
        return items
    texts: list[dict[str, Any]] = [{"role": "assistant", "content": content}] if content else []
    return texts + [_wire_call(call) for call in message.tool_calls or ()]


def _original_items(message: Message) -> list[dict[str, Any]]:
    """The items in which a message came, reasoning included; none if it was changed since.

    The API refuses reasoning that is torn from the items that followed it.
    """
    extra = (message.model_extra or {}).get(ITEMS)
    items = [item for item in extra if isinstance(item, dict)] if isinstance(extra, list) else []
    if not any(item.get("type") == "reasoning" for item in items):
        return []
    text = "".join(_item_text(item) for item in items)
    ids = [item.get("call_id") for item in items if item.get("type") == "function_call"]
    is_same = text == (message.content or "") and ids == [call.id for call in message.tool_calls or ()]
    if not is_same:
        return []
    # What the model wrote in a call may be refused; the history has it in a valid form.
    calls = {call.id: _wire_call(call) for call in message.tool_calls or ()}
    return [{**item, **calls[item["call_id"]]} if item.get("type") == "function_call" else item for item in items]


def _item_text(item: Mapping[str, Any]) -> str:
    """The text of an output item; empty if it is no message."""
    parts = item.get("content") if item.get("type") == "message" else None
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "call_id": call.id, "name": call.function.name, "arguments": text}


class _ResponseLogprob(WireModel):
    logprob: float


class _ResponseText(WireModel):
    """A part of a message, or of reasoning."""

    type: str = ""
    text: str = ""
    refusal: str = ""
    logprobs: list[_ResponseLogprob] | None = None


class _Item(WireModel):
    type: str = ""
    content: list[_ResponseText] | None = None
    summary: list[_ResponseText] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str | dict[str, Json] = ""


class _ResponseCachedTokens(WireModel):
    cached_tokens: TokenCount = 0
    cache_write_tokens: TokenCount = 0


class _ResponseUsage(WireModel):
    input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    input_tokens_details: _ResponseCachedTokens | None = None


class _Incomplete(WireModel):
    reason: str | None = None


class _Response(WireModel):
    output: list[dict[str, Json]]
    model: str | None = ""
    status: str | None = None
    error: dict[str, Json] | None = None
    incomplete_details: _Incomplete | None = None
    usage: _ResponseUsage | None = None


class _ResponseEvent(WireModel):
    type: str
    response: dict[str, Json] | None = None
    item: dict[str, Json] | None = None
    output_index: int = 0


def read_response(body: Json, *, tokens: bool = False) -> Reply:
    """Read a response; `tokens` keeps log probabilities. Raises BodyError if it is none, SentError if it failed."""
    response = read(_Response, body, "response")
    if response.status == "failed" or response.error:
        raise SentError(response.error or "the response failed, and nothing says why")
    if response.status in UNFINISHED:
        raise BodyError(f"the response is {response.status}, and nobody will finish it")
    return _reply(response, tokens=tokens)


def read_response_events(events: Sequence[Json], *, tokens: bool = False) -> Reply:
    """Read a whole stream, as `read_response`. Raises BodyError if it is none, or was cut off; SentError.

    The last event holds the whole response. Its items are taken from the events that end them, since reasoning is
    encrypted whole only there.
    """
    parts = [read(_ResponseEvent, event, "event of a response") for event in events]
    end = next((event.response for event in reversed(parts) if event.type in END_EVENTS), None)
    if end is None:
        raise BodyError(f"the stream ended after {len(events)} events without the end of the response")
    # Gateways give two items one index, or none at all.
    done = [event for event in parts if event.type == "response.output_item.done" and event.item is not None]
    items: list[Json] = [event.item for event in sorted(done, key=lambda event: event.output_index)]
    return read_response({**end, "output": items or end.get("output") or []}, tokens=tokens)


def _reply(response: _Response, *, tokens: bool) -> Reply:
    items = [read(_Item, item, "item of a response") for item in response.output]
    texts = [part for item in items if item.type == "message" for part in item.content or ()]
    refusal = "".join(part.refusal for part in texts) or None
    calls = () if refusal else tuple(_tool_call(item) for item in items if item.type == "function_call")
    reasoning = [item for item in items if item.type == "reasoning"]
    usage = response.usage or _ResponseUsage()
    cached = usage.input_tokens_details or _ResponseCachedTokens()
    return Reply(
        text="".join(part.text for part in texts),
        input_tokens=usage.input_tokens,
        cached_input_tokens=cached.cached_tokens,
        cache_write_tokens=cached.cache_write_tokens,
        output_tokens=usage.output_tokens,
        model=response.model or "",
        stop=_stop(response, is_refusal=refusal is not None, has_calls=bool(calls)),
        tool_calls=calls,
        reasoning=_reasoning_text(reasoning),
        refusal=refusal,
        tokens=_tokens(texts) if tokens else None,
        # All items, since reasoning goes back together with what followed it.
        blocks=tuple(response.output) if reasoning else (),
    )


def _stop(response: _Response, *, is_refusal: bool, has_calls: bool) -> Stop:
    if is_refusal:
        return "content_filter"
    details = response.incomplete_details
    if response.status == "incomplete" and details is not None and details.reason in STOPS:
        return STOPS[details.reason]
    return "tool_calls" if has_calls else "stop"


def _reasoning_text(items: Sequence[_Item]) -> str | None:
    texts = [part.text for item in items for part in (item.summary or item.content or ())]
    return "\n".join(text for text in texts if text) or None


def _tool_call(item: _Item) -> ToolCall:
    return ToolCall(id=item.call_id, function=FunctionCall(name=item.name, arguments=item.arguments))


def _tokens(texts: Sequence[_ResponseText]) -> Tokens:
    sampled = [token for part in texts for token in part.logprobs or ()]
    return Tokens(logprobs=tuple(token.logprob for token in sampled))
