"""OpenAI's chat API, which most endpoints speak: the request body, and the reply, whole or as a stream.

Replies are validated by our own types, since the SDK's do not validate: a body of another shape is an error here.
So chunks are joined here as well, with the quirks of endpoints that only resemble the original. A stream that ends
without a finish reason was cut off, and is no answer.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from skillweave.llm.backends.backend import Reply, Request, Stop, Tokens
from skillweave.llm.backends.body import BodyError, Events, TokenCount, WireModel, read
from skillweave.llm.backends.endpoint import SdkBackend
from skillweave.llm.backends.errors import OptionalField
from skillweave.llm.backends.json_schema import response_format
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

MEANT = "chat completion"
"""What errors call a body."""


class OpenAIEndpoint(SdkBackend):
    """What OpenAI's two APIs have in common."""

    provider = "openai"
    home = "https://api.openai.com/v1"
    key_variable: ClassVar[str | None] = "OPENAI_API_KEY"

    def _sdk(self) -> Any:
        import openai

        return openai

    def _connect(self) -> Any:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        return AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._settings.timeout,
            max_retries=0,
            http_client=self._http(DefaultAioHttpClient),
        )


class ChatBackend(OpenAIEndpoint):
    """A model behind the chat API."""

    path = "/chat/completions"
    schema_path = ("response_format",)
    optional_fields: ClassVar[Sequence[OptionalField]] = (
        OptionalField(("stream_options",), r"\bstream_options\b"),
        OptionalField(("max_tokens",), r"\bmax_tokens\b", is_limit=True, instead="max_completion_tokens"),
        OptionalField(("max_completion_tokens",), r"\bmax_(completion_)?tokens\b", is_limit=True),
        OptionalField(("top_p",), r"\btop_p\b"),
        OptionalField(("temperature",), r"\btemperature\b"),
        OptionalField(("seed",), r"\bseed\b"),
        OptionalField(("reasoning_effort",), r"\breasoning[_ ]?effort\b|\bthinking\b"),
        OptionalField(("logprobs",), r"\blogprobs\b"),
        OptionalField(
            ("response_format",), r"response_format|json_schema|\bschema\b|\bstrict\b|\bgrammar\b|structured|guided"
        ),
    )

    def _body(self, request: Request) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [self._message(message) for message in request.messages],
            **request.sampling.settings(),
        }
        if self._is_openai and "max_tokens" in body:
            # OpenAI's newer models know only the new name; other servers often know only the old one.
            body["max_completion_tokens"] = body.pop("max_tokens")
        if settings.reasoning_effort is not None:
            body["reasoning_effort"] = settings.reasoning_effort
        if request.tools:
            body |= {"tools": self._tools(request.tools), "tool_choice": request.tool_choice}
        if request.schema is not None and settings.structured:
            body["response_format"] = self._format(request.schema)
        if settings.record_tokens:
            body["logprobs"] = True
        if settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    @property
    def _is_openai(self) -> bool:
        return self.provider == "openai" and self._is_home

    def _message(self, message: Message) -> dict[str, Any]:
        return wire_message(message)

    def _tools(self, tools: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
        return list(tools)

    def _format(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        return response_format(schema)

    def _read(self, body: Json, request: Request) -> Reply:
        return read_completion(body, tokens=self._settings.record_tokens)

    def _read_events(self, events: Events, request: Request) -> Reply:
        return read_chunks(events, tokens=self._settings.record_tokens)


def wire_message(message: Message) -> dict[str, Any]:
    """A message with the fields that chat endpoints know.

    Written out, since dumping the records of a long conversation would cost more than all else in a call.
    """
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire["tool_calls"] = [_wire_call(call) for call in message.tool_calls]
    return wire


def strict_tool(tool: Mapping[str, Json]) -> dict[str, Json]:
    """A tool whose arguments are held to its schema while they are decoded."""
    function = tool.get("function")
    return {**tool, "function": {**function, "strict": True}} if isinstance(function, dict) else dict(tool)


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call.id, "type": call.type, "function": {"name": call.function.name, "arguments": text}}


class ChatFunction(WireModel):
    name: str | None = None
    arguments: str | dict[str, Json] | None = None


class ChatCall(WireModel):
    index: int | None = None
    """In streams only: the call that a piece belongs to."""
    id: str | None = None
    function: ChatFunction = ChatFunction()


class ChatText(WireModel):
    text: str | None = None


class ChatMessage(WireModel):
    content: str | list[ChatText] | None = None
    refusal: str | None = None
    tool_calls: list[ChatCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """The content as one text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class ChatLogprob(WireModel):
    logprob: float


class ChatLogprobs(WireModel):
    content: list[ChatLogprob] | None = None


class ChatChoice(WireModel):
    message: ChatMessage
    finish_reason: str | None = None
    logprobs: ChatLogprobs | None = None
    token_ids: list[int] | None = None


class ChatCachedTokens(WireModel):
    cached_tokens: TokenCount = 0
    cache_write_tokens: TokenCount = 0


class ChatUsage(WireModel):
    prompt_tokens: TokenCount = 0
    completion_tokens: TokenCount = 0
    prompt_tokens_details: ChatCachedTokens | None = None


class ChatCompletion(WireModel):
    choices: list[ChatChoice] = Field(min_length=1)
    model: str | None = ""
    usage: ChatUsage | None = None
    prompt_token_ids: list[int] | None = None


class _ChunkChoice(WireModel):
    """A piece of a choice."""

    index: int = 0
    delta: ChatMessage | None = None
    finish_reason: str | None = None
    logprobs: ChatLogprobs | None = None
    token_ids: list[int] | None = None


class _Chunk(WireModel):
    choices: list[_ChunkChoice] | None = None
    model: str | None = None
    usage: ChatUsage | None = None
    prompt_token_ids: list[int] | None = None


def read_completion(body: Json, *, tokens: bool = False) -> Reply:
    """Read a completion; `tokens` keeps token ids and log probabilities. Raises BodyError if it is none."""
    return _reply(read(ChatCompletion, body, MEANT), tokens=tokens)


def _reply(completion: ChatCompletion, *, tokens: bool = False) -> Reply:
    """The first choice as a reply."""
    choice, usage = completion.choices[0], completion.usage or ChatUsage()
    message, cached = choice.message, usage.prompt_tokens_details or ChatCachedTokens()
    return Reply(
        text=message.text,
        input_tokens=usage.prompt_tokens,
        cached_input_tokens=cached.cached_tokens,
        cache_write_tokens=cached.cache_write_tokens,
        output_tokens=usage.completion_tokens,
        model=completion.model or "",
        stop=_stop(choice),
        tool_calls=tuple(_tool_call(call) for call in message.tool_calls or ()),
        reasoning=message.reasoning_content or message.reasoning,
        refusal=message.refusal or None,
        tokens=_tokens(completion) if tokens else None,
    )


def _stop(choice: ChatChoice) -> Stop:
    message = choice.message
    if message.refusal or choice.finish_reason == "content_filter":
        return "content_filter"
    if choice.finish_reason == "length":
        return "length"
    return "tool_calls" if message.tool_calls else "stop"


def _tool_call(call: ChatCall) -> ToolCall:
    function = FunctionCall(name=call.function.name or "", arguments=call.function.arguments or "")
    return ToolCall(id=call.id or "", function=function)


def _tokens(completion: ChatCompletion) -> Tokens:
    choice = completion.choices[0]
    sampled = (choice.logprobs.content if choice.logprobs else None) or ()
    return Tokens(
        token_ids=tuple(choice.token_ids or ()),
        prompt_token_ids=tuple(completion.prompt_token_ids or ()),
        logprobs=tuple(token.logprob for token in sampled),
    )


def read_chunks(events: Sequence[Json], *, tokens: bool = False) -> Reply:
    """Read the chunks of a whole stream, as `read_completion`. Raises BodyError if they are none, or were cut off."""
    chunks = [read(_Chunk, event, MEANT) for event in events]
    pieces = [piece for chunk in chunks for piece in chunk.choices or () if piece.index == 0]
    reason = next((piece.finish_reason for piece in reversed(pieces) if piece.finish_reason), None)
    if reason is None:
        raise BodyError(f"the stream ended after {len(events)} chunks without a finish reason")
    choice = ChatChoice(
        message=_joined_message([piece.delta for piece in pieces if piece.delta is not None]),
        finish_reason=reason,
        logprobs=ChatLogprobs(content=_joined_logprobs(pieces)),
        token_ids=[token for piece in pieces for token in piece.token_ids or ()],
    )
    completion = ChatCompletion(
        choices=[choice],
        model=next((chunk.model for chunk in chunks if chunk.model), ""),
        # Some endpoints send it with every chunk; the last one counts.
        usage=next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None),
        prompt_token_ids=next((chunk.prompt_token_ids for chunk in chunks if chunk.prompt_token_ids), None),
    )
    return _reply(completion, tokens=tokens)


def _joined_message(deltas: Sequence[ChatMessage]) -> ChatMessage:
    return ChatMessage(
        content="".join(delta.text for delta in deltas),
        refusal="".join(delta.refusal or "" for delta in deltas),
        reasoning="".join(delta.reasoning_content or delta.reasoning or "" for delta in deltas) or None,
        tool_calls=_joined_calls([call for delta in deltas for call in delta.tool_calls or ()]),
    )


def _joined_logprobs(pieces: Sequence[_ChunkChoice]) -> list[ChatLogprob]:
    return [token for piece in pieces if piece.logprobs for token in piece.logprobs.content or ()]


def _joined_calls(deltas: Sequence[ChatCall]) -> list[ChatCall]:
    """Put calls together from their pieces, in the order in which they began."""
    calls: list[ChatCall] = []
    for delta in deltas:
        place = _call_of(calls, delta)
        if place is None:
            calls.append(delta)
        else:
            calls[place] = _extended(calls[place], delta)
    return calls


def _call_of(calls: Sequence[ChatCall], delta: ChatCall) -> int | None:
    """The index of the call that a piece belongs to; None if it begins a new one."""
    if delta.index is None:
        same = len(calls) - 1 if calls else None
    else:
        same = next((place for place in reversed(range(len(calls))) if calls[place].index == delta.index), None)
    if same is None:
        return None
    # Some endpoints give every call the index 0, others give every piece a new id: only both together begin a call.
    is_other = bool(delta.id and calls[same].id and delta.id != calls[same].id and delta.function.name)
    return None if is_other else same


def _extended(call: ChatCall, delta: ChatCall) -> ChatCall:
    begun, more = call.function.arguments, delta.function.arguments
    arguments = begun + more if isinstance(begun, str) and isinstance(more, str) else more or begun
    function = ChatFunction(name=call.function.name or delta.function.name, arguments=arguments)
    return ChatCall(index=call.index, id=call.id or delta.id, function=function)
