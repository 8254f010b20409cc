import asyncio
import itertools
import json
import logging
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HTTPRequest
from werkzeug import Response

from skillweave.base.errors import ConfigError, ProviderError
from skillweave.llm.backends.backend import Reply, Request, Sampling
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.llm.backends.openai_chat import ChatBackend
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

KEY = "sk-this-is-the-secret-key"
PATH = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def a_request(**changes: Any) -> Request:
    settings: dict[str, Any] = {"messages": (Message(role="user", content="Hello?"),), "model": "m", "key": "k"}
    return Request(**(settings | changes))


def a_body(content: str | None = "Hi.", *, reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "model": "m-2026",
        "choices": [
            {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def complete(server: HTTPServer, request: Request | None = None, **options: Any) -> Reply:
    settings: dict[str, Any] = {
        "base_url": server.url_for("/v1"),
        "api_key_env": "TEST_KEY",
        "timeout": 5.0,
    }
    backend = ChatBackend("m", EndpointSettings(**(settings | options)))

    async def once() -> Reply:
        try:
            return await backend.complete(request or a_request())
        finally:
            await backend.close()

    return asyncio.run(once())


def sent(server: HTTPServer) -> Mapping[str, Any]:
    body: Mapping[str, Any] = json.loads(server.log[-1][0].data)
    return body


def test_a_reply_has_text_tokens_and_model(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body())
    reply = complete(httpserver, a_request(sampling=Sampling(temperature=0.5, max_tokens=9)))
    assert reply == Reply("Hi.", input_tokens=7, output_tokens=3, model="m-2026")
    assert sent(httpserver) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello?"}],
        "temperature": 0.5,
        "max_tokens": 9,
    }
    assert httpserver.log[-1][0].headers["Authorization"] == f"Bearer {KEY}"


def test_tokens_that_a_cache_had_to_do_with_are_told(httpserver: HTTPServer) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
    httpserver.expect_request(PATH).respond_with_json({**a_body(), "usage": usage})
    reply = complete(httpserver)
    assert (reply.input_tokens, reply.cached_input_tokens, reply.output_tokens) == (7, 5, 3)


def test_extra_fields_go_out_last_and_effort_by_its_name(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body())
    request = a_request(sampling=Sampling(temperature=0.5))
    complete(httpserver, request, extra={"top_k": 20, "temperature": 0.1}, reasoning_effort="high")
    assert (sent(httpserver)["top_k"], sent(httpserver)["temperature"]) == (20, 0.1)
    assert sent(httpserver)["reasoning_effort"] == "high"


def test_openais_own_endpoint_is_told_the_limit_by_its_new_name(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body())
    monkeypatch.setattr(ChatBackend, "home", httpserver.url_for("/v1"))
    complete(httpserver, a_request(sampling=Sampling(max_tokens=9)))
    assert sent(httpserver)["max_completion_tokens"] == 9
    assert "max_tokens" not in sent(httpserver)


def test_only_messages_schema_and_sampling_are_sent(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body())
    complete(httpserver, a_request(question="secret.question", variables={"golden": "secret-variable"}))
    assert b"secret" not in httpserver.log[-1][0].data


def test_tools_go_out_and_calls_come_back(httpserver: HTTPServer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"day": 1}'}}
    httpserver.expect_request(PATH).respond_with_json(a_body(None, reason="tool_calls", tool_calls=[call]))
    tool: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {}}}
    earlier = Message(
        role="assistant",
        tool_calls=[ToolCall(id="c0", function=FunctionCall(name="find", arguments={"day": 1}))],
        reasoning_content="I look first.",
    )
    question = Message(role="user", content="Book day 1.")
    answer = Message(role="tool", content="[]", tool_call_id="c0")
    reply = complete(httpserver, a_request(messages=(question, earlier, answer), tools=(tool,)))
    assert (reply.stop, reply.text) == ("tool_calls", "")
    assert reply.tool_calls[0].function == FunctionCall(name="book", arguments='{"day": 1}')
    _, first, second = sent(httpserver)["messages"]
    assert first["tool_calls"][0]["function"]["arguments"] == '{"day": 1}'
    assert first["reasoning_content"] == "I look first."
    assert second["tool_call_id"] == "c0"
    assert sent(httpserver)["tools"] == [tool]


def test_an_answers_schema_is_sent_where_the_author_is_to_be_held_to_it(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body('{"answer": [1, 2]}'))
    numbers: dict[str, Json] = {"type": "array", "items": {"type": "integer"}}
    schema: dict[str, Json] = {"type": "object", "properties": {"answer": numbers}, "required": ["answer"]}
    assert complete(httpserver, a_request(schema=schema)).text == '{"answer": [1, 2]}'
    form = sent(httpserver)["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["properties"] == schema["properties"]
    assert complete(httpserver, a_request(schema=schema), structured=False).text == '{"answer": [1, 2]}'
    assert "response_format" not in sent(httpserver)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>It works!</html>", "text/html"),
        (b'{"choices": [', "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": [{"message": null}]}', "application/json"),
        (b"\xff\xfe\x00", "application/json"),
        (b"", "application/json"),
    ],
)
def test_a_body_that_is_no_completion_is_a_transient_error(httpserver: HTTPServer, body: bytes, kind: str) -> None:
    httpserver.expect_request(PATH).respond_with_data(body, content_type=kind)
    with pytest.raises(ProviderError, match=r"no usable answer: no (chat completion|JSON)|no text") as caught:
        complete(httpserver)
    assert caught.value.transient


@pytest.mark.parametrize(
    ("body", "stop", "refusal"),
    [
        (a_body(None, refusal="I won't."), "content_filter", "I won't."),
        (a_body(None, reason="content_filter"), "content_filter", None),
        (a_body(""), "stop", None),
        (a_body(None, reason="length"), "length", None),
    ],
)
def test_an_author_that_says_nothing_is_a_reply_without_text(
    httpserver: HTTPServer, body: dict[str, Any], stop: str, refusal: str | None
) -> None:
    httpserver.expect_request(PATH).respond_with_json(body)
    reply = complete(httpserver)
    assert (reply.text, reply.stop, reply.refusal) == ("", stop, refusal)


def test_a_full_context_window_is_a_stop_reason(httpserver: HTTPServer) -> None:
    error = {"message": "This model's maximum context length is 8 tokens", "code": "context_length_exceeded"}
    httpserver.expect_request(PATH).respond_with_json({"error": error}, status=400)
    assert complete(httpserver).stop == "context_window"


def test_a_slow_server_is_a_provider_error(httpserver: HTTPServer) -> None:
    def sleep(_: HTTPRequest) -> Response:
        time.sleep(1)
        return Response("{}")

    httpserver.expect_request(PATH).respond_with_handler(sleep)
    with pytest.raises(ProviderError, match="APITimeoutError"):
        complete(httpserver, timeout=0.2)


def test_a_server_that_drips_is_not_waited_for_without_end(httpserver: HTTPServer) -> None:
    def drops() -> Iterator[str]:
        for _ in itertools.count():
            time.sleep(0.05)
            yield " "

    httpserver.expect_request(PATH).respond_with_handler(lambda _: Response(drops(), content_type="application/json"))
    with pytest.raises(ProviderError, match=r"no answer within 1 seconds|Timeout"):
        complete(httpserver, timeout=0.2)


def test_a_server_that_is_not_there_is_a_provider_error() -> None:
    backend = ChatBackend("m", EndpointSettings(base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ProviderError, match=r"not reached: Cannot connect.*127.0.0.1"):
        asyncio.run(backend.complete(a_request()))


def test_the_key_is_in_no_error_and_no_log(httpserver: HTTPServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    httpserver.expect_request(PATH).respond_with_json(error, status=401)
    with pytest.raises(ProviderError, match="check the key") as caught:
        complete(httpserver)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    assert KEY not in caplog.text


def test_a_missing_key_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="'TEST_KEY' holds no API key"):
        ChatBackend("m", EndpointSettings(api_key_env="TEST_KEY"))
    with pytest.raises(ConfigError, match="'OPENAI_API_KEY' holds no API key"):
        ChatBackend("m", EndpointSettings())


def test_another_endpoint_is_never_sent_the_key_of_openai(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    httpserver.expect_request(PATH).respond_with_json(a_body())
    complete(httpserver, api_key_env=None)
    assert KEY not in str(httpserver.log[-1][0].headers)


def test_one_backend_serves_several_event_loops(httpserver: HTTPServer) -> None:
    httpserver.expect_request(PATH).respond_with_json(a_body())
    backend = ChatBackend("m", EndpointSettings(base_url=httpserver.url_for("/v1")))

    async def twice() -> None:
        await asyncio.gather(backend.complete(a_request()), backend.complete(a_request()))
        await backend.close()

    asyncio.run(twice())
    asyncio.run(twice())
    assert len(httpserver.log) == 4


def test_a_connected_author_mends_garbled_bodies(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request(PATH).respond_with_data("{", content_type="application/json")
    httpserver.expect_ordered_request(PATH).respond_with_json(a_body())
    spec = AuthorSpec("openai", "m", base_url=httpserver.url_for("/v1"), sampling=Sampling(seed=3))

    async def once() -> Reply:
        backend = connect(spec)
        try:
            return await backend.complete(a_request(model=""))
        finally:
            await backend.close()

    assert asyncio.run(once()).text == "Hi."
    assert (sent(httpserver)["model"], sent(httpserver)["seed"]) == ("m", 3)
