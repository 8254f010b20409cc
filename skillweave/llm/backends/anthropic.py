"""The anthropic provider: the official SDK, for Anthropic and for any endpoint that speaks its messages API.

The API knows no seed, so a sampling's seed is left out; and a model that thinks takes no temperature. An answer's
schema is sent where the API can express it; the prompt holds it in any case.
"""

from dataclasses import replace
from typing import Any

from skillweave.llm.backends.anthropic_message import read_events, read_message
from skillweave.llm.backends.anthropic_wire import CHOICES, system_text, turns, wire_tools
from skillweave.llm.backends.body import Events
from skillweave.llm.backends.concessions import Dispensable
from skillweave.llm.backends.endpoint import Endpoint
from skillweave.llm.backends.settings import Settings
from skillweave.llm.backends.structured import output_format
from skillweave.llm.request import Reply, Request
from skillweave.schema.record import Json

ENDPOINT = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
MAX_TOKENS = 16384
"""Where the sampling leaves it open; the API wants a number. Whole servers fit into it."""
CACHED = {"type": "ephemeral"}
NO_EFFORT = "none"


class AnthropicBackend(Endpoint):
    provider = "anthropic"
    home = ENDPOINT
    key_variable = KEY_VARIABLE
    path = "/v1/messages"
    schema_path = ("output_config", "format")
    dispensable = (
        Dispensable(("max_tokens",), r"\bmax_tokens\b", is_limit=True),
        Dispensable(("top_p",), r"\btop_p\b"),
        Dispensable(("temperature",), r"\btemperature\b"),
        Dispensable(("output_config", "effort"), r"\beffort\b"),
        Dispensable(
            ("output_config", "format"), r"output_config|output_format|json_schema|\bschemas?\b|structured|\bgrammar\b"
        ),
        Dispensable(("output_config",), r"\boutput_config\b"),
        Dispensable(("thinking",), r"\bthinking\b"),
    )

    def __init__(self, model: str, settings: Settings) -> None:
        # The SDK's paths begin with the version, which the addresses of other endpoints often end in.
        base_url = settings.base_url and settings.base_url.rstrip("/").removesuffix("/v1")
        super().__init__(model, replace(settings, base_url=base_url))

    def _sdk(self) -> Any:
        import anthropic

        return anthropic

    def _connect(self) -> Any:
        from anthropic import AsyncAnthropic, DefaultAioHttpClient

        return AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            timeout=self._settings.timeout,
            max_retries=0,
            http_client=self._http(DefaultAioHttpClient),
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
            # Other endpoints know a plain text at least.
            blocks = [{"type": "text", "text": system, "cache_control": CACHED}]
            body["system"] = blocks if self._is_home else system
        if request.tools:
            body["tools"] = wire_tools(request.tools)
            body["tool_choice"] = {"type": CHOICES[request.tool_choice]}
        output = self._output(request)
        if output:
            body["output_config"] = output
        if self._settings.stream:
            body["stream"] = True
        return body

    def _thinking(self, request: Request) -> dict[str, Any]:
        """How to think, or how to sample: a model that thinks takes no sampling."""
        effort = self._settings.reasoning_effort
        if effort is not None and effort != NO_EFFORT and request.tool_choice != "required":
            return {"thinking": {"type": "adaptive"}}
        given = {"temperature": request.sampling.temperature, "top_p": request.sampling.top_p}
        sampling = {name: value for name, value in given.items() if value is not None}
        return sampling if effort is None else {**sampling, "thinking": {"type": "disabled"}}

    def _output(self, request: Request) -> dict[str, Any]:
        """How much effort to take, and the form of the answer."""
        effort = self._settings.reasoning_effort
        output: dict[str, Any] = {"effort": effort} if effort is not None and effort != NO_EFFORT else {}
        if request.schema is not None and self._settings.structured:
            form = output_format(request.schema)
            output |= {"format": form} if form is not None else {}
        return output

    def _read(self, body: Json, request: Request) -> Reply:
        return _answer(read_message(body), request)

    def _read_events(self, events: Events, request: Request) -> Reply:
        return _answer(read_events(events), request)


def _answer(reply: Reply, request: Request) -> Reply:
    """The reply, with a structured answer as its text: some endpoints send it as a call that nobody offered."""
    if request.schema is not None and not request.tools and reply.tool_calls and not reply.text.strip():
        arguments = reply.tool_calls[0].function.arguments
        stop = "stop" if reply.stop == "tool_calls" else reply.stop
        reply = replace(reply, text=str(arguments), tool_calls=(), stop=stop)
    return reply
