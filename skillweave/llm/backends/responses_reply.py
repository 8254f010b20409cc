"""A response of OpenAI's Responses API, whole or as a stream of events, read into a reply.

The last event of a stream holds the whole response; what its items are is taken from the events that end them, since
reasoning is sealed whole only there. A stream without such a last event was cut off on its way.
"""

from collections.abc import Sequence
from typing import Any

from skillweave.llm.backends.body import AnswerError, BodyError, Count, Part, read
from skillweave.llm.request import Reply, Stop, Tokens
from skillweave.schema.message import FunctionCall, ToolCall
from skillweave.schema.record import Json

MEANT = "response"
ENDS = ("response.completed", "response.incomplete", "response.failed")
STOPS: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""By the reason why a response is incomplete."""
UNFINISHED = ("queued", "in_progress", "cancelled")


class _Sampled(Part):
    logprob: float


class _Said(Part):
    """A part of a message, or of reasoning."""

    type: str = ""
    text: str = ""
    refusal: str = ""
    logprobs: list[_Sampled] | None = None


class _Item(Part):
    type: str = ""
    content: list[_Said] | None = None
    summary: list[_Said] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str | dict[str, Json] = ""


class _Cached(Part):
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0


class _Usage(Part):
    input_tokens: Count = 0
    output_tokens: Count = 0
    input_tokens_details: _Cached | None = None


class _Incomplete(Part):
    reason: str | None = None


class _Response(Part):
    output: list[dict[str, Json]]
    model: str | None = ""
    status: str | None = None
    error: dict[str, Json] | None = None
    incomplete_details: _Incomplete | None = None
    usage: _Usage | None = None


class _Event(Part):
    type: str
    response: dict[str, Json] | None = None
    item: dict[str, Json] | None = None
    output_index: int = 0


def read_response(body: Json, *, tokens: bool = False) -> Reply:
    """The reply in `body`. Raises BodyError where it is no response, AnswerError where it is a failed one."""
    response = read(_Response, body, MEANT)
    if response.status == "failed" or response.error:
        raise AnswerError(response.error or "the response failed, and nothing says why")
    if response.status in UNFINISHED:
        raise BodyError(f"the response is {response.status}, and nobody will finish it")
    return _reply(response, tokens=tokens)


def read_response_events(events: Sequence[Json], *, tokens: bool = False) -> Reply:
    """The reply that a whole stream gives. Raises BodyError where it is none, or is cut off; AnswerError."""
    found = [read(_Event, event, "event of a response") for event in events]
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
    usage = response.usage or _Usage()
    cached = usage.input_tokens_details or _Cached()
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


def _tokens(said: Sequence[_Said]) -> Tokens:
    sampled: list[Any] = [token for part in said for token in part.logprobs or ()]
    return Tokens(logprobs=tuple(token.logprob for token in sampled))
