"""The anthropic provider: the official SDK, for Anthropic and for any endpoint that speaks its messages API.

An answer's schema is not sent along: the prompt holds it, and the parser of answers is tolerant of what surrounds
one. The API knows no seed, so a sampling's seed is left out.
"""

from typing import Any

from skillweave.llm.backends.anthropic_message import read_events, read_message
from skillweave.llm.backends.anthropic_wire import CHOICES, system_text, turns, wire_tools
from skillweave.llm.backends.endpoint import Endpoint, read_key
from skillweave.llm.lane import Lane
from skillweave.llm.request import Reply, Request

ENDPOINT = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
MAX_TOKENS = 4096
"""Where the sampling leaves it open; the API wants a number."""


class AnthropicBackend(Endpoint):
    path = "/v1/messages"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 120.0,
        stream: bool = False,
        lane: Lane | None = None,
    ) -> None:
        # Another endpoint is sent a key only where the user names one.
        variable = api_key_env if base_url is not None else api_key_env or KEY_VARIABLE
        super().__init__(
            f"anthropic/{model}",
            # The SDK's paths begin with the version, which the addresses of other endpoints often end in.
            base_url=(base_url or ENDPOINT).rstrip("/").removesuffix("/v1"),
            key=read_key(variable),
            timeout=timeout,
            stream=stream,
            lane=lane,
        )

    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _connect(self) -> Any:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient

        return AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._timeout,
            max_retries=0,
            http_client=self._http(DefaultAioHttpClient),
        )

    def _body(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        given = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": sampling.max_tokens or MAX_TOKENS,
            "messages": turns(request.messages),
            **{name: value for name, value in given.items() if value is not None},
        }
        system = system_text(request.messages)
        if system:
            body["system"] = system
        if request.tools:
            body["tools"] = wire_tools(request.tools)
            body["tool_choice"] = {"type": CHOICES[request.tool_choice]}
        if self._stream:
            body["stream"] = True
        return body

    def _read(self, answer: bytes | list[object], request: Request) -> Reply:
        return read_message(answer, self.name) if isinstance(answer, bytes) else read_events(answer, self.name)
