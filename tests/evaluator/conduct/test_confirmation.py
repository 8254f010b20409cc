"""Which writes count as confirmed."""

import pytest

from evaluator.checks.policy import check_policy
from evaluator.conduct.replies import is_refusal
from skillweave.schema.message import Message
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world

WORLD = a_world()
CANCEL = ("cancel_appointment", {"appointment_id": "APT-0001", "reason": "other"})
BOOK = ("book_appointment", {"slot_id": "SLO-0004"})
MOVE = ("move_appointment", {"appointment_id": "APT-0001", "slot_id": "SLO-0006"})
ASKED = [user("Please cancel my appointment."), agent("I would cancel it. Do you confirm?")]


def unconfirmed(*messages: Message) -> list[str] | None:
    return check_policy(a_conversation(WORLD, a_task(), *messages)).unconfirmed


def test_a_write_after_a_yes_to_the_agents_words_is_confirmed() -> None:
    assert unconfirmed(*ASKED, user("Yes, please."), agent(None, CANCEL)) == []


def test_a_write_before_the_agent_said_anything_is_not() -> None:
    assert unconfirmed(user("Please cancel it, yes!"), agent(None, CANCEL)) == ["call 0 (cancel_appointment)"]
    assert unconfirmed(agent("Hello, do you confirm?", CANCEL)) == ["call 0 (cancel_appointment)"]


def test_a_write_after_a_refusal_is_not() -> None:
    assert unconfirmed(*ASKED, user("No, wait."), agent(None, CANCEL)) == ["call 0 (cancel_appointment)"]
    assert unconfirmed(*ASKED, user("No."), agent("So you do?"), user("Yes."), agent(None, CANCEL)) == []


def test_one_yes_does_not_cover_a_second_write_in_a_later_message() -> None:
    both = [*ASKED, user("Yes."), agent(None, CANCEL), agent("Now the next.", BOOK)]
    assert unconfirmed(*both) == ["call 1 (book_appointment)"]
    asked_again = [*ASKED, user("Yes."), agent(None, CANCEL), agent("Book it?"), user("Yes."), agent(None, BOOK)]
    assert unconfirmed(*asked_again) == []


def test_one_yes_covers_all_writes_of_one_message() -> None:
    assert unconfirmed(*ASKED, user("Yes."), agent(None, CANCEL, BOOK)) == []
    late = [*ASKED, user("Yes."), agent(None, MOVE), agent("Both now.", CANCEL, BOOK)]
    assert unconfirmed(*late) == ["call 1 (cancel_appointment)", "call 2 (book_appointment)"]


def test_words_beside_a_call_are_said_and_reads_and_failed_writes_use_nothing_up() -> None:
    beside = [user("Cancel it."), agent("Let me look. Do you want to cancel it?", ("list_appointments", {}))]
    assert unconfirmed(*beside, user("Yes."), agent(None, CANCEL)) == []
    taken = ("book_appointment", {"slot_id": "SLO-0002"})
    assert unconfirmed(*ASKED, user("Yes."), agent(None, taken), agent(None, CANCEL)) == []


def test_a_write_that_needs_no_word_is_not_listed_and_uses_the_word_up() -> None:
    assert unconfirmed(user("Move it."), agent(None, MOVE)) == []
    assert unconfirmed(*ASKED, user("Yes."), agent(None, MOVE), agent(None, CANCEL)) == ["call 1 (cancel_appointment)"]


def test_calls_that_cannot_be_read_take_a_position() -> None:
    assert unconfirmed(user("Go."), agent(None, ("find_slots", "{"), CANCEL)) == ["call 1 (cancel_appointment)"]


def test_calling_it_off_confirms_a_cancellation_and_nothing_else() -> None:
    assert unconfirmed(*ASKED, user("Cancel that."), agent(None, CANCEL)) == []
    assert unconfirmed(*ASKED, user("Cancel that."), agent(None, BOOK)) == ["call 0 (book_appointment)"]


def test_asking_back_is_no_yes() -> None:
    assert unconfirmed(*ASKED, user("How much is it?"), agent(None, CANCEL)) == ["call 0 (cancel_appointment)"]
    assert unconfirmed(*ASKED, user("Yes. How much is it?"), agent(None, CANCEL)) == []


def test_a_yes_behind_the_end_confirms_nothing() -> None:
    over = [*ASKED, user("No, goodbye. ###STOP###"), agent("Really?"), user("Yes."), agent(None, CANCEL)]
    assert unconfirmed(*over) == []
    assert a_conversation(WORLD, a_task(), *over).made.steps == []


def test_lack_of_the_users_word_counts_only_where_that_is_set() -> None:
    trial = a_conversation(WORLD, a_task(), user("Cancel it."), agent(None, CANCEL))
    assert (check_policy(trial).score, check_policy(trial).violations) == (1.0, [])
    assert check_policy(trial, confirmation_counts=True).score == 0.0
    fine = a_conversation(WORLD, a_task(), *ASKED, user("Yes."), agent(None, CANCEL))
    assert check_policy(fine, confirmation_counts=True).score == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "No.",
        "no thank you",
        "Nope",
        "No, wait.",
        "Stop!",
        "Not yet.",
        "Not that.",
        "Don't do that.",
        "Please do not go ahead.",
        "Wait, which one is it?",
        "Hold on, let me check.",
        "Yes, but not yet.",
        "Okay, wait, please.",
        "No, please move it to 10:30 instead.",
        "Hmm, no, that is not what I want.",
        "That’s not right.",
        "I don't want that.",
        "No, I don't want to pay a fee.",
        "I do not think so.",
        "I would rather not.",
        "I can't confirm that.",
        "I'm not sure.",
        "Actually, I changed my mind.",
        "Never mind.",
        "No — stop.",
    ],
)
def test_refusals_are_read(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Yes",
        "No problem, go ahead.",
        "No, that's all right, please do it.",
        "No worries, do it.",
        "Sure, don't worry about it.",
        "Why not, do it.",
        "I can't wait! Yes.",
        "I don't mind, go ahead.",
        "Wait... ok yes, that's fine.",
        "Thanks. ###STOP###",
        "Tuesday works for me.",
        "I have no preference.",
        "Yes, there is no need to ask again.",
        "Go ahead, and stop the reminders.",
        "Yes, the 10:30 one, not the 11:00 one.",
        "Yes, please. I don't want to keep you long.",
        "Yes - I will wait for your report.",
        "It is not yet paid; please pay it.",
        "",
    ],
)
def test_what_only_looks_like_a_refusal_is_none(answer: str) -> None:
    assert not is_refusal(answer)
