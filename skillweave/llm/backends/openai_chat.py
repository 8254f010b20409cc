"""OpenAI's chat API, which most endpoints speak: the request body, and the reply, whole or as a stream.

Replies are validated by our own types, since the SDK's do not validate: a body of another shape is an error here.
So chunks are joined here as well, with the quirks of endpoints that only resemble the original. A stream that ends
without a finish reason was cut off, and is no answer.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from skillweave.base.call_arguments import read_arguments
from skillweave.llm.backends.backend import REASONING_FIELD, Reply, Request, Stop, Tokens
from skillweave.llm.backends.body import BodyError, Events, SentError, TokenCount, WireModel, read
from skillweave.llm.backends.endpoint import SdkBackend
from skillweave.llm.backends.errors import OptionalField
from skillweave.llm.backends.json_schema import response_format
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

MEANT = "chat completion"
"""What errors call a body."""
REASONING = ("reasoning_content", "reasoning")
"""The fields of a message in which endpoints send reasoning."""
RETURNED = ("extra_content", "reasoning_details", "thinking_blocks")
"""Fields of a message that have to come back: Gemini's signatures, OpenRouter's reasoning, Claude's behind LiteLLM."""
TEXTS = ("text", "summary", "thinking", "data")
"""Fields inside of these that hold words, whose pieces may well be equal."""


FAILED = ("error", "abort", "insufficient_system_resource")
"""Finish reasons by which OpenRouter, vLLM and DeepSeek say that the provider failed, not the model."""


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

        http = self._http(DefaultAioHttpClient)
        return AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
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
        # OpenAI's own endpoint gives no fields that have to come back, and refuses those of others.
        return wire_message(message, returns_fields=not self._is_openai)

    def _tools(self, tools: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
        return list(tools)

    def _format(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        return response_format(schema)

    def _read(self, body: Json, request: Request) -> Reply:
        return read_completion(body, tokens=self._settings.record_tokens)

    def _read_events(self, events: Events, request: Request) -> Reply:
        return read_chunks(events, tokens=self._settings.record_tokens)


def wire_message(message: Message, *, returns_fields: bool = True) -> dict[str, Any]:
    """A message of a valid history with the fields that chat endpoints know.

    Written out, since dumping the records of a long conversation would cost more than all else in a call.

    Args:
        message: The message.
        returns_fields: Whether the fields go back that an endpoint added to its reply, such as reasoning.
    """
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    if message.tool_calls:
        wire["tool_calls"] = [_wire_call(call, returns_fields) for call in message.tool_calls]
    if returns_fields and message.role == "assistant":
        extra = message.model_extra or {}
        if message.reasoning_content is not None:
            wire[str(extra.get(REASONING_FIELD) or REASONING[0])] = message.reasoning_content
        wire |= {name: extra[name] for name in RETURNED if name in extra}
    return wire


def strict_tool(tool: Mapping[str, Json]) -> dict[str, Json]:
    """A tool whose arguments are held to its schema while they are decoded: those that are named, and no others."""
    function = tool.get("function")
    if not isinstance(function, dict):
        return dict(tool)
    schema = function.get("parameters")
    if isinstance(schema, dict) and "properties" in schema:
        function = {**function, "parameters": {"additionalProperties": False, **schema}}
    return {**tool, "function": {**function, "strict": True}}


def _wire_call(call: ToolCall, returns_fields: bool) -> dict[str, Any]:
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": call.function.name, "arguments": text}
    if not returns_fields:
        return {"id": call.id, "type": call.type, "function": function}
    added = call.function.model_extra or {}
    return {"id": call.id, "type": call.type, "function": {**function, **added}, **(call.model_extra or {})}


class ChatFunction(WireModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: str | None = None
    arguments: str | dict[str, Json] | None = None


class ChatCall(WireModel):
    """A call, or a piece of one. Fields that a provider adds have to come back: Gemini signs calls so."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    index: int | None = None
    """In streams: the call that a piece belongs to."""
    id: str | None = None
    type: str | None = None
    function: ChatFunction = ChatFunction()


def _call_list(calls: Any) -> Any:
    # Some gateways send one call without a list, or `{}` for no calls.
    return ([calls] if calls else []) if isinstance(calls, dict) else calls


class ChatText(WireModel):
    text: str | None = None


class ChatMessage(WireModel):
    content: str | list[ChatText] | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[ChatCall] | None, BeforeValidator(_call_list)] = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    extra_content: Json = None
    reasoning_details: Json = None
    thinking_blocks: Json = None

    @property
    def reasoning_field(self) -> str:
        """The field in which the reasoning came; empty if there is none. Some endpoints send it in both."""
        given = [name for name in REASONING if getattr(self, name) is not None]
        return next((name for name in given if getattr(self, name)), given[0] if given else "")

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
    """Read a completion; `tokens` keeps token ids and log probabilities. Raises BodyError if it is none, SentError."""
    return _reply(read(ChatCompletion, body, MEANT), tokens=tokens)


def _reply(completion: ChatCompletion, *, tokens: bool = False) -> Reply:
    """The first choice as a reply."""
    choice, usage = completion.choices[0], completion.usage or ChatUsage()
    if choice.finish_reason in FAILED:
        raise SentError(f"the endpoint broke its answer off with finish_reason {choice.finish_reason!r}")
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
        reasoning=getattr(message, message.reasoning_field, None),
        reasoning_field=message.reasoning_field,
        fields={name: value for name in RETURNED if (value := getattr(message, name))},
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
    function = FunctionCall(
        name=call.function.name or "", arguments=call.function.arguments or "", **_added(call.function)
    )
    return ToolCall(id=call.id or "", function=function, **_added(call))


def _added(part: ChatCall | ChatFunction) -> dict[str, Any]:
    """The fields that a provider has added."""
    return {name: value for name, value in (part.model_extra or {}).items() if value is not None}


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
    joined: dict[str, Any] = {
        "content": "".join(delta.text for delta in deltas),
        "refusal": "".join(delta.refusal or "" for delta in deltas),
        "tool_calls": _joined_calls([call for delta in deltas for call in delta.tool_calls or ()]),
    }
    field = next((delta.reasoning_field for delta in deltas if delta.reasoning_field), "")
    if field:
        joined[field] = "".join(delta.reasoning_content or delta.reasoning or "" for delta in deltas)
    for name in RETURNED:
        joined[name] = reduce(_merged, (getattr(delta, name) for delta in deltas), None)
    return ChatMessage.model_validate(joined)


def _joined_logprobs(pieces: Sequence[_ChunkChoice]) -> list[ChatLogprob]:
    return [token for piece in pieces if piece.logprobs for token in piece.logprobs.content or ()]


def _joined_calls(pieces: Sequence[ChatCall]) -> list[ChatCall]:
    """Put calls together from their pieces, in the order in which they began."""
    calls: list[ChatCall] = []
    for piece in pieces:
        place = _place_of(piece, calls)
        if place is None:
            calls.append(piece)
        else:
            calls[place] = _extended(calls[place], piece)
    # A name behind a whole call begins another one, unless nothing follows: then the last piece has repeated it.
    return [call for at, call in enumerate(calls) if not any(_names_again(whole, call) for whole in calls[:at])]


def _place_of(piece: ChatCall, calls: Sequence[ChatCall]) -> int | None:
    """The place of the call that a piece goes on with; None if it begins a new one."""
    places = range(len(calls) - 1, -1, -1)
    by_index = None if piece.index is None else next((at for at in places if calls[at].index == piece.index), None)
    by_id = [at for at in places if piece.id and calls[at].id == piece.id]
    if not piece.function.name:
        # OpenAI sends name and id once. Others repeat the id: two calls may share one, then the index tells.
        if by_id:
            return by_index if by_index in by_id else by_id[0]
        # Some send a new id with every piece, so an id alone begins no call where the index is known.
        if by_index is not None:
            return by_index
        # Without a name there is nothing to call: a piece whose index is missing, or counts the pieces, goes on with
        # the last call. But a model may write an empty name; such a call has an id of its own.
        begins = not calls or (piece.id and (piece.index is not None or _is_another(calls[-1], piece)))
        return None if begins else len(calls) - 1
    # A name begins a call, unless it is repeated with every piece.
    place = by_id[0] if by_id else by_index if piece.index is not None else len(calls) - 1
    if by_index in by_id:
        place = by_index
    if place is None or place < 0:
        return None
    call = calls[place]
    if call.function.name and call.function.name != piece.function.name:
        # One id, or one index, for two tools.
        return None
    if piece.id and call.id and piece.id != call.id:
        # Ollama gives every call the index 0.
        return None
    if piece.index is not None and call.index is not None and piece.index != call.index:
        # One id for two calls of a tool.
        return None
    if _repeats(call, piece):
        return place
    if _names_again(call, piece):
        return None
    # Nothing but a name, twice: two calls without arguments, unless id or index say that they are one.
    is_bare = not call.function.arguments and not piece.function.arguments
    is_bare_again = is_bare and not piece.id and piece.index is None
    return None if is_bare_again or _is_another(call, piece) else place


def _is_another(call: ChatCall, piece: ChatCall) -> bool:
    """Whether what begins like an object follows a whole one: Gemini and Ollama send whole calls, some without ids."""
    more = piece.function.arguments
    return _is_whole(call) and (isinstance(more, dict) or (more or "").lstrip().startswith("{"))


def _names_again(call: ChatCall, piece: ChatCall) -> bool:
    """Whether a piece, behind a whole call, has nothing but the same name and place."""
    is_bare = not piece.id and not piece.function.arguments
    is_same = piece.index == call.index and piece.function.name == call.function.name
    return is_bare and is_same and not call.id and _is_whole(call)


def _repeats(call: ChatCall, piece: ChatCall) -> bool:
    """Whether a piece, mostly the last one, repeats a whole call."""
    is_named = bool(piece.id and piece.function.name)
    return is_named and piece.function.arguments == call.function.arguments and _is_whole(call)


def _is_whole(call: ChatCall) -> bool:
    arguments = call.function.arguments
    return bool(arguments) and read_arguments(arguments or "").values is not None


def _extended(call: ChatCall, piece: ChatCall) -> ChatCall:
    begun, more = call.function.arguments, piece.function.arguments
    if _repeats(call, piece):
        more = None
    arguments = begun + more if isinstance(begun, str) and isinstance(more, str) else more or begun
    function = {"name": call.function.name or piece.function.name, "arguments": arguments}
    added = _merged(call.function.model_extra, piece.function.model_extra)
    return ChatCall.model_validate(
        {
            **_merged(call.model_extra, piece.model_extra),
            "index": call.index,
            "id": call.id or piece.id,
            "function": {**added, **function},
        }
    )


def _merged(begun: Any, more: Any) -> Any:
    """A provider's own field from its pieces: objects field by field, texts one behind the other."""
    if begun is None or more is None:
        return more if begun is None else begun
    if isinstance(begun, dict) and isinstance(more, dict):
        texts = {name: begun[name] + more[name] for name in TEXTS if _are_texts(begun.get(name), more.get(name))}
        return {**begun, **{name: _merged(begun.get(name), value) for name, value in more.items()}, **texts}
    if isinstance(begun, list) and isinstance(more, list):
        return reduce(_with_element, more, begun)
    if _are_texts(begun, more):
        # A kind, an id or a signature that every piece repeats stands once.
        return begun if begun == more else begun + more
    return more


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _with_element(elements: list[Any], element: Any) -> list[Any]:
    """A list with a further element, or with the piece of one: the last, if index and type are the same.

    OpenRouter counts `reasoning_details`; LiteLLM does not count `thinking_blocks`, of which a signature is the end.
    """
    last = elements[-1] if elements else None
    if not (isinstance(last, dict) and isinstance(element, dict)) or last.get("signature"):
        return [*elements, element]
    is_same = all(last.get(name) == element.get(name) for name in ("index", "type"))
    return [*elements[:-1], _merged(last, element)] if is_same else [*elements, element]
