"""OpenAI's chat API, which most endpoints speak."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from skillweave.llm.backends.body import Events
from skillweave.llm.backends.chat_wire import wire_message
from skillweave.llm.backends.chunks import read_chunks
from skillweave.llm.backends.completion import read_completion
from skillweave.llm.backends.concessions import Dispensable
from skillweave.llm.backends.openai import OpenAIEndpoint
from skillweave.llm.backends.structured import response_format
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message
from skillweave.schema.record import Json


class ChatBackend(OpenAIEndpoint):
    path = "/chat/completions"
    schema_path = ("response_format",)
    dispensable: ClassVar[Sequence[Dispensable]] = (
        Dispensable(("stream_options",), r"\bstream_options\b"),
        Dispensable(("max_tokens",), r"\bmax_tokens\b", is_limit=True, instead="max_completion_tokens"),
        Dispensable(("max_completion_tokens",), r"\bmax_(completion_)?tokens\b", is_limit=True),
        Dispensable(("top_p",), r"\btop_p\b"),
        Dispensable(("temperature",), r"\btemperature\b"),
        Dispensable(("seed",), r"\bseed\b"),
        Dispensable(("reasoning_effort",), r"\breasoning[_ ]?effort\b|\bthinking\b"),
        Dispensable(("logprobs",), r"\blogprobs\b"),
        Dispensable(
            ("response_format",), r"response_format|json_schema|\bschema\b|\bstrict\b|\bgrammar\b|structured|guided"
        ),
    )

    def _body(self, request: Request) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [self._message(said) for said in request.messages],
            **request.sampling.given(),
        }
        if self._is_openai and "max_tokens" in body:
            # OpenAI's newer models know only the new name, other servers often only the old one.
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
