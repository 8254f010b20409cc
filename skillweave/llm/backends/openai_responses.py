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


MEANT = "response"
ENDS = ("response.completed", "response.incomplete", "response.failed")
STOPS: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""By the reason why a response is incomplete."""
UNFINISHED = ("queued", "in_progress", "cancelled")


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
    """The reply in `body`. Raises BodyError where it is no response, AnswerError where it is a failed one."""
    response = read(_Response, body, MEANT)
    if response.status == "failed" or response.error:
        raise SentError(response.error or "the response failed, and nothing says why")
    if response.status in UNFINISHED:
        raise BodyError(f"the response is {response.status}, and nobody will finish it")
    return _reply(response, tokens=tokens)


def read_response_events(events: Sequence[Json], *, tokens: bool = False) -> Reply:
    """The reply that a whole stream gives. Raises BodyError where it is none, or is cut off; AnswerError."""
    found = [read(_ResponseEvent, event, "event of a response") for event in events]
    end = next((event.response for event in reversed(found) if event.type in ENDS), None)
    if end is None:
        raise BodyError(f"the stream ended after {len(events)} events without the end of the response")
    done = {event.output_index: event.item for event in found if event.type == "response.output_item.done"}
    items: list[Json] = [item for _, item in sorted(done.items(), key=lambda pair: pair[0]) if item is not None]
    return read_response({**end, "output": items or end.get("output") or []}, tokens=tokens)


def _reply(response: _Response, *, tokens: bool) -> Reply:
    items = [read(_Item, item, "item of a response") for item in response.output]
    said = [part for item in items if item.type == "message" for part in item.content or ()]
    refusal = "".join(part.refusal for part in said) or None
    text = "".join(part.text for part in said)
    calls = () if refusal else tuple(_tool_call(item) for item in items if item.type == "function_call")
    thoughts = [item for item in items if item.type == "reasoning"]
    usage = response.usage or _ResponseUsage()
    cached = usage.input_tokens_details or _ResponseCachedTokens()
    return Reply(
        text=text,
        input_tokens=usage.input_tokens,
        cached_input_tokens=cached.cached_tokens,
        cache_write_tokens=cached.cache_write_tokens,
        output_tokens=usage.output_tokens,
        model=response.model or "",
        stop=_stop(response, is_refusal=refusal is not None, has_calls=bool(calls)),
        tool_calls=calls,
        reasoning=_thought(thoughts),
        refusal=refusal,
        tokens=_tokens(said) if tokens else None,
        # All of them, since reasoning goes back among what it led to.
        blocks=tuple(response.output) if thoughts else (),
    )


def _stop(response: _Response, *, is_refusal: bool, has_calls: bool) -> Stop:
    if is_refusal:
        return "content_filter"
    details = response.incomplete_details
    if response.status == "incomplete" and details is not None and details.reason in STOPS:
        return STOPS[details.reason]
    return "tool_calls" if has_calls else "stop"


def _thought(items: Sequence[_Item]) -> str | None:
    texts = [part.text for item in items for part in (item.summary or item.content or ())]
    return "\n".join(text for text in texts if text) or None


def _tool_call(item: _Item) -> ToolCall:
    return ToolCall(id=item.call_id, function=FunctionCall(name=item.name, arguments=item.arguments))


def _tokens(said: Sequence[_ResponseText]) -> Tokens:
    sampled: list[Any] = [token for part in said for token in part.logprobs or ()]
    return Tokens(logprobs=tuple(token.logprob for token in sampled))


SEALED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"


class ResponsesBackend(OpenAIEndpoint):
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
        given = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": sampling.max_tokens,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "input": input_items(request.messages),
            "store": False,
            "include": [SEALED, *([LOGPROBS] if settings.record_tokens else [])],
            **{name: value for name, value in given.items() if value is not None},
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
