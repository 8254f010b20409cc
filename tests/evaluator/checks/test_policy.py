import pytest

from evaluator.checks.policy import check_policy, conduct
from evaluator.conduct.human import asked_for_human
from skillweave.schema.call import Call, CallResult, Verdict
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Kind, Task
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.pace import is_done_within
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

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


WORLD = a_world()
CANCEL = ("cancel_appointment", {"appointment_id": "APT-0001"})


def handed_over(rule: str | None = "R10") -> tuple[str, dict[str, Json]]:
    return "transfer_to_human", {"reason": "policy", "rule": rule, "summary": "Too late."}


def faults(task: Task, *messages: Message) -> list[str]:
    return check_policy(a_conversation(WORLD, task, *messages)).violations


def test_handing_over_counts_only_after_the_request_was_heard() -> None:
    request = user("Cancel it.")
    assert faults(a_kind("refuse"), request, agent(None, handed_over())) == []
    assert faults(a_kind("refuse"), request, agent(None, handed_over("10"))) == []
    assert faults(a_kind("refuse"), agent(None, handed_over()), request) == ["handed over before the request was heard"]
    assert faults(a_kind("refuse"), agent("No: R10.")) == ["the request was not heard"]
    assert faults(a_kind("refuse"), request, agent(None, handed_over(None))) == ["the broken rule (R10) is not named"]


def test_what_no_tool_does_is_handed_over_after_it_was_asked_for() -> None:
    no_tool = agent(None, ("transfer_to_human", {"reason": "no_tool", "summary": "Repair."}))
    task = a_kind("unavailable")
    assert faults(task, user("Repair my chair."), no_tool) == []
    assert faults(task, no_tool, user("Repair my chair.")) == ["handed over before the request was heard"]
    assert faults(task, no_tool) == ["the request was not heard"]


def test_what_nobody_sees_names_no_rule() -> None:
    request, missing = user("Cancel it."), ["the broken rule (R10) is not named"]
    assert faults(a_kind("refuse"), request, agent("<think>R10</think>Sorry, no.")) == missing
    assert faults(a_kind("refuse"), request, agent("<!-- R10 -->No.")) == missing
    assert faults(a_kind("refuse"), request, agent("No."), user("Bye ###STOP###"), agent("R10")) == missing


def test_numbers_that_the_policy_does_not_have_are_no_rules() -> None:
    said = agent("R10 forbids it. Vitamin B12 is in locker R2, behind R77 and R88.")
    assert faults(a_kind("refuse"), user("Cancel it."), said) == []
    assert faults(a_kind("refuse"), user("Cancel it."), agent("R1, R2 and R10."))[0].startswith("names 3 rules")


def test_a_broken_rule_has_the_position_of_its_call_behind_one_that_cannot_be_read() -> None:
    booked = [("book_appointment", {"slot_id": slot}) for slot in ("SLO-0004", "SLO-0006")]
    made = agent(None, ("find_slots", "{"), *booked)
    broken = ["R6 in call 2 (book_appointment)"]
    assert faults(a_kind("do"), user("Book both."), made) == broken
    with WORLD.session(a_kind("do")) as session:
        for call in booked:
            session.call(*call)
        found = conduct(a_kind("do"), session.results, None, [user("Book both."), made])
    assert found is not None
    assert found.violations == broken


def test_a_rule_that_the_tool_upheld_is_noted_and_not_punished() -> None:
    found = check_policy(a_conversation(WORLD, a_kind("do"), user("Cancel it."), agent(None, CANCEL, CANCEL)))
    assert found.notes == ["R3 refused call 1 (cancel_appointment)"]
    assert (found.score, found.violations) == (1.0, [])


ASKED = agent(None, ("transfer_to_human", {"reason": "user_request", "summary": "Repair."}))
NO = "I can't repair chairs here. Would you like a colleague?"


@pytest.mark.parametrize(
    "words",
    [
        "Yes, please put me through to a human.",
        "Could I speak to a real person, then?",
        "Then transfer me, please.",
        "I want a human.",
        "Can someone else help me? A colleague, please.",
        "Why don't you connect me with a manager?",
    ],
)
def test_who_asks_for_a_human_after_a_no_is_handed_over_as_asked(words: str) -> None:
    task = a_kind("unavailable")
    assert faults(task, user("Repair my chair."), agent(NO), user(words), ASKED) == []


@pytest.mark.parametrize(
    "words",
    [
        "Yes, please.",
        "Please don't put me through to a human.",
        "I do not want to speak to a person.",
        "My person is called Ann; transfer it to my other branch.",
        "Put me on the waiting list.",
        "OK, thanks.",
    ],
)
def test_a_human_whom_the_user_did_not_ask_for_is_no_reason(words: str) -> None:
    wrong = ["not handed over with the reason no_tool"]
    assert faults(a_kind("unavailable"), user("Repair my chair."), agent(NO), user(words), ASKED) == wrong


def test_the_wish_for_a_human_comes_after_the_no() -> None:
    task, wrong = a_kind("unavailable"), ["not handed over with the reason no_tool"]
    wish = user("Put me through to a human.")
    assert faults(task, user("Repair my chair."), ASKED) == wrong
    assert faults(task, wish, ASKED) == wrong
    assert faults(task, user("Repair my chair."), agent("One moment."), wish, ASKED) == wrong
    assert faults(task, wish, agent(NO), ASKED) == wrong
    assert faults(task, user("Repair my chair."), agent(NO), ASKED, wish) == wrong


def test_who_asked_for_a_human_cannot_be_told_without_messages() -> None:
    given: dict[str, Json] = {"reason": "user_request", "summary": ""}
    assert score_of(a_kind("unavailable"), given, None) is None
    talk = [user("Repair it."), agent(NO), user("Put me through to a human.")]
    assert score_of(a_kind("unavailable"), given, talk) == 1.0
    assert score_of(a_kind("unavailable"), given, talk[:2]) == 0.0


def test_long_wishes_are_read_in_no_time() -> None:
    pieces = ("put me ", "a ", "I want a ", "not ", "can a real ", "put it to ", "no need to ", "transfer me please ")
    odds = [piece * (10_000 // len(piece)) for piece in pieces]
    assert is_done_within(2, lambda: [asked_for_human([agent(NO), user(odd)]) for odd in odds])
