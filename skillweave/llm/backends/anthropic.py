"""Anthropic's messages API: the request body, and the reply, whole or as a stream.

The API has no seed, so a sampling's seed is left out. A model that thinks takes no temperature. Reasoning is kept
twice: as text for the record, and as the signed blocks that the API wants back. The SDK's helper that joins the events
of a stream does not validate them, so they are joined here; a stream without a stop reason was cut off.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field

from skillweave.llm.backends.backend import Reply, Request, Stop
from skillweave.llm.backends.body import BodyError, Events, TokenCount, WireModel, read
from skillweave.llm.backends.endpoint import EndpointSettings, SdkBackend
from skillweave.llm.backends.errors import OptionalField
from skillweave.llm.backends.json_schema import output_format
from skillweave.llm.history import valid_arguments
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

MAX_TOKENS = 16384
"""The limit of tokens for requests that set none: the API wants one. A whole server's code fits into it."""
CACHED = {"type": "ephemeral"}
NO_EFFORT = "none"
"""The reasoning effort that stands for no thinking."""
THINKING = "thinking_blocks"
"""The field of an assistant's message that holds its reasoning as signed blocks."""
SIGNED = ("thinking", "redacted_thinking")
"""Types of signed blocks."""
NO_PARAMETERS: dict[str, Json] = {"type": "object", "properties": {}}
TOOL_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "model_context_window_exceeded": "context_window",
}
"""Stop reasons of the API; all others mean that the model was done."""
DECLINED = "the model declined to answer"


class AnthropicBackend(SdkBackend):
    """A model behind the messages API."""

    provider = "anthropic"
    home = "https://api.anthropic.com"
    key_variable = "ANTHROPIC_API_KEY"
    path = "/v1/messages"
    call_ids = re.compile(r"[a-zA-Z0-9_-]+")
    schema_path = ("output_config", "format")
    optional_fields = (
        OptionalField(("max_tokens",), r"\bmax_tokens\b", is_limit=True),
        OptionalField(("top_p",), r"\btop_p\b"),
        OptionalField(("temperature",), r"\btemperature\b"),
        OptionalField(("output_config", "effort"), r"\beffort\b"),
        OptionalField(
            ("output_config", "format"), r"output_config|output_format|json_schema|\bschemas?\b|structured|\bgrammar\b"
        ),
        OptionalField(("output_config",), r"\boutput_config\b"),
        OptionalField(("thinking",), r"\bthinking\b"),
    )

    def __init__(self, model: str, settings: EndpointSettings) -> None:
        # The SDK's paths begin with the version, and the addresses of other endpoints often end with it.
        base_url = settings.base_url and settings.base_url.rstrip("/").removesuffix("/v1")
        super().__init__(model, replace(settings, base_url=base_url))

    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _connect(self) -> Any:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient

        http = self._http(DefaultAioHttpClient)
        return AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
        )

    def _body(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": sampling.max_tokens or MAX_TOKENS,
            "messages": turns(request.messages),
            **self._thinking(request),
        }
        system = system_text(request.messages)
        if system:
            # Caching is asked for at Anthropic alone: other endpoints may take only a plain text.
            blocks = [{"type": "text", "text": system, "cache_control": CACHED}]
            body["system"] = blocks if self._is_home else system
        if request.tools:
            body["tools"] = wire_tools(request.tools)
            body["tool_choice"] = {"type": TOOL_CHOICES[request.tool_choice]}
        output = self._output(request)
        if output:
            body["output_config"] = output
        if self._settings.stream:
            body["stream"] = True
        return body

    def _thinking(self, request: Request) -> dict[str, Any]:
        """How to think or, without thinking, how to sample: a model that thinks takes no sampling."""
        effort = self._settings.reasoning_effort
        if effort is not None and effort != NO_EFFORT and request.tool_choice != "required":
            return {"thinking": {"type": "adaptive"}}
        settings = {"temperature": request.sampling.temperature, "top_p": request.sampling.top_p}
        sampling = {name: value for name, value in settings.items() if value is not None}
        return sampling if effort is None else {**sampling, "thinking": {"type": "disabled"}}

    def _output(self, request: Request) -> dict[str, Any]:
        """The reasoning effort and the form of the answer."""
        effort = self._settings.reasoning_effort
        output: dict[str, Any] = {"effort": effort} if effort is not None and effort != NO_EFFORT else {}
        if request.schema is not None and self._settings.structured:
            form = output_format(request.schema)
            output |= {"format": form} if form is not None else {}
        return output

    def _read(self, body: Json, request: Request) -> Reply:
        return _answer(read_message(body), request)

    def _read_events(self, events: Events, request: Request) -> Reply:
        return _answer(read_message_events(events), request)


def _answer(reply: Reply, request: Request) -> Reply:
    """A reply with its structured answer as text: some endpoints send it as the call of a tool that was not offered."""
    if request.schema is not None and not request.tools and reply.tool_calls and not reply.text.strip():
        arguments = reply.tool_calls[0].function.arguments
        stop = "stop" if reply.stop == "tool_calls" else reply.stop
        reply = replace(reply, text=str(arguments), tool_calls=(), stop=stop)
    return reply


def system_text(messages: Iterable[Message]) -> str:
    """The text of all system messages."""
    return "\n\n".join(message.content for message in messages if message.role == "system" and message.content)


def turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The user's and the assistant's messages of a valid history as the API takes them.

    It knows two roles that take turns: the results of all calls of a turn, and what the user says after them, are one
    user message. It refuses empty texts, which are left out.
    """
    joined: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _sent_blocks(message)
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
    definition = function if isinstance(function, dict) else dict(tool)
    schema = definition.get("parameters") or NO_PARAMETERS
    wire: dict[str, Any] = {"name": definition.get("name"), "input_schema": schema}
    if definition.get("description"):
        wire["description"] = definition["description"]
    return wire


def _sent_blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id or ""}
        return [{**result, "content": message.content} if message.content else result]
    blocks = _signed_blocks(message) if message.role == "assistant" else []
    if message.content and message.content.strip():
        blocks.append({"type": "text", "text": message.content})
    return blocks + [_wire_call(call) for call in message.tool_calls or ()]


def _signed_blocks(message: Message) -> list[dict[str, Any]]:
    """A message's signed reasoning; that of another provider is left out."""
    extra = (message.model_extra or {}).get(THINKING)
    blocks = extra if isinstance(extra, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") in SIGNED]


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = valid_arguments(call.function.arguments)
    values = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": values}


class _Block(WireModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=())

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Json = None


class _MessageUsage(WireModel):
    input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    cache_creation_input_tokens: TokenCount = 0
    cache_read_input_tokens: TokenCount = 0


class _Details(WireModel):
    explanation: str | None = None


class _Message(WireModel):
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None
    usage: _MessageUsage = Field(default_factory=_MessageUsage)


class _Delta(WireModel):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None


class _MessageEvent(WireModel):
    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _MessageUsage | None = None


def read_message(body: Json) -> Reply:
    """Read a message. Raises BodyError if it is none."""
    return _reply(read(_Message, body, "message"))


def read_message_events(events: Sequence[Json]) -> Reply:
    """Read a whole stream. Raises BodyError if it is none, or was cut off."""
    parts = [read(_MessageEvent, event, "event of a message") for event in events]
    start = next((event.message for event in parts if event.message is not None), None)
    end = next((event for event in reversed(parts) if event.delta is not None and event.delta.stop_reason), None)
    if start is None or end is None or end.delta is None:
        raise BodyError(f"the stream ended after {len(events)} events without a stop reason")
    output_tokens = end.usage.output_tokens if end.usage else start.usage.output_tokens
    message = _Message(
        content=_joined_blocks(parts),
        model=start.model,
        stop_reason=end.delta.stop_reason,
        stop_details=end.delta.stop_details,
        usage=start.usage.model_copy(update={"output_tokens": output_tokens}),
    )
    return _reply(message)


def _reply(message: _Message) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    thinking = [block for block in message.content if block.type in SIGNED]
    is_refusal = message.stop_reason == "refusal"
    reason = (message.stop_details.explanation if message.stop_details else None) or text or DECLINED
    usage = message.usage
    # What stands before a refusal is not to be used, and its calls not to be made.
    calls = () if is_refusal else tuple(_tool_call(block) for block in message.content if block.type == "tool_use")
    stop = STOPS.get(message.stop_reason or "", "stop")
    return Reply(
        text="" if is_refusal else text,
        # The API counts tokens that concern its cache apart.
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
    # The input of a stream is text, and is kept as it is if it is malformed.
    arguments = (
        block.input
        if isinstance(block.input, str)
        else json.dumps({} if block.input is None else block.input, ensure_ascii=False)
    )
    return ToolCall(id=block.id, function=FunctionCall(name=block.name, arguments=arguments))


def _joined_blocks(events: Sequence[_MessageEvent]) -> list[_Block]:
    """The blocks that the events of a stream build up, in order."""
    blocks: list[tuple[int, dict[str, Any]]] = []
    for event in events:
        # Gateways give two blocks one index, or none at all: then the last one that began is meant.
        begun = next((block for index, block in reversed(blocks) if index == event.index), None)
        if event.type == "content_block_start" and event.content_block is not None:
            blocks.append((event.index, event.content_block.model_dump(exclude_unset=True)))
        elif event.type == "content_block_delta" and event.delta is not None and begun is not None:
            _extend(begun, event.delta)
    return [_Block.model_validate(block) for _, block in sorted(blocks, key=lambda pair: pair[0])]


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
