"""What the optimizer is shown: conversations that are shortened where they say least, and reasons without values."""

import pytest

from learn.skill.conversations import instructions, rendered
from learn.skill.scores import Row, reason_of
from rollout.trajectory import SKILL_HEADING, with_skill
from skillweave.schema.result import Divergence, FailureRecord
from skillweave.schema.trajectory import FunctionCall, Message, ToolCall

ROW = Row(id="a", hard=0, soft=0.5, fail_reason="missing_write: x", task_type="do", task_description="Cancel it.")


def a_conversation(length: int) -> list[Message]:
    call = ToolCall(id="c", function=FunctionCall(name="list_bookings", arguments='{"status": "open"}'))
    return [
        Message(role="system", content="Policy."),
        Message(role="user", content="please cancel my booking"),
        Message(role="assistant", content=None, tool_calls=[call]),
        Message(role="tool", tool_call_id="c", content="row " * length),
        Message(role="tool", tool_call_id="c", content='{"error": {"code": "not_found", "message": "' + "long " * 200),
        Message(role="assistant", content="It is cancelled."),
    ]


def test_a_short_conversation_is_shown_whole() -> None:
    text = rendered(ROW, a_conversation(3), 5000)
    assert "USER please cancel my booking" in text
    assert 'CALL list_bookings {"status": "open"}' in text
    assert "RESULT row row row " in text
    assert "Why it failed: missing_write: x" in text
    assert "left out" not in text
    assert "Policy." not in text


def test_a_long_one_loses_results_and_never_calls_or_errors() -> None:
    text = rendered(ROW, a_conversation(5000), 2500)
    assert len(text) < 2800
    assert "left out" in text
    assert 'CALL list_bookings {"status": "open"}' in text
    assert "long " * 200 in text
    assert "AGENT It is cancelled." in text


def test_instructions_stand_once_for_each_world_without_the_skill() -> None:
    with_one = with_skill([Message(role="system", content="Policy of the clinic.")], "- Be quick.")
    shown = instructions([("Clinic", with_one), ("Clinic", with_one), ("Hotel", [Message(role="user")])], 1000)
    assert shown == ["World Clinic:\n\nPolicy of the clinic."]
    assert SKILL_HEADING in (with_one[0].content or "")


@pytest.mark.parametrize(
    ("expected", "got", "call", "words", "hidden"),
    [
        (
            'pay(invoice_id="I-1", amount_cents=9400)',
            "nothing",
            None,
            "Expected: pay(invoice_id=…, amount_cents=…).",
            "9400",
        ),
        ('decline_request(rule="R15")', "nothing", None, 'Expected: decline_request(rule="R15").', "no such"),
        ("told_1: balance 132.00", "nothing", None, "balance …", "132"),
        ('pay(id="I-1", method="card")', 'pay(id="I-1", method="cash")', 3, "Wrong: method.", '"card"'),
    ],
)
def test_a_reason_names_what_was_missing_without_its_values(
    expected: str, got: str, call: int | None, words: str, hidden: str
) -> None:
    place = Divergence(turn=1, message=2, call=call, expected=expected, got=got)
    reason = reason_of(FailureRecord(class_="missing_write", first_divergence=place))
    assert reason.startswith("missing_write: ")
    assert words in reason
    assert hidden not in reason
