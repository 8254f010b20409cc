"""Histories as the backends send them: the strictest endpoint takes each of them."""

import json
from typing import Any

import pytest

from skillweave.llm.history import valid_name
from skillweave.schema.record import Json
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

from ..protocols import a_completion, a_message, a_response
from ..scripted import ScriptedServer, reply
from ..strict import StrictServer
from .conftest import Complete, Protocol, a_request

PROTOCOLS: list[Protocol] = ["openai", "vllm", "responses", "anthropic"]
ANSWERS: dict[str, dict[str, Any]] = {
    "openai": a_completion(),
    "vllm": a_completion(),
    "responses": a_response(),
    "anthropic": a_message(),
}
TOOL: dict[str, Json] = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}


def says(role: str, content: str | None, **more: Any) -> Message:
    return Message.model_validate({"role": role, "content": content, **more})


def calls(*given: tuple[str, str, str | dict[str, Json]], content: str | None = None) -> Message:
    made = [ToolCall(id=id, function=FunctionCall(name=name, arguments=values)) for id, name, values in given]
    return Message(role="assistant", content=content, tool_calls=made)


def result(id: str | None, content: str | None = "done") -> Message:
    return Message(role="tool", tool_call_id=id, content=content)


DEEP: dict[str, Json] = {}
for _ in range(100):
    DEEP = {"x": DEEP}
GO = says("user", "Go.")
HISTORIES: dict[str, list[Message]] = {
    "the assistant first": [says("system", "s"), says("assistant", "Hello."), GO],
    "nobody but the system": [says("system", "s")],
    "nothing of the user": [says("user", ""), says("assistant", "What?"), says("user", " ")],
    "nothing of the assistant": [GO, says("assistant", ""), says("user", "On.")],
    "null of the assistant": [GO, says("assistant", None), says("user", "On.")],
    "blanks of the assistant": [GO, says("assistant", "\n "), says("user", "On.")],
    "blanks beside calls": [GO, calls(("a", "book", "{}"), content=" "), result("a")],
    "a system without words": [says("system", ""), GO],
    "the user twice": [GO, says("user", "On.")],
    "the assistant twice": [GO, says("assistant", "I see."), says("assistant", "I go."), GO],
    "halves of characters": [says("system", "\ud800"), says("user", "\ude00"), says("assistant", "\ud83d\ude00"), GO],
    "halves in a result": [GO, calls(("a", "book", "{}")), result("a", "\udc00")],
    "no result": [GO, calls(("a", "book", "{}")), says("user", "And?")],
    "one result of two": [GO, calls(("a", "book", "{}"), ("b", "book", "{}")), result("b"), says("assistant", "Ok.")],
    "results in another order": [GO, calls(("a", "book", "{}"), ("b", "book", "{}")), result("b"), result("a")],
    "a stray result": [GO, result("z"), says("assistant", "Ok."), GO],
    "two results": [GO, calls(("a", "book", "{}")), result("a"), result("a", "again")],
    "a result without an id": [GO, calls(("a", "book", "{}")), result(None)],
    "a result without words": [GO, calls(("a", "book", "{}")), result("a", None)],
    "one id twice at once": [GO, calls(("a", "book", "{}"), ("a", "book", "{}")), result("a"), result("a")],
    "one id twice": [GO, *[calls(("a", "book", "{}")), result("a")] * 2],
    "no id": [GO, *[calls(("", "book", "{}")), result("")] * 2],
    "a made id that comes later": [GO, calls(("", "x", "{}")), result(""), calls(("call00000", "x", "{}"))],
    "an object with NaN": [GO, calls(("a", "book", {"x": float("nan")})), result("a")],
    "an object with a half": [GO, calls(("a", "book", {"x": "\ud800"})), result("a")],
    "an object too deep": [GO, calls(("a", "book", DEEP)), result("a")],
    "no arguments": [GO, calls(("a", "book", "")), result("a")],
    "a bad name": [GO, calls(("a", "a.b c", "{}")), result("a")],
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("messages", HISTORIES.values(), ids=HISTORIES)
def test_every_endpoint_takes_it(complete: Complete, protocol: Protocol, messages: list[Message]) -> None:
    strict = StrictServer(reply(ANSWERS[protocol]), added=("reasoning", "reasoning_content"))
    with ScriptedServer(strict) as server:
        assert complete(protocol, server, a_request(messages=tuple(messages), tools=(TOOL,))).text == "Hi."
    assert strict.refused == []


def sent(complete: Complete, *messages: Message) -> list[Any]:
    with ScriptedServer(reply(a_completion())) as server:
        complete("openai", server, a_request(messages=messages, tools=(TOOL,)))
    return list(server.heard[0].body["messages"])


def test_nothing_is_lost_in_silence(complete: Complete) -> None:
    messages = sent(complete, GO, calls(("a", "book", "{}"), ("b", "book", "{}")), result("b", "B"), result("c", "C"))
    _, _, first, second, stray = messages
    assert (first["tool_call_id"], json.loads(first["content"])["error"]["code"]) == ("a", "no_result")
    assert (second["tool_call_id"], second["content"]) == ("b", "B")
    assert (stray["role"], stray["content"]) == ("user", "The result of a tool: C")


def test_what_is_in_order_goes_out_as_it_is(complete: Complete) -> None:
    # Kimi wants its ids back as it made them, dots and all.
    id = "functions.book:0"
    assert sent(complete, GO, calls((id, "book", '{"day":  1}')), result(id)) == [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": id, "type": "function", "function": {"name": "book", "arguments": '{"day":  1}'}}],
        },
        {"role": "tool", "tool_call_id": id, "content": "done"},
    ]


def test_a_made_id_has_the_form_that_mistral_wants(complete: Complete) -> None:
    messages = sent(complete, GO, calls(("", "book", "{}")), result(""))
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == "call00000"


@pytest.mark.parametrize("name", ["find slots", "find_slots\n", "x" * 90, "", "..", "éé", "1", "find_slots.", "_"])
def test_a_changed_name_is_no_offered_one(name: str) -> None:
    offered = {"find_slots", "find_slots_", "_find_slots_", "x" * 64, "unnamed", "_1"}
    assert valid_name(name, offered) not in offered


@pytest.mark.parametrize("arguments", ["x" * 1_100_000, '{"day": "' + "é" * 1_100_000 + '"}', {"x": "\ud800" * 9000}])
def test_long_unreadable_arguments_go_back_cut_off(complete: Complete, arguments: str | dict[str, Json]) -> None:
    message = sent(complete, GO, calls(("a", "book", arguments)), result("a"))[1]
    shown = json.loads(message["tool_calls"][0]["function"]["arguments"])["INVALID_JSON"]
    assert (len(shown), shown[-4:-3] != ".", shown[-3:]) == (4003, True, "...")
