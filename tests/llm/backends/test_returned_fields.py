"""What an endpoint adds to its replies comes back to it: signatures of calls, reasoning beside calls."""

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from rollout.agent import Agent, AgentSettings
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

from ..protocols import (
    a_call,
    a_completion,
    a_delta,
    a_function_call,
    a_message,
    a_response,
    a_sealed_thought,
    a_use,
    chunks_of,
    events_of,
)
from ..scripted import Act, Heard, ScriptedServer, fault, reply, stream
from ..strict import StrictServer
from .conftest import Protocol, a_spec

SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}
TOOL: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}
THOUGHT: dict[str, Json] = {"type": "reasoning.encrypted", "data": "x1", "index": 0}


def conversed(spec: AuthorSpec, steps: int = 2, **settings: Any) -> list[Message]:
    """What an agent has in its history after so many steps; it is kept as a record is."""

    async def go() -> list[Message]:
        backend = connect(spec)
        opening = [Message(role="user", content="Book it.")]
        agent = Agent(backend, opening, [TOOL], key="k", settings=AgentSettings(**settings))
        for _ in range(steps):
            step = await agent.step()
            for call in step.calls:
                agent.observe(call, "done")
            if not step.calls:
                agent.hear(Message(role="user", content="And?"))
        await backend.close()
        return agent.history

    return [Message.model_validate_json(message.model_dump_json()) for message in asyncio.run(go())]


def calling(**message: Any) -> dict[str, Any]:
    """A completion with two calls, of which Gemini signs the first."""
    signed = {**a_call(id="a"), "extra_content": SIGNED, "index": 0}
    signed["function"] = {**signed["function"], "provider_specific_fields": {"n": 1}}
    return a_completion(None, reason="tool_calls", tool_calls=[signed, a_call(id="b")], **message)


def sent(server: ScriptedServer) -> dict[str, Any]:
    """The agent's first message, as the last request has it."""
    return dict(next(said for said in server.heard[-1].body["messages"] if said["role"] == "assistant"))


def acts(answer: dict[str, Any], streamed: bool) -> tuple[Act, Act]:
    said = a_completion("Hi.")
    return (stream(chunks_of(answer)), stream(chunks_of(said))) if streamed else (reply(answer), reply(said))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("protocol", ["openai", "vllm"])
def test_what_a_provider_adds_to_a_call_comes_back(protocol: Protocol, streamed: bool) -> None:
    with ScriptedServer(*acts(calling(), streamed)) as server:
        history = conversed(a_spec(protocol, server, stream=streamed))
    first, second = sent(server)["tool_calls"]
    assert first["extra_content"] == SIGNED
    assert first["function"] == {
        "name": "book",
        "arguments": '{"day": 1}',
        "provider_specific_fields": {"n": 1},
    }
    assert second == a_call(id="b")
    assert (history[1].tool_calls or [])[0].model_extra == {"extra_content": SIGNED}


def test_pieces_of_an_added_field_are_put_together() -> None:
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "book", "arguments": ""}, "extra_content": {"google": {"v": "1"}}},
        {"index": 0, "function": {"arguments": '{"da'}, "extra_content": {"google": {"thought_signature": "abc"}}},
        {"index": 0, "function": {"arguments": 'y": 1}'}, "extra_content": {"google": {"thought_signature": "def"}}},
    ]
    details: list[dict[str, Json]] = [
        {"type": "reasoning.text", "text": "ha", "index": 0},
        {"type": "reasoning.text", "text": "ha", "index": 0},
        {"type": "reasoning.text", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    events = [
        *(a_delta(tool_calls=[piece]) for piece in pieces),
        *(a_delta(reasoning_details=[part]) for part in details),
        a_delta(extra_content=SIGNED),
        a_delta("tool_calls"),
    ]
    with ScriptedServer(stream(events), stream(chunks_of(a_completion()))) as server:
        conversed(a_spec("openai", server, stream=True))
    said = sent(server)
    assert said["tool_calls"][0]["extra_content"] == {"google": {"v": "1", "thought_signature": "abcdef"}}
    assert said["reasoning_details"] == [
        {"type": "reasoning.text", "text": "haha", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    assert said["extra_content"] == SIGNED


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_beside_calls_comes_back_in_the_field_in_which_it_came(field: str, streamed: bool) -> None:
    answer = calling(**{field: "I book it."})
    if streamed and field == "reasoning":
        acted = (stream([a_delta(reasoning="I book it."), *chunks_of(calling())]), acts(calling(), True)[1])
    else:
        acted = acts(answer, streamed)
    with ScriptedServer(*acted) as server:
        conversed(a_spec("openai", server, stream=streamed))
    assert {name: value for name, value in sent(server).items() if "reasoning" in name} == {field: "I book it."}


def test_reasoning_without_calls_comes_back_only_where_it_is_asked_for() -> None:
    for replay in (False, True):
        with ScriptedServer(reply(a_completion("Yes.", reasoning_content="Hm.")), reply(a_completion())) as server:
            conversed(a_spec("openai", server), replay_reasoning=replay)
        assert ("reasoning_content" in sent(server)) == replay


@pytest.mark.parametrize("replay", [False, True])
@pytest.mark.parametrize("given", ["I book it.", ""])
@pytest.mark.parametrize("words", [None, "Booking."])
def test_reasoning_goes_back_exactly_where_thoughts_stand_in_the_text_as_well(
    given: str, words: str | None, replay: bool
) -> None:
    text = f"<think>Inline.</think>{words or ''}"
    answer = calling(reasoning_content=given)
    answer["choices"][0]["message"]["content"] = text
    with ScriptedServer(*acts(answer, False)) as server:
        history = conversed(a_spec("openai", server), replay_reasoning=replay)
    assert sent(server)["reasoning_content"] == given
    assert sent(server)["content"] == (text if replay else words)
    # The record has all thoughts as reasoning.
    assert "Inline." in (history[1].reasoning_content or "")
    assert history[1].content == words


def test_empty_reasoning_beside_calls_comes_back_as_well() -> None:
    with ScriptedServer(*acts(calling(reasoning_content=""), False)) as server:
        conversed(a_spec("openai", server))
    assert sent(server)["reasoning_content"] == ""


COMPLAINTS = {
    "groq": fault(400, "'messages.1' : property '{name}' is unsupported", type="invalid_request_error"),
    "mistral": Act(
        json.dumps(
            {"object": "error", "message": {"detail": [{"loc": ["body", "messages", 1, "{name}"], "msg": "Extra"}]}}
        ).encode(),
        422,
    ),
    "pydantic's union": Act(
        json.dumps(
            {
                "detail": [
                    {"loc": ["body", "messages", 1, "UserMessage", "content"], "msg": "Field required"},
                    {"loc": ["body", "messages", 1, "{name}"], "msg": "Extra inputs are not permitted"},
                    {"loc": ["body", "messages", 1, "ToolMessage", "tool_call_id"], "msg": "Field required"},
                ]
            }
        ).encode(),
        422,
    ),
    "with what is required": fault(400, "{name} is not allowed, required fields are id, type, function"),
    "by param": fault(400, "Unknown parameter.", param="messages[1].{name}"),
    "deepseek": fault(400, "Please remove the {name} from your message."),
}


@pytest.mark.parametrize("complaint", COMPLAINTS.values(), ids=COMPLAINTS)
@pytest.mark.parametrize("name", ["reasoning_content", "extra_content", "provider_specific_fields"])
def test_a_field_that_is_refused_is_left_out_from_then_on(
    complaint: Act, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def play(heard: Heard) -> Act:
        if name in json.dumps(heard.body):
            return Act(complaint.body.replace(b"{name}", name.encode()), complaint.status, complaint.headers)
        return reply(calling(reasoning_content="I book it."))

    with ScriptedServer(play) as server:
        conversed(a_spec("openai", server), steps=4)
    # One request was refused, and the three behind it went without the field.
    assert [name in json.dumps(heard.body) for heard in server.heard] == [False, True, False, False, False]
    assert len([line for line in caplog.messages if f"{name} is left out from now on" in line]) == 1


@pytest.mark.parametrize(
    "words",
    [
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "Messages must be complete. Missing `reasoning_content` field in the assistant message. It must be sent.",
        "messages.1.reasoning_content: field is required",
    ],
)
def test_a_field_that_is_asked_for_is_not_left_out(words: str) -> None:
    asks = fault(400, words)
    with (
        ScriptedServer(reply(calling(reasoning_content="Hm.")), asks) as server,
        pytest.raises(Exception, match="reasoning_content"),
    ):
        conversed(replace(a_spec("openai", server), reasoning_effort="high"))
    assert [heard.body["reasoning_effort"] for heard in server.heard] == ["high", "high"]


def test_a_strict_endpoint_that_adds_nothing_gets_nothing_added() -> None:
    answer = a_completion(None, reason="tool_calls", tool_calls=[a_call()], annotations=[], refusal=None, audio=None)
    strict = StrictServer(reply(answer))
    with ScriptedServer(strict) as server:
        conversed(a_spec("openai", server), steps=3)
    assert strict.refused == []


def test_sealed_reasoning_goes_back_beside_a_call_that_cannot_be_read() -> None:
    answer = a_response(a_sealed_thought(), a_function_call("a.b", '{"day": 1'))
    strict = StrictServer(reply(answer), reply(a_response()))
    with ScriptedServer(strict) as server:
        history = conversed(a_spec("responses", server))
    assert strict.refused == []
    thought, call = strict.accepted[1].body["input"][1:3]
    assert thought == a_sealed_thought()
    assert (call["name"], json.loads(call["arguments"])) == ("a_b", {"INVALID_JSON": '{"day": 1'})
    # The record has what the model wrote.
    assert (history[1].tool_calls or [])[0].function.name == "a.b"


@pytest.mark.parametrize("streamed", [False, True])
def test_signed_thinking_goes_back_beside_a_call_that_cannot_be_read(streamed: bool) -> None:
    thought = {"type": "thinking", "thinking": "I book.", "signature": "c2ln"}
    answers = [a_message(thought, a_use("a b", '{"day": 1', "t.1"), reason="tool_use"), a_message()]
    strict = StrictServer(*(stream(events_of(each), named=True) if streamed else reply(each) for each in answers))
    with ScriptedServer(strict) as server:
        conversed(a_spec("anthropic", server, stream=streamed))
    assert strict.refused == []
    assert strict.accepted[1].body["messages"][1]["content"] == [
        thought,
        {"type": "tool_use", "id": "call00000", "name": "a_b", "input": {"INVALID_JSON": '{"day": 1'}},
    ]


UNREADABLE = {
    "a number too large": ('{"day": 1e999}', '{"day": 1e999}'),
    "a key twice": ('{"day": 1, "day": 2}', '{"day": 1, "day": 2}'),
    "NaN": ('{"day": [NaN, -Infinity]}', '{"day": [NaN, -Infinity]}'),
    "too many digits": ('{"day": ' + "1" * 5000 + "}", '{"day": ' + "1" * 5000 + "}"),
    "too deep": ('{"a": ' * 140 + "1" + "}" * 140, '{"a": ' * 140 + "1" + "}" * 140),
    "a list": ("[1, 2]", "[1, 2]"),
    "a whole number": ("5", "5"),
    "true": ("true", "true"),
}


def raw(protocol: Protocol, arguments: str, **nulls: None) -> Act:
    """A whole answer with one call, whose arguments stand in the body as a value."""
    mark = "ARGUMENTS"
    body: dict[str, Any] = {
        "openai": a_completion(None, reason="tool_calls", tool_calls=[a_call(arguments=mark)]),
        "responses": a_response(a_function_call(arguments=mark)),
        "anthropic": a_message(a_use(arguments=mark), reason="tool_use"),
    }[protocol] | nulls
    return Act(json.dumps(body).replace(f'"{mark}"', arguments).encode(), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("protocol", ["openai", "responses", "anthropic"])
@pytest.mark.parametrize(("value", "text"), UNREADABLE.values(), ids=UNREADABLE)
def test_arguments_that_come_as_an_unreadable_value_are_the_models_fault(
    protocol: Protocol, value: str, text: str
) -> None:
    last = {"openai": a_completion(), "responses": a_response(), "anthropic": a_message()}[protocol]
    strict = StrictServer(raw(protocol, value), reply(last))
    with ScriptedServer(strict) as server:
        history = conversed(a_spec(protocol, server))
    assert strict.refused == []
    assert (history[1].tool_calls or [])[0].function.arguments == text
    assert "INVALID_JSON" in json.dumps(strict.accepted[1].body)


@pytest.mark.parametrize("protocol", ["openai", "responses", "anthropic"])
def test_nulls_of_an_answer_count_as_left_out(protocol: Protocol) -> None:
    last = {"openai": a_completion(), "responses": a_response(), "anthropic": a_message()}[protocol]
    strict = StrictServer(raw(protocol, "null", model=None, usage=None), reply(last))
    with ScriptedServer(strict) as server:
        history = conversed(a_spec(protocol, server))
    assert strict.refused == []
    assert (history[1].tool_calls or [])[0].function.arguments in ("", "{}")


NULLS: dict[str, tuple[Protocol, dict[str, Any], int]] = {
    "no function": ("openai", a_completion(None, tool_calls=[{"id": None, "type": None, "function": None}]), 1),
    "no call": ("openai", a_completion("Hi.", tool_calls=[None]), 0),
    "an object for calls": ("openai", a_completion("Hi.", tool_calls={}), 0),
    "a number as id": ("openai", a_completion(None, tool_calls=[{**a_call(), "id": 5}]), 1),
    "no id, no name": ("responses", a_response({**a_function_call(), "call_id": None, "name": None}), 1),
    "no text": ("responses", a_response({"type": "message", "content": [{"type": "output_text", "text": None}]}), 0),
    "a block's nulls": ("anthropic", a_message({"type": "tool_use", "id": None, "name": None, "input": None}), 1),
    "no text of a block": ("anthropic", a_message({"type": "text", "text": None}, {"type": "text", "text": "Hi."}), 0),
}


@pytest.mark.parametrize(("protocol", "answer", "count"), NULLS.values(), ids=NULLS)
def test_nulls_inside_an_answer_are_no_reason_to_refuse_it(
    protocol: Protocol, answer: dict[str, Any], count: int
) -> None:
    with ScriptedServer(reply(answer)) as server:
        history = conversed(a_spec(protocol, server), steps=1)
    assert sum(len(message.tool_calls or ()) for message in history) == count
