import json
from typing import Any

import pytest

from evaluator.recorded import MOST_CALLS, UnreadableError, read

USER = {"role": "user", "content": "Hello"}


def a_line(**changes: Any) -> bytes:
    return json.dumps({"id": "T-1#2", "messages": [USER], **changes}).encode()


def test_the_task_and_the_trial_stand_in_the_id_where_nothing_else_says_them() -> None:
    found = read(a_line())
    assert (found.task_id, found.trial) == ("T-1", 2)
    assert read(a_line(task_id="T-9", trial=4)).task_id == "T-9"
    assert read(a_line(id="T-1")).task_id == "T-1"


@pytest.mark.parametrize("absent", [{}, {"tool_calls": None, "content": None}, {"tool_calls": []}])
def test_null_and_absent_are_alike(absent: dict[str, Any]) -> None:
    found = read(a_line(messages=[USER, {"role": "assistant", **absent}]))
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
    found = read(a_line(messages=messages, usage="none", metadata=7, agent="gpt", domains=None, trial="x", world=3))
    assert [message.role for message in found.messages] == ["system", "user", "assistant"]
    assert found.messages[1].content == "Hello"
    assert [given.id for given in found.messages[2].tool_calls or ()] == ["call_0", "call_1"]
    assert (found.usage, found.metadata, found.agent, found.domains, found.world) == (None, None, None, [], "")


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"id": "T#0", "messages": 3}',
        b'{"id": "T#0", "messages": [3]}',
        b'{"id": "T#0", "messages": [{"role": "king", "content": "x"}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 3}}]}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "content": "\\ud800"}]}',
        b'{"id": "T#0", "messages": [{"role": "assistant", "content": "\xff"}]}',
    ],
)
def test_what_cannot_be_read_says_so(line: bytes) -> None:
    with pytest.raises(UnreadableError):
        read(line)


def test_more_calls_than_anybody_makes_are_refused() -> None:
    call = {"id": "c", "function": {"name": "book", "arguments": "{}"}}
    message = {"role": "assistant", "tool_calls": [call] * (MOST_CALLS + 1)}
    with pytest.raises(UnreadableError, match=str(MOST_CALLS)):
        read(a_line(messages=[message]))
