"""Conduct, by what was done and recorded."""

from dataclasses import replace
from typing import Any

import pytest

from evaluator.checks import CHECKS
from evaluator.checks.policy import check_policy
from evaluator.scoring.score import score
from skillweave.schema.criteria import GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.score import PolicyCheck
from skillweave.schema.task import Kind, Task
from skillweave.schema.trajectory import Message, UserTurn
from skillweave.world.replay import replay
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
REQUEST = user("Please cancel it.")
NO = "I am sorry, that cannot be done any more."
REASON = {"id": "cancel.reason", "text": "Reason: illness.", "value": "illness", "tell": "asked"}
CANCEL = ("cancel_appointment", {"appointment_id": "APT-0001"})


def a_kind(kind: Kind, also: list[str] | None = None) -> Task:
    criteria: dict[str, Any] = {"state": [], "reward_basis": ["state", "policy"]}
    if kind == "refuse":
        criteria["declined"] = {"rule": "R10", "also": also or []}
    if kind == "clarify":
        criteria["must_ask"] = [{"facts": ["cancel.reason"], "tool": "cancel_appointment"}]
    return a_task(kind=kind, criteria=criteria, scenario={"goal": "", "reason": "", "facts": [REASON]})


def declines(*rules: str) -> list[tuple[str, Any]]:
    return [("decline_request", {"rule": rule}) for rule in rules]


def hands_over(reason: str, rule: str | None = None) -> tuple[str, dict[str, Json]]:
    return "transfer_to_human", {"reason": reason, "rule": rule, "summary": "Too late."}


def checked(task: Task, *messages: Message, turns: list[UserTurn] | None = None) -> PolicyCheck:
    trial = a_conversation(WORLD, task, *messages, turns=turns)
    found = check_policy(trial)
    assert isinstance(found, PolicyCheck)
    return found


def faults(task: Task, *messages: Message, turns: list[UserTurn] | None = None) -> list[str]:
    return checked(task, *messages, turns=turns).violations


@pytest.mark.parametrize("words", [NO, "Non.", "Sure, it is done!"])
def test_who_records_the_deciding_rule_and_says_something_has_declined(words: str) -> None:
    assert faults(a_kind("refuse"), REQUEST, agent(None, *declines("R10")), agent(words)) == []
    assert faults(a_kind("refuse"), REQUEST, agent(words, *declines("R10"))) == []


def test_words_alone_decline_nothing() -> None:
    assert faults(a_kind("refuse"), REQUEST, agent("Rule R10 forbids it.")) == [
        "nothing is recorded as declined; R10 decides it"
    ]


def test_a_record_without_a_word_to_the_user_is_not_enough() -> None:
    task = a_kind("refuse")
    for unseen in (None, "  ", "<think>R10 forbids it.</think>"):
        assert faults(task, REQUEST, agent(unseen, *declines("R10"))) == ["the user was told nothing of it"]
    assert faults(task, agent("Good morning!"), REQUEST, agent(None, *declines("R10"))) == [
        "the user was told nothing of it"
    ]


@pytest.mark.parametrize(
    ("rules", "passes"),
    [(["R10"], True), (["R10", "R10"], True), (["R3"], True), (["R10", "R3"], True), (["R4"], False),
     (["R10", "R4"], False), (["R1", "R2", "R3", "R4", "R10"], False)],
)  # fmt: skip
def test_only_the_deciding_rule_and_those_accepted_with_it_may_be_recorded(rules: list[str], passes: bool) -> None:
    assert (faults(a_kind("refuse", ["R3"]), REQUEST, agent(NO, *declines(*rules))) == []) is passes


def test_a_record_made_before_the_request_was_heard_breaks_the_policy() -> None:
    early = agent("Good morning!", *declines("R10"))
    assert faults(a_kind("refuse"), early, REQUEST, agent(NO)) == [
        "recorded R10 in call 0 (decline_request), before the request was heard"
    ]
    assert faults(a_kind("refuse"), agent(NO, *declines("R10"))) != []


def test_handing_over_because_of_the_policy_counts_as_declining_by_its_rule() -> None:
    task = a_kind("refuse")
    assert faults(task, REQUEST, agent(NO, hands_over("policy", "R10"))) == []
    assert len(faults(task, REQUEST, agent(NO, hands_over("policy", "R4")))) == 1
    assert len(faults(task, REQUEST, agent(NO, hands_over("policy")))) == 1
    assert len(faults(task, REQUEST, agent(NO, hands_over("user_request", "R10")))) == 1


def test_words_before_a_deed_tell_of_what_is_declined_beside_it() -> None:
    criteria = {"state": [], "reward_basis": ["state", "policy"], "declined": {"rule": "R10"}}
    task, handed = a_task(kind="do", criteria=criteria), agent(None, hands_over("policy", "R10"))
    book, look = agent(None, ("book_appointment", {"slot_id": "SLO-0004"})), agent(None, ("list_appointments", {}))
    assert faults(task, REQUEST, look, agent(NO), user("Then book one."), book, handed) == []
    assert faults(task, REQUEST, look, book, handed) == ["the user was told nothing of it"]
    assert faults(task, REQUEST, look, book, agent(NO)) == ["nothing is recorded as declined; R10 decides it"]


def test_a_rule_that_the_policy_does_not_have_cannot_be_recorded() -> None:
    found = faults(a_kind("refuse"), REQUEST, agent(NO, ("decline_request", {"rule": "R99"})))
    assert found == ["nothing is recorded as declined; R10 decides it"]


@pytest.mark.parametrize("kind", ["do", "inform", "unavailable"])
def test_where_nothing_is_to_be_declined_a_record_breaks_the_policy(kind: Kind) -> None:
    found = faults(a_kind(kind), REQUEST, agent(NO, *declines("R10"), hands_over("no_tool")))
    assert found == ["recorded R10 in call 0 (decline_request), where nothing is to be declined"]


def test_what_no_tool_does_is_handed_over_for_that_reason_after_it_was_asked_for() -> None:
    task, no_tool = a_kind("unavailable"), agent(None, hands_over("no_tool"))
    assert faults(task, REQUEST, no_tool) == []
    assert faults(task, REQUEST, agent(NO)) == ["not handed over"]
    assert faults(task, no_tool, REQUEST) == ["handed over in call 0 (transfer_to_human), before the request was heard"]
    assert len(faults(task, REQUEST, agent(None, hands_over("cannot_verify")))) == 1


@pytest.mark.parametrize(("wants_human", "passes"), [(True, True), (False, False)])
def test_who_is_handed_over_on_their_own_wish_has_recorded_it(wants_human: bool, passes: bool) -> None:
    talk = [REQUEST, agent(NO), user("Put me through, please."), agent(None, hands_over("user_request"))]
    turns = [UserTurn(message=0), UserTurn(message=2, wants_human=wants_human)]
    assert (faults(a_kind("unavailable"), *talk, turns=turns) == []) is passes
    assert faults(a_kind("unavailable"), *talk) != []


def test_what_was_left_out_has_to_be_told_before_the_write() -> None:
    task, guessed = a_kind("clarify"), ["not told cancel.reason before call 0 (cancel_appointment)"]
    cancels = agent(None, CANCEL)
    assert faults(task, REQUEST, cancels) == guessed
    assert faults(task, REQUEST, agent("Why?"), user("For illness."), cancels) == []
    assert faults(task, REQUEST, agent("One moment."), user("Oh, and it is because of illness."), cancels) == []
    assert faults(task, REQUEST, agent("Why?"), user("Never mind."), cancels) == guessed
    assert faults(task, REQUEST, cancels, agent("Why?"), user("For illness.")) == guessed
    assert faults(task, REQUEST, agent("Why?")) == []


@pytest.mark.parametrize(
    ("proposal", "agrees", "passes"),
    [
        ("I would put down illness. Shall I cancel?", True, True),
        ("I would put down illness. Shall I cancel?", False, False),
        ("I would put down illness. Shall I cancel?", None, False),
        ("I would put down travel. Shall I cancel?", True, False),
        ("Shall I cancel?", True, False),
    ],
)
def test_who_agrees_to_words_that_hold_it_has_told_it(proposal: str, agrees: bool | None, passes: bool) -> None:
    turns = [UserTurn(message=0), UserTurn(message=2, agrees=agrees)]
    talk = [REQUEST, agent(proposal), user("Well."), agent(None, CANCEL)]
    assert (faults(a_kind("clarify"), *talk, turns=turns) == []) is passes


def test_words_before_the_last_look_up_tell_nothing_of_a_decline() -> None:
    asked = [REQUEST, agent("May I have your number?"), user("It is 12."), agent(None, ("list_appointments", {}))]
    silent = ["the user was told nothing of it"]
    assert faults(a_kind("refuse"), *asked, agent(None, *declines("R10"))) == silent
    assert faults(a_kind("refuse"), *asked, agent("...", *declines("R10"))) == silent
    assert faults(a_kind("refuse"), *asked, agent(None, *declines("R10")), agent(NO)) == []
    assert (
        faults(a_kind("refuse"), *asked, agent(NO), user("Then a human."), agent(None, hands_over("policy", "R10")))
        == []
    )


def test_what_is_recorded_behind_the_end_counts_for_nothing_in_a_session_too() -> None:
    turns = [UserTurn(message=0), UserTurn(message=2, done=True)]
    talk = [REQUEST, agent(NO), user("Goodbye."), agent(NO, *declines("R10"))]
    with WORLD.session(a_kind("refuse")) as session:
        session.call("decline_request", {"rule": "R10"})
        assert score(a_kind("refuse"), session, talk, turns).reward == 0.0


def test_what_a_record_claims_to_tell_is_looked_up_in_the_text() -> None:
    turns = [UserTurn(message=0, tells=["cancel.reason"])]
    assert len(faults(a_kind("clarify"), REQUEST, agent(None, CANCEL), turns=turns)) == 1


def test_a_broken_rule_has_the_position_of_its_call_behind_one_that_cannot_be_read() -> None:
    booked = [("book_appointment", {"slot_id": slot}) for slot in ("SLO-0004", "SLO-0006")]
    made = agent(None, ("find_slots", "{"), *booked)
    broken = ["R6 in call 2 (book_appointment)"]
    assert faults(a_kind("do"), user("Book both."), made) == broken
    with WORLD.session(a_kind("do")) as session:
        for call in booked:
            session.call(*call)
        found = score(a_kind("do"), session, [user("Book both."), made]).checks.policy
    assert found is not None
    assert found.violations == broken


def test_a_rule_that_the_tool_upheld_is_noted_and_not_punished() -> None:
    found = checked(a_kind("do"), user("Cancel it."), agent(None, CANCEL, CANCEL))
    assert found.notes == ["R3 refused call 1 (cancel_appointment)"]
    assert (found.score, found.violations) == (1.0, [])


@pytest.mark.parametrize(("agrees", "unconfirmed"), [(True, []), (False, ["call 0"]), (None, ["call 0"])])
def test_a_write_is_confirmed_where_the_users_last_turn_agrees(agrees: bool | None, unconfirmed: list[str]) -> None:
    turns = [UserTurn(message=0, agrees=True), UserTurn(message=2, agrees=agrees)]
    found = checked(a_kind("do"), REQUEST, agent("Shall I?"), user("Hm."), agent(None, CANCEL), turns=turns)
    assert [text.partition(" (")[0] for text in found.unconfirmed or ()] == unconfirmed
    assert found.score == 1.0


def test_without_the_users_records_nothing_is_said_of_confirmation() -> None:
    assert checked(a_kind("do"), REQUEST, agent(None, CANCEL)).unconfirmed is None


def test_without_confirmation_the_policy_is_broken_where_that_counts() -> None:
    trial = a_conversation(WORLD, a_kind("do"), REQUEST, agent(None, CANCEL), turns=[UserTurn(message=0)])
    scores = [check_policy(one) for one in (trial, replace(trial, confirmation_in_reward=True))]
    assert [one.score for one in scores if one] == [1.0, 0.0]


GAMES = {
    "declines every rule": lambda rules: [agent(NO, *declines(*rules))],
    "declines and does it all the same": lambda rules: [agent(NO, *declines("R10")), agent("Done.", CANCEL)],
    "declines before hearing": None,
    "declines everything by one rule": lambda rules: [agent(NO, *declines("R10"))],
}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("kind", ["do", "inform", "clarify", "unavailable", "refuse"])
def test_who_games_the_record_fails(kind: Kind, game: str) -> None:
    """Each game fails each kind of task, but for declining what is to be declined."""
    make = GAMES[game]
    rules = WORLD.blueprint.rules
    talk = [REQUEST, *make(rules)] if make else [agent("Hello!", *declines("R10")), REQUEST, agent(NO)]
    trial = a_conversation(WORLD, a_kind(kind), *talk)
    state, policy = (CHECKS[name].record(trial) for name in ("state", "policy"))
    product = state.score * policy.score  # type: ignore[union-attr]
    assert product == (1.0 if (kind, game) == ("refuse", "declines everything by one rule") else 0.0)


def test_a_session_without_its_conversation_is_judged_as_far_as_its_calls_go() -> None:
    def policy(kind: Kind, *calls: tuple[str, Any]) -> float | None:
        with WORLD.session(a_kind(kind)) as session:
            for call in calls:
                session.call(*call)
            found = score(a_kind(kind), session).checks.policy
        return found.score if found else None

    assert policy("do") == 1.0
    assert policy("do", *declines("R10")) == 0.0
    assert policy("refuse") == 0.0
    assert policy("refuse", *declines("R4")) == 0.0
    assert policy("refuse", *declines("R10")) is None
    assert policy("unavailable") == 0.0
    assert policy("unavailable", hands_over("no_tool")) == 1.0
    assert policy("unavailable", hands_over("user_request")) is None
    assert policy("clarify", CANCEL) is None


def test_who_declines_and_does_it_all_the_same_fails_where_it_was_to_be_done() -> None:
    golden = [GoldenCall(tool=CANCEL[0], arguments=dict(CANCEL[1]))]
    state = replay(WORLD, a_task(golden=golden)).changes
    task = a_task(golden=golden, criteria={"state": state, "reward_basis": ["state", "policy"]})
    for calls, reward in (([CANCEL], 1.0), ([*declines("R10"), CANCEL], 0.0), (declines("R10"), 0.0)):
        with WORLD.session(task) as session:
            for call in calls:
                session.call(*call)
            assert score(task, session, [REQUEST, agent(NO, *calls)]).reward == reward
