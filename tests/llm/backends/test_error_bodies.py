"""Errors in whatever shape: their words are told, and decide what is done."""

import json
import logging
from typing import Any

import pytest

from skillweave.base.errors import ProviderError
from skillweave.llm.backends.backend import Sampling

from ..protocols import a_completion, a_delta, a_message, a_response, chunks_of, events_of, response_events_of
from ..scripted import Act, ScriptedServer, fault, reply, soon, stream
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


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            {"error": {"code": 502, "message": "upstream broke"}, "finish_reason": "error"},
            "status 502: .*upstream broke",
        ),
        ({"error": {"code": "server_error", "message": "upstream broke"}, "finish_reason": None}, "upstream broke"),
        ({"finish_reason": "error"}, "finish_reason 'error'"),
        ({"finish_reason": "abort"}, "finish_reason 'abort'"),
    ],
)
def test_an_error_in_a_choice_is_no_answer(
    complete: Complete, choice: dict[str, Any], words: str, streamed: bool
) -> None:
    part = {"role": "assistant", "content": "" if "error" in choice else "Half"}
    body = {"choices": [{"index": 0, "delta" if streamed else "message": part, **choice}]}
    act = stream([a_delta(content="Hal"), body, "[DONE]"]) if streamed else reply(body)
    with ScriptedServer(act) as server, pytest.raises(ProviderError, match=words) as caught:
        complete("openai", server, stream=streamed)
    assert caught.value.transient


FULL = {
    "gemini": (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    "xai": (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    "bedrock": (400, "Input is too long for requested model."),
    "sglang": (400, "Input length (9000 tokens) exceeds the maximum allowed length (4091 tokens)."),
    "tgi": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 and 100"),
    "groq": (413, "Request too large for model. Please reduce the length of the messages or completion."),
    "qwen": (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"),
    "kimi": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "cohere": (400, "too many tokens: size limit exceeded by 1000 tokens. Try using shorter or fewer inputs"),
    "ollama": (500, "input length exceeds maximum context length"),
    "llama.cpp": (500, "the request exceeds the available context size. try increasing the context size"),
}


@pytest.mark.parametrize(("status", "words"), FULL.values(), ids=FULL)
def test_each_servers_words_for_a_full_context_window_are_known(complete: Complete, status: int, words: str) -> None:
    with ScriptedServer(fault(status, words)) as server:
        assert complete("openai", server).stop == "context_window"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "cannot allocate the cache for context length 8192"),
        (500, "the worker's context window manager crashed"),
        (429, "Input is too long: reduce the length of the messages, or wait"),
    ],
)
def test_a_fault_of_a_server_that_speaks_of_lengths_is_no_full_window(
    complete: Complete, status: int, words: str
) -> None:
    with ScriptedServer(soon(fault(status, words))) as server, pytest.raises(ProviderError, match=words):
        complete("openai", server)


@protocols
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("body", [SHAPES["openai"], SHAPES["gemini"]])
def test_an_error_body_is_decoded_whatever_its_encoding(
    complete: Complete, protocol: Protocol, body: object, encoding: str
) -> None:
    raw = json.dumps(body, ensure_ascii=False).replace("WORDS", "the tööl is bad").encode(encoding)
    with (
        ScriptedServer(Act(raw, 400, JSON)) as server,
        pytest.raises(ProviderError, match=r"status 400: the tööl is bad$"),
    ):
        complete(protocol, server)


@protocols
def test_bytes_that_are_no_text_are_shown_all_the_same(complete: Complete, protocol: Protocol) -> None:
    raw = '{"error": {"message": "the tööl is bad"}}'.encode("latin-1")
    with ScriptedServer(Act(raw, 400, JSON)) as server, pytest.raises(ProviderError, match=r"status 400: the t.*l is"):
        complete(protocol, server)
