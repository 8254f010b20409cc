"""OpenAI's Responses API, whole and streamed."""

from typing import Any

import pytest

from skillweave.llm.backends.backend import Reply, Sampling, Tokens
from skillweave.llm.backends.endpoint import EndpointSettings
from skillweave.llm.backends.openai_responses import ResponsesBackend, input_items, instructions
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

from ..protocols import a_function_call, a_response, a_sealed_thought, an_output, response_events_of
from ..scripted import ScriptedServer, reply, stream
from .conftest import Complete, a_request

TOOL: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}
ANSWERS = [
    a_response(),
    a_response(a_sealed_thought(), an_output("Hello, é 🙂.")),
    a_response(a_sealed_thought(), an_output("I book."), a_function_call(), a_function_call("find", "{}", "c2")),
    a_response(an_output("Hel"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    a_response(an_output("I won't.", kind="refusal")),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_a_stream_gives_the_reply_that_the_body_gives(complete: Complete, answer: dict[str, Any]) -> None:
    with ScriptedServer(reply(answer), stream(response_events_of(answer), named=True)) as server:
        whole = complete("responses", server)
        assert complete("responses", server, stream=True) == whole
        assert (whole.input_tokens, whole.output_tokens, whole.model) == (7, 3, "m-2026")
        assert server.heard[1].body == {**server.heard[0].body, "stream": True}


def test_what_goes_out(complete: Complete) -> None:
    request = a_request(
        messages=(Message(role="system", content="Be kind."), Message(role="user", content="Hello?")),
        tools=(TOOL,),
        tool_choice="required",
        sampling=Sampling(temperature=0.5, max_tokens=99, seed=3),
        question="secret.question",
        variables={"golden": "secret"},
    )
    with ScriptedServer(reply(a_response())) as server:
        complete("responses", server, request, reasoning_effort="low", extra={"reasoning": {"summary": "auto"}})
    assert server.heard[0].path == "/v1/responses"
    assert server.heard[0].body == {
        "model": "m",
        "instructions": "Be kind.",
        "input": [{"role": "user", "content": "Hello?"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "max_output_tokens": 99,
        "reasoning": {"effort": "low", "summary": "auto"},
        "tools": [{"type": "function", "name": "book", "parameters": {"type": "object"}, "strict": False}],
        "tool_choice": "required",
    }


def test_text_calls_and_reasoning_are_told_apart(complete: Complete) -> None:
    answer = a_response(a_sealed_thought(), an_output("I book."), a_function_call())
    with ScriptedServer(reply(answer)) as server:
        said = complete("responses", server)
    assert (said.text, said.stop, said.reasoning) == ("I book.", "tool_calls", "Hm, yes.")
    assert said.tool_calls == (ToolCall(id="c1", function=FunctionCall(name="book", arguments='{"day": 1}')),)
    assert list(said.blocks) == answer["output"]


def test_sealed_reasoning_goes_back_among_what_it_led_to() -> None:
    items = [a_sealed_thought(), an_output("I book."), a_function_call()]
    call = ToolCall(id="c1", function=FunctionCall(name="book", arguments='{"day": 1}'))
    said = Message.model_validate(
        {"role": "assistant", "content": "I book.", "tool_calls": [call], "thinking_blocks": items}
    )
    result = Message(role="tool", content="done", tool_call_id="c1")
    assert input_items([said, result]) == [
        *items,
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
    ]


@pytest.mark.parametrize(
    "change", [{"content": "I wait."}, {"thinking_blocks": [{"type": "thinking", "signature": "x"}]}, {}]
)
def test_a_message_that_says_something_else_goes_back_as_it_is(change: dict[str, Any]) -> None:
    call = ToolCall(id="c9", function=FunctionCall(name="book", arguments={"day": 1}))
    items = [a_sealed_thought(), an_output("I book."), a_function_call()]
    fields = {"role": "assistant", "content": "I book.", "tool_calls": [call], "thinking_blocks": items, **change}
    said = Message.model_validate(fields)
    assert input_items([said]) == [
        {"role": "assistant", "content": fields["content"]},
        {"type": "function_call", "call_id": "c9", "name": "book", "arguments": '{"day": 1}'},
    ]


def test_instructions_are_what_the_system_says() -> None:
    messages = [Message(role="system", content="One."), Message(role="user", content="x")]
    assert instructions([*messages, Message(role="system", content="Two.")]) == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("new", "stop")]
)
def test_why_a_response_is_incomplete_is_a_stop_reason(complete: Complete, reason: str, stop: str) -> None:
    answer = a_response(status="incomplete", incomplete_details={"reason": reason})
    with ScriptedServer(reply(answer)) as server:
        assert complete("responses", server).stop == stop


def test_a_refusal_has_its_words_and_no_calls(complete: Complete) -> None:
    with ScriptedServer(reply(a_response(an_output("I won't.", kind="refusal"), a_function_call()))) as server:
        said = complete("responses", server)
    assert (said.text, said.refusal, said.stop, said.tool_calls) == ("", "I won't.", "content_filter", ())


def test_cached_and_written_tokens_are_told(complete: Complete) -> None:
    details = {"cached_tokens": 5, "cache_write_tokens": 1}
    usage = {"input_tokens": 7, "output_tokens": 3, "input_tokens_details": details}
    with ScriptedServer(reply(a_response(usage=usage))) as server:
        said = complete("responses", server)
    assert (said.input_tokens, said.cached_input_tokens, said.cache_write_tokens) == (7, 5, 1)


@pytest.mark.parametrize("index", [0, None])
def test_items_that_share_an_index_are_all_read(complete: Complete, index: int | None) -> None:
    answer = a_response(a_function_call(), a_function_call("find", "{}", "c2"))
    events = [
        {**event, "output_index": index} if "output_index" in event else event for event in response_events_of(answer)
    ]
    with ScriptedServer(stream(events, named=True)) as server:
        said = complete("responses", server, stream=True)
    assert [call.function.name for call in said.tool_calls] == ["book", "find"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failed_response_is_an_error(complete: Complete, streamed: bool) -> None:
    def failing(code: str) -> ScriptedServer:
        answer = a_response(status="failed", error={"code": code, "message": "Something is wrong."}, output=[])
        return ScriptedServer(stream(response_events_of(answer), named=True) if streamed else reply(answer))

    with failing("server_error") as server, pytest.raises(Exception, match=r"an error: Something is wrong") as caught:
        complete("responses", server, stream=streamed)
    assert caught.value.transient  # type: ignore[attr-defined]
    with failing("invalid_prompt") as server:
        assert complete("responses", server, stream=streamed) == Reply(
            "", stop="content_filter", withheld="Something is wrong."
        )
    with failing("context_length_exceeded") as server:
        assert complete("responses", server, stream=streamed).stop == "context_window"


def test_an_error_event_of_a_stream_says_what_it_is(complete: Complete) -> None:
    wrong = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None}
    with (
        ScriptedServer(stream([wrong], named=True)) as server,
        pytest.raises(Exception, match=r"an error: Slow down\."),
    ):
        complete("responses", server, stream=True)


def test_items_are_those_of_the_last_event_where_no_other_ends_them(complete: Complete) -> None:
    end = {"type": "response.completed", "response": a_response()}
    with ScriptedServer(stream([end])) as server:
        assert complete("responses", server, stream=True).text == "Hi."


def test_log_probabilities_are_kept_as_sampled(complete: Complete) -> None:
    answer = a_response()
    answer["output"][0]["content"][0]["logprobs"] = [{"token": "Hi", "logprob": -0.5}, {"token": ".", "logprob": -1}]
    with ScriptedServer(reply(answer)) as server:
        assert complete("responses", server, record_tokens=True).tokens == Tokens(logprobs=(-0.5, -1.0))
    assert "message.output_text.logprobs" in server.heard[0].body["include"]


def test_it_is_spoken_at_openais_own_endpoint_and_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert AuthorSpec("openai", "m").openai_api == "responses"
    assert AuthorSpec("openai", "m", base_url="https://api.openai.com/v1/").openai_api == "responses"
    assert AuthorSpec("openai", "m", base_url="http://127.0.0.1:1/v1").openai_api == "chat"
    assert AuthorSpec("openai", "m", api="chat").openai_api == "chat"
    assert connect(AuthorSpec("openai", "m")).name == "openai/m"
    assert ResponsesBackend("m", EndpointSettings()).name == "openai/m"
