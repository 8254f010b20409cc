import pytest

from evaluator.checks.policy import conduct
from skillweave.schema.call import Call, CallResult, Verdict
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Kind, Task
from tests.evaluator.tasks import a_task

LATE = CallResult(call=Call(tool="cancel_appointment"), ok=True, verdicts=[Verdict(rule="R10", holds=False)])


def a_kind(kind: Kind) -> Task:
    must_not = [{"rule": "R10", "table": "appointment", "why": "too late"}]
    return a_task(kind=kind, criteria={"state": [], "must_not": must_not, "reward_basis": ["state", "policy"]})


def a_talk(*said: str) -> list[Message]:
    asked = Message(role="user", content="Cancel it. Is R10 in the way?")
    return [asked, *(Message(role="assistant", content=text) for text in said)]


def score_of(task: Task, transfer: dict[str, Json] | None, messages: list[Message] | None) -> float | None:
    found = conduct(task, [], transfer, messages)
    return found.score if found else None


def test_a_rule_broken_by_a_call_that_was_carried_out_is_named_with_the_call() -> None:
    found = conduct(a_kind("do"), [LATE], None, None)
    assert found is not None
    assert (found.score, found.violations) == (0.0, ["R10 in call 0 (cancel_appointment)"])
    failed = LATE.model_copy(update={"ok": False})
    assert conduct(a_kind("do"), [failed], None, None) == conduct(a_kind("do"), [], None, None)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["I cannot do that [R10]."], 1.0),
        (["By R10 and R2 it is too late."], 1.0),
        (["I cannot do that."], 0.0),
        (["R2 forbids it."], 0.0),
        (["R1, R2 and R10 forbid it."], 0.0),
        (["R1 forbids it.", "Or R2.", "Or R10."], 0.0),
        ([], 0.0),
    ],
)
def test_who_declines_names_the_broken_rule_and_at_most_two(said: list[str], expected: float) -> None:
    assert score_of(a_kind("refuse"), None, a_talk(*said)) == expected


def test_the_rule_may_be_named_in_the_transfer() -> None:
    assert score_of(a_kind("refuse"), {"reason": "policy", "rule": "[R10]", "summary": ""}, a_talk()) == 1.0
    assert score_of(a_kind("refuse"), {"reason": "policy", "rule": None, "summary": "R10"}, a_talk()) == 0.0


def test_a_rule_named_before_the_request_was_made_does_not_count() -> None:
    early = [Message(role="assistant", content="Mind R10."), *a_talk("No.")]
    assert score_of(a_kind("refuse"), None, early) == 0.0


def test_a_refusal_cannot_be_judged_without_messages() -> None:
    assert score_of(a_kind("refuse"), None, None) is None


def test_what_no_tool_does_is_handed_over_with_that_reason() -> None:
    assert score_of(a_kind("unavailable"), {"reason": "no_tool", "summary": ""}, None) == 1.0
    assert score_of(a_kind("unavailable"), {"reason": "policy", "summary": ""}, None) == 0.0
    assert score_of(a_kind("unavailable"), None, None) == 0.0
