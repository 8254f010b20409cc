"""Errors in whatever shape: their words are told, and decide what is done."""

import json
import logging
from typing import Any

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.backend import Sampling

from ..protocols import a_completion, a_delta, a_message, a_response, chunks_of, events_of, response_events_of
from ..scripted import Act, ScriptedServer, reply, stream
from .conftest import Complete, Protocol, a_request

SHAPES: dict[str, Any] = {
    "openai": {"error": {"message": "WORDS", "type": "invalid_request_error", "param": None, "code": None}},
    "gemini": [{"error": {"code": 400, "message": "WORDS", "status": "INVALID_ARGUMENT"}}],
    "ollama": {"error": "WORDS"},
    "a flag": {"error": True, "message": "WORDS"},
    "spring": {"status": 400, "error": "Bad Request", "message": "WORDS", "path": "/v1"},
    "fastapi": {"detail": "WORDS"},
    "fastapi's list": {"detail": [{"loc": ["body", "messages", 0], "msg": "WORDS", "type": "value_error"}]},
    "fastapi's object": {"detail": {"error": {"message": "WORDS"}}},
    "vllm": {"object": "error", "message": "WORDS", "type": "BadRequestError", "code": 400},
    "mistral": {"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "WORDS"}]}, "code": None},
    "a message": {"message": "WORDS"},
    "cloudflare": {"success": False, "errors": [{"code": 5006, "message": "WORDS"}], "messages": [], "result": None},
    "texts": {"errors": ["WORDS"]},
    "openrouter": {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps({"error": {"message": "WORDS"}}), "provider_name": "X"},
        }
    },
    "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "WORDS"}},
}
PAGES = {
    "plain text": "WORDS\n",
    "a page": "<html><head><title>WORDS</title></head><body><h1>502</h1><hr>nginx</body></html>",
    "a page without a title": "<!DOCTYPE html><style>p {x: y}</style><p>WORDS</p>",
}
BODIES = {**{name: json.dumps(shape) for name, shape in SHAPES.items()}, **PAGES}
JSON = {"Content-Type": "application/json"}
protocols = pytest.mark.parametrize("protocol", ["openai", "anthropic", "responses"])
ANSWERS: dict[str, tuple[Act, Act]] = {
    "openai": (reply(a_completion()), stream(chunks_of(a_completion()))),
    "anthropic": (reply(a_message()), stream(events_of(a_message()), named=True)),
    "responses": (reply(a_response()), stream(response_events_of(a_response()), named=True)),
}


def sent(body: str, words: str, status: int = 400) -> Act:
    return Act(body.replace("WORDS", words).encode(), status, JSON)


@protocols
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_words_of_an_error_are_told_on_one_line(
    complete: Complete, protocol: Protocol, body: str, streamed: bool
) -> None:
    with (
        ScriptedServer(sent(body, "the tool is bad")) as server,
        pytest.raises(ProviderError, match=r"status 400: .*the tool is bad") as caught,
    ):
        complete(protocol, server, stream=streamed)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_full_context_window_is_seen(complete: Complete, body: str, streamed: bool) -> None:
    with ScriptedServer(sent(body, "This model's maximum context length is 8 tokens")) as server:
        assert complete("openai", server, stream=streamed).stop == "context_window"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_unsupported_field_is_seen(complete: Complete, body: str, streamed: bool) -> None:
    request = a_request(sampling=Sampling(temperature=0.5))
    with ScriptedServer(sent(body, "temperature is not supported"), ANSWERS["openai"][streamed]) as server:
        assert complete("openai", server, request, stream=streamed).text == "Hi."
    assert ["temperature" in heard.body for heard in server.heard] == [True, False]


WAYS = {
    "with status 200": lambda shape: reply(shape),
    "in place of a stream": lambda shape: reply(shape),
    "in a stream": lambda shape: stream([a_delta(content="Hi"), shape]),
    "first in a stream": lambda shape: stream([shape]),
    "as an error field": lambda shape: Act(
        headers={"Content-Type": "text/event-stream"}, pieces=[f"error: {json.dumps(shape)}\n\n".encode()]
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SHAPES)
def test_an_error_in_the_place_of_an_answer_is_read_alike(
    complete: Complete, name: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    streamed = way != "with status 200"

    def act(words: str) -> Act:
        return WAYS[way](json.loads(json.dumps(SHAPES[name]).replace("WORDS", words)))

    with ScriptedServer(act("the tool is bad")) as server, pytest.raises(ProviderError, match="the tool is bad"):
        complete("openai", server, stream=streamed)
    with ScriptedServer(act("This model's maximum context length is 8 tokens")) as server:
        assert complete("openai", server, stream=streamed).stop == "context_window"
    request = a_request(sampling=Sampling(temperature=0.5))
    with ScriptedServer(act("temperature is not supported"), ANSWERS["openai"][streamed]) as server:
        assert complete("openai", server, request, stream=streamed).text == "Hi."
    assert len([line for line in caplog.messages if "temperature is left out from now on" in line]) == 1


def test_words_of_an_error_event_may_be_plain(complete: Complete) -> None:
    event = b"event: error\ndata: prompt is too long\n\n"
    with ScriptedServer(Act(headers={"Content-Type": "text/event-stream"}, pieces=[event])) as server:
        assert complete("openai", server, stream=True).stop == "context_window"


@protocols
def test_an_error_of_no_known_shape_is_shown(complete: Complete, protocol: Protocol) -> None:
    for body, shown in (('{"code": 17, "why": {"x": "no"}}', '"why": {"x": "no"}'), ("[" * 5000, r"\[\[\[")):
        with ScriptedServer(Act(body.encode(), 400, JSON)) as server, pytest.raises(ProviderError, match=shown):
            complete(protocol, server)
    deep = '{"error": ' * 500 + '"x"' + "}" * 500
    for body in (deep, "", "null", "17", "true"):
        with ScriptedServer(Act(body.encode(), 400, JSON)) as server, pytest.raises(ProviderError, match="status 400"):
            complete(protocol, server)
