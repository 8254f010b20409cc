"""The openai provider: the official SDK, for OpenAI and for any endpoint that speaks its chat API."""

from collections.abc import Mapping, Sequence
from typing import Any

from skillweave.errors import ProviderError
from skillweave.llm.backends.chat_wire import wire_message
from skillweave.llm.backends.chunks import read_chunks
from skillweave.llm.backends.completion import read_completion
from skillweave.llm.backends.endpoint import Endpoint, read_key
from skillweave.llm.backends.structured import response_format, unwrap
from skillweave.llm.lane import Lane
from skillweave.llm.request import Reply, Request
from skillweave.schema.message import Message
from skillweave.schema.record import Json

ENDPOINT = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIBackend(Endpoint):
    path = "/chat/completions"

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        base_url: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 4,
        structured: bool = True,
        stream: bool = False,
        lane: Lane | None = None,
        record_tokens: bool = False,
    ) -> None:
        # Another endpoint is sent a key only where the user names one.
        variable = api_key_env if base_url is not None else api_key_env or KEY_VARIABLE
        super().__init__(
            f"{provider}/{model}",
            base_url=base_url or ENDPOINT,
            key=read_key(variable),
            timeout=timeout,
            max_retries=max_retries,
            stream=stream,
            lane=lane,
        )
        self._is_openai = base_url is None
        self._structured = structured
        self._record_tokens = record_tokens
        self._asks_for_usage = True

    def _sdk(self) -> Any:
        import openai

        return openai

    def _connect(self) -> Any:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        return AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=self._max_retries,
            http_client=self._http(DefaultAioHttpClient),
        )

    def _body(self, request: Request) -> dict[str, Any]:
        messages = [self._message(said) for said in request.messages]
        body: dict[str, Any] = {"model": request.model, "messages": messages}
        body |= request.sampling.given()
        if self._is_openai and "max_tokens" in body:
            # OpenAI's newer models know only the new name, other servers often only the old one.
            body["max_completion_tokens"] = body.pop("max_tokens")
        if request.tools:
            body |= {"tools": self._tools(request.tools), "tool_choice": request.tool_choice}
        if request.schema is not None and self._structured:
            body["response_format"] = response_format(request.schema)
        if self._record_tokens:
            body["logprobs"] = True
        if self._stream:
            body["stream"] = True
            if self._asks_for_usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        return wire_message(message)

    def _tools(self, tools: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
        return list(tools)

    def _read(self, answer: bytes | list[object], request: Request) -> Reply:
        if isinstance(answer, bytes):
            reply = read_completion(answer, self.name, tokens=self._record_tokens)
        else:
            reply = read_chunks(answer, self.name, tokens=self._record_tokens)
        return unwrap(reply, request.schema) if self._structured else reply

    def _gives_way(self, fault: ProviderError) -> bool:
        """Some endpoints refuse to be asked for the usage of a stream; then it is unknown."""
        if not (self._stream and "stream_options" in str(fault)):
            return False
        self._asks_for_usage = False
        return True
