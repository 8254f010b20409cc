"""OpenAI's Responses API: what its reasoning models are at their best with.

Nothing is stored at the endpoint: each request holds the whole conversation, sealed reasoning included. The API knows
no seed, so a sampling's seed is left out.
"""

from typing import Any

from skillweave.llm.backends.body import Events
from skillweave.llm.backends.concessions import Dispensable
from skillweave.llm.backends.openai import OpenAIEndpoint
from skillweave.llm.backends.responses_reply import read_response, read_response_events
from skillweave.llm.backends.responses_wire import input_items, instructions, wire_tools
from skillweave.llm.backends.structured import text_format
from skillweave.llm.request import Reply, Request
from skillweave.schema.record import Json

SEALED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"


class ResponsesBackend(OpenAIEndpoint):
    path = "/responses"
    schema_path = ("text", "format")
    dispensable = (
        Dispensable(("include",), r"[`'\"]include[`'\"]|encrypted[_ ]content"),
        Dispensable(("max_output_tokens",), r"\bmax_(output_)?tokens\b", is_limit=True),
        Dispensable(("top_p",), r"\btop_p\b"),
        Dispensable(("temperature",), r"\btemperature\b"),
        Dispensable(("reasoning",), r"\breasoning\b"),
        Dispensable(("text", "format"), r"text\.format|response_format|json_schema|\bschema\b|\bstrict\b|structured"),
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
