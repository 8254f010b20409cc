import asyncio
import json
from typing import Any

import pytest

from skillweave.base.errors import ConfigError, ProviderError
from skillweave.llm.backends.anthropic import AnthropicBackend
from skillweave.llm.backends.backend import Reply, Sampling
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

from ..protocols import a_message, a_use, events_of
from ..scripted import ScriptedServer, reply, stream
from .conftest import Complete, a_request

KEY = "sk-ant-secret"
TOOL: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}
THINKING: dict[str, Any] = {"type": "thinking", "thinking": "Hm, yes.", "signature": "c2lnbmVk"}
TEXT: dict[str, Any] = {"type": "text", "text": "Hello, é 🙂."}
ANSWERS = [
    a_message(),
    a_message(THINKING, {"type": "redacted_thinking", "data": "xyz"}, TEXT),
    a_message(TEXT, a_use(), a_use("find", {}, "t2"), reason="tool_use"),
    a_message(TEXT, reason="max_tokens"),
    a_message(TEXT, reason="stop_sequence"),
    a_message(TEXT, a_use(), reason="refusal"),
    a_message(TEXT, reason="model_context_window_exceeded"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_a_stream_gives_the_reply_that_the_body_gives(complete: Complete, answer: dict[str, Any]) -> None:
    with ScriptedServer(reply(answer), stream(events_of(answer), named=True)) as server:
        whole = complete("anthropic", server)
        assert complete("anthropic", server, stream=True) == whole
        assert (whole.input_tokens, whole.output_tokens, whole.model) == (7, 3, "claude-2026")
        assert server.heard[1].body == {**server.heard[0].body, "stream": True}


def test_text_calls_and_reasoning_are_told_apart(complete: Complete) -> None:
    answer = a_message(THINKING, TEXT, a_use(), a_use("find", {}, "t2"), reason="tool_use")
    with ScriptedServer(reply(answer)) as server:
        said = complete("anthropic", server)
    assert (said.text, said.stop, said.reasoning) == ("Hello, é 🙂.", "tool_calls", "Hm, yes.")
    assert said.tool_calls == (
        ToolCall(id="t1", function=FunctionCall(name="book", arguments='{"day": 1}')),
        ToolCall(id="t2", function=FunctionCall(name="find", arguments="{}")),
    )
    assert said.blocks == (THINKING,)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("model_context_window_exceeded", "context_window"),
        ("something_new", "stop"),
    ],
)
def test_stop_reasons_have_our_names(complete: Complete, reason: str, stop: str) -> None:
    with ScriptedServer(reply(a_message(reason=reason))) as server:
        assert complete("anthropic", server).stop == stop


def test_a_refusal_has_its_words_and_no_calls(complete: Complete) -> None:
    with ScriptedServer(reply(a_message(TEXT, a_use(), reason="refusal"))) as server:
        said = complete("anthropic", server)
    assert (said.text, said.refusal, said.tool_calls) == ("", "Hello, é 🙂.", ())
    answer = a_message(TEXT, reason="refusal", stop_details={"type": "refusal", "explanation": "Not this."})
    with ScriptedServer(reply(answer)) as server:
        assert complete("anthropic", server).refusal == "Not this."


def test_malformed_arguments_of_a_stream_are_handed_on(complete: Complete) -> None:
    answer = a_message(a_use(arguments='{"day": 1, "wh'), reason="max_tokens")
    with ScriptedServer(stream(events_of(answer), named=True)) as server:
        said = complete("anthropic", server, stream=True)
    assert said.tool_calls[0].function.arguments == '{"day": 1, "wh'
    assert said.stop == "length"


@pytest.mark.parametrize("index", [0, None])
def test_blocks_that_share_an_index_are_told_apart(complete: Complete, index: int | None) -> None:
    answer = a_message(TEXT, a_use(), a_use("find", {}, "t2"), reason="tool_use")
    events: list[dict[str, Any]] = [
        {**event, "index": index} if "index" in event else event for event in events_of(answer)
    ]
    events.insert(3, {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": None}})
    with ScriptedServer(stream(events, named=True), reply(answer)) as server:
        assert complete("anthropic", server, stream=True) == complete("anthropic", server)


def test_an_empty_answer_is_a_reply(complete: Complete) -> None:
    answer = {**a_message(), "content": []}
    with ScriptedServer(reply(answer)) as server:
        assert complete("anthropic", server) == Reply("", input_tokens=7, output_tokens=3, model="claude-2026")


def test_what_goes_out(complete: Complete, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    messages = (Message(role="system", content="Be kind."), Message(role="user", content="Hello?"))
    request = a_request(
        messages=messages,
        tools=(TOOL,),
        tool_choice="required",
        schema={"type": "array"},
        sampling=Sampling(temperature=0.5, seed=3),
        question="secret.question",
        variables={"golden": "secret"},
    )
    with ScriptedServer(reply(a_message())) as server:
        complete("anthropic", server, request, api_key_env="TEST_KEY")
    heard = server.heard[0]
    assert heard.path == "/v1/messages"
    assert heard.body == {
        "model": "m",
        "max_tokens": 16384,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}],
        "temperature": 0.5,
        "system": "Be kind.",
        "tools": [{"name": "book", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any"},
    }
    assert KEY in str(heard.headers)


def test_another_endpoint_is_never_sent_the_key_of_anthropic(
    complete: Complete, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    with ScriptedServer(reply(a_message())) as server:
        complete("anthropic", server, base_url=f"{server.url}/v1/")
    assert server.heard[0].path == "/v1/messages"
    assert KEY not in str(server.heard[0].headers)


def test_a_missing_key_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="'ANTHROPIC_API_KEY' holds no API key"):
        AnthropicBackend("m", EndpointSettings())


@pytest.mark.parametrize("body", [{}, {"content": None}, {"content": [{"text": "x"}]}, [1], "text"])
def test_a_body_that_is_no_message_is_a_transient_error(complete: Complete, body: object) -> None:
    with ScriptedServer(reply(body)) as server:
        with pytest.raises(ProviderError, match="no message") as caught:
            complete("anthropic", server)
        assert caught.value.transient


def test_cached_input_is_input(complete: Complete) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    with ScriptedServer(reply(a_message(usage=usage)), stream(events_of(a_message(usage=usage)), named=True)) as server:
        for streamed in (False, True):
            said = complete("anthropic", server, stream=streamed)
            assert (said.input_tokens, said.cached_input_tokens, said.cache_write_tokens) == (127, 100, 20)


def test_a_model_that_thinks_is_sent_no_sampling(complete: Complete) -> None:
    request = a_request(sampling=Sampling(temperature=0.5, top_p=0.9))
    with ScriptedServer(reply(a_message())) as server:
        complete("anthropic", server, request, reasoning_effort="high")
        complete("anthropic", server, request, reasoning_effort="none")
    thinks, does_not = (heard.body for heard in server.heard)
    assert (thinks["thinking"], thinks["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    assert not {"temperature", "top_p"} & thinks.keys()
    assert (does_not["thinking"], does_not["temperature"], does_not["top_p"]) == ({"type": "disabled"}, 0.5, 0.9)
    assert "output_config" not in does_not


def test_the_system_prompt_is_cached_at_the_providers_own_endpoint_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = (Message(role="system", content="Be kind."), Message(role="user", content="Hello?"))
    with ScriptedServer(reply(a_message())) as server:
        monkeypatch.setattr(AnthropicBackend, "home", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

        async def asked() -> None:
            backend = AnthropicBackend("m", EndpointSettings())
            await backend.complete(a_request(messages=messages))
            await backend.close()

        asyncio.run(asked())
    (block,) = server.heard[0].body["system"]
    assert block == {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    assert KEY in str(server.heard[0].headers)


def test_an_answers_schema_is_sent_and_a_call_in_its_place_is_the_answer(complete: Complete) -> None:
    numbers: dict[str, Json] = {"type": "array", "items": {"type": "integer", "minimum": 1}}
    schema: dict[str, Json] = {"type": "object", "properties": {"answer": numbers}, "required": ["answer"]}
    said = {"type": "text", "text": '{"answer": [1, 2]}'}
    used = a_use("answer", {"answer": [1, 2]})
    with ScriptedServer(
        reply(a_message(said)),
        reply(a_message(used, reason="tool_use")),
        stream(events_of(a_message(used, reason="tool_use")), named=True),
    ) as server:
        texts = [complete("anthropic", server, a_request(schema=schema), stream=last) for last in (False, False, True)]
    assert [(json.loads(said.text), said.stop, said.tool_calls) for said in texts] == [
        ({"answer": [1, 2]}, "stop", ())
    ] * 3
    form = server.heard[0].body["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["properties"] == {"answer": {"type": "array", "items": {"type": "integer"}}}


def test_what_its_schemas_cannot_say_is_not_sent(complete: Complete) -> None:
    said = {"type": "text", "text": '{"answer": 1}'}
    with ScriptedServer(reply(a_message(said))) as server:
        answer = complete("anthropic", server, a_request(schema={"type": "object", "additionalProperties": True}))
    assert answer.text == '{"answer": 1}'
    assert "output_config" not in server.heard[0].body
