import json
from typing import Any

import pytest

from evaluator.replay.trial import MOST_CALLS, UnreadableTrajectoryError, read_trajectory
from skillweave.world.tools import read_call

USER = {"role": "user", "content": "Hello"}
CALL = {"id": "c", "function": {"name": "book", "arguments": "{}"}}


def a_line(**changes: Any) -> bytes:
    return json.dumps({"id": "T-1#2", "messages": [USER], **changes}).encode()


def test_the_task_and_the_trial_stand_in_the_id_where_nothing_else_says_them() -> None:
    found = read_trajectory(a_line())
    assert (found.task_id, found.trial) == ("T-1", 2)
    assert read_trajectory(a_line(task_id="T-9", trial=4)).task_id == "T-9"
    assert read_trajectory(a_line(id="T-1")).task_id == "T-1"


@pytest.mark.parametrize("absent", [{}, {"tool_calls": None, "content": None}, {"tool_calls": []}])
def test_null_and_absent_are_alike(absent: dict[str, Any]) -> None:
    found = read_trajectory(a_line(messages=[USER, {"role": "assistant", **absent}]))
    assert not found.messages[1].tool_calls
    assert not found.messages[1].content
    assert found.calls == 0


def test_what_other_programs_write_in_other_ways_is_read() -> None:
    call = {"type": "function", "function": {"name": "book", "arguments": {"slot": 1}}}
    messages = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "tool_calls": [call, call]},
    ]
    found = read_trajectory(
        a_line(messages=messages, usage="none", metadata=7, agent="gpt", domains=None, trial="x", world=3)
    )
    assert [message.role for message in found.messages] == ["system", "user", "assistant"]
    assert found.messages[1].content == "Hello"
    assert [given.id for given in found.messages[2].tool_calls or ()] == ["call_2_0", "call_2_1"]
    assert (found.usage, found.metadata, found.agent_name, found.domains, found.world) == (None, None, "gpt", [], "")


def test_tool_use_and_function_calls_are_calls() -> None:
    used = {"type": "tool_use", "id": "t1", "name": "book", "input": {"slot": 1}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "{}"}]}
    messages = [
        USER,
        {"role": "assistant", "content": [{"type": "text", "text": "I book it."}, used]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": None, "function_call": {"name": "pay", "arguments": '{"fee": 2}'}},
        {"role": "function", "name": "pay", "content": "{}"},
    ]
    found = read_trajectory(a_line(messages=messages))
    calls = [call.function for message in found.messages for call in message.tool_calls or ()]
    assert [(call.name, call.arguments) for call in calls] == [("book", {"slot": 1}), ("pay", '{"fee": 2}')]
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert found.messages[1].content == "I book it."
    old = read_trajectory(a_line(messages=[USER, messages[3]]))
    assert old.calls == 1


@pytest.mark.parametrize(
    ("line", "id", "task_id", "agent"),
    [
        ({"task_id": "T-1", "trial": 3}, "T-1#3", "T-1", None),
        ({"id": "T-1#3", "model": "gpt"}, "T-1#3", "T-1", "gpt"),
        ({"id": "T-1#3", "agent": {"backend": "vllm/x"}, "model": "gpt"}, "T-1#3", "T-1", "vllm/x"),
        ({"id": 7, "task_id": "T-1", "trial": 0}, "T-1#0", "T-1", None),
    ],
)
def test_two_fields_are_enough(line: dict[str, Any], id: str, task_id: str, agent: str | None) -> None:
    found = read_trajectory(json.dumps({**line, "messages": [USER]}).encode())
    assert (found.id, found.task_id, found.agent_name) == (id, task_id, agent)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"id": "T#0", "messages": 3}',
        b'{"id": "T#0", "messages": [3]}',
        b'{"id": "T#0", "messages": [{"role": "king", "content": "x"}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 3}}]}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "content": "\xff"}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "content": "\\ud800"}]',
        b'{"id": "T#0", "messages": [{"role": "assistant", "tool_calls": "x"}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "tool_calls": ["x"]}]}',
    ],
)
def test_what_cannot_be_read_says_so(line: bytes) -> None:
    with pytest.raises(UnreadableTrajectoryError):
        read_trajectory(line)


@pytest.mark.parametrize(
    ("written", "read"),
    [("a\ud800b", "a\ufffdb"), ("\udfff", "\ufffd"),
     ("\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"), ("\\ud800", "\\ud800")],
)  # fmt: skip
def test_half_a_character_is_replaced(written: str, read: str) -> None:
    call = {"id": "c", "function": {"name": "book", "arguments": {"note": written}}}
    messages = [{"role": "user", "content": written}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    found = read_trajectory(a_line(messages=messages))
    assert found.messages[0].content == read
    [made] = found.messages[1].tool_calls or []
    assert made.function.arguments == {"note": read}


@pytest.mark.parametrize(
    ("arguments", "values"), [(None, {}), ([], None), ([{"slot": 1}], None), (3, None), (True, None), ({}, {})]
)
def test_arguments_that_are_no_object_are_a_call(arguments: object, values: object) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "book", "arguments": arguments}}
    found = read_trajectory(a_line(messages=[USER, {"role": "assistant", "tool_calls": [call]}]))
    [made] = found.messages[1].tool_calls or []
    assert read_call(made).arguments == values
    assert bool(read_call(made).fault) == (values is None)


@pytest.mark.parametrize(
    ("calls", "count"), [({}, 0), ([None], 0), ({"function": CALL["function"]}, 1), ([None, CALL], 1)]
)
def test_calls_in_no_list_or_without_any_are_read(calls: object, count: int) -> None:
    found = read_trajectory(a_line(messages=[USER, {"role": "assistant", "content": "Yes.", "tool_calls": calls}]))
    assert found.calls == count
    assert found.messages[1].content == "Yes."


def test_more_calls_than_anybody_makes_are_refused() -> None:
    call = {"id": "c", "function": {"name": "book", "arguments": "{}"}}
    message = {"role": "assistant", "tool_calls": [call] * (MOST_CALLS + 1)}
    with pytest.raises(UnreadableTrajectoryError, match=str(MOST_CALLS)):
        read_trajectory(a_line(messages=[message]))


def test_thoughts_in_words_are_told_apart() -> None:
    written = "<think>\nThey will say ###STOP###.\n</think>\n\n"
    messages = [
        {"role": "user", "content": f"{written}Hello"},
        {"role": "assistant", "content": f"{written}Hi.", "reasoning_content": "Hm."},
        {"role": "user", "content": "I think <3, and 1 < 2."},
        {"role": "assistant", "content": [{"type": "text", "text": "<think>It costs 420.00, and"}]},
    ]
    found = read_trajectory(a_line(messages=messages))
    assert [message.content for message in found.messages] == ["Hello", "Hi.", "I think <3, and 1 < 2.", ""]
    assert found.messages[1].reasoning_content == "Hm.\n\nThey will say ###STOP###."
    assert found.messages[3].reasoning_content == "It costs 420.00, and"
