"""What a user does not ask for and agrees to beforehand, where what they ask for needs it first."""

import pytest

from skillweave.schema.task import Task
from tests.rollout.offline_user.chats import STOP, a_story, answer, talk

GOAL = (
    "You want to claim back the cost of your cleaning on 12 January from Aurora Plan. "
    "If Aurora Plan needs it first, you agree to pay your cleaning invoice of 12 January by card."
)
FACTS = [
    ("invoice.treatment_name", "It is my cleaning invoice.", "cleaning", "first"),
    ("invoice.treated_at", "It is my invoice for my visit on 12 January.", "2025-01-12 10:00:00", "first"),
    ("pay_invoice.method", "Method: card.", "card", "asked"),
]


def a_claim() -> Task:
    return a_story(GOAL, "Hello, I'd like to claim back the cost of my cleaning on 12 January.", FACTS)


def is_yes(said: str) -> bool:
    return not is_no(said) and any(word in said.lower() for word in ("yes", "right", "correct", "exactly", "go ahead"))


def is_no(said: str) -> bool:
    return any(word in said for word in ("No,", "No.", "not ", "isn't"))


@pytest.mark.parametrize(
    "said",
    [
        "Before I can submit the claim, your cleaning invoice of 12 January has to be paid. Shall I pay it by card?",
        "I can't submit the claim as the invoice for your cleaning is unpaid. Shall I pay it by card first?",
        "To claim it, I would first pay your cleaning invoice by card. Do you agree?",
    ],
)
def test_they_agree_to_what_is_needed(said: str) -> None:
    assert is_yes(answer(a_claim(), said))


def test_they_know_how_it_is_to_be_done() -> None:
    asked = "Before I can submit the claim, your invoice must be paid. How would you like to pay?"
    assert "card" in answer(a_claim(), asked).lower()
    other = "Before I can submit the claim, I would pay your cleaning invoice by bank transfer [B1]. Shall I?"
    said = answer(a_claim(), other)
    assert is_no(said)
    assert "card" in said


@pytest.mark.parametrize(
    "said",
    [
        "To submit the claim, I would first cancel your appointment on 12 January. Shall I go ahead?",
        "Before the claim, I would pay your premium of 40.00 by card. Shall I?",
    ],
)
def test_they_decline_what_they_did_not_agree_to(said: str) -> None:
    assert is_no(answer(a_claim(), said))


def test_its_report_is_not_that_of_what_they_ask_for() -> None:
    said = talk(
        a_claim(),
        [
            "Before I can submit the claim, I would pay your cleaning invoice by card [B1]. Shall I go ahead?",
            "I have paid your cleaning invoice by card.",
            "I have submitted your claim. Anything else?",
        ],
    )
    assert "claim back the cost" in said[1]
    assert STOP not in said[1]
    assert STOP in said[2]


def test_a_bare_done_after_their_yes_is_of_what_they_said_yes_to() -> None:
    said = talk(a_claim(), ["I would pay your cleaning invoice by card first [B1]. Shall I go ahead?", "That is done."])
    assert STOP not in said[1]
    assert "claim back the cost" in said[1]


def test_one_report_of_both_settles_all() -> None:
    said = answer(a_claim(), "I have paid your cleaning invoice by card and submitted your claim. Anything else?")
    assert STOP in said


def test_to_a_refusal_for_want_of_it_they_say_once_that_they_agree() -> None:
    said = talk(
        a_claim(),
        [
            "I'm afraid I cannot submit the claim: rule B1 says that the invoice must be paid first.",
            "I am sorry, I can't submit the claim because the invoice is not paid.",
            "Goodbye.",
        ],
    )
    assert "pay my cleaning invoice of 12 January by card" in said[0]
    assert "pay my cleaning invoice" not in said[1]
    assert STOP in said[-1]


def test_an_offer_after_the_refusal_takes_the_request_up_again() -> None:
    said = talk(
        a_claim(),
        [
            "I'm afraid I cannot submit the claim, as it would be against rule B1.",
            "I am unable to submit the claim.",
            "I could pay your cleaning invoice by card, and then submit the claim. Shall I do that?",
            "I have paid your cleaning invoice.",
            "I have submitted your claim.",
        ],
    )
    assert "by card" in said[0]
    assert "why" in said[1].lower() or "reason" in said[1].lower()
    assert is_yes(said[2])
    assert [STOP in one for one in said] == [False, False, False, False, True]


def test_they_never_bring_it_up_as_a_request() -> None:
    said = talk(a_claim(), ["How can I help you?", "I have submitted your claim. Is there anything else?"])
    assert not any("pay" in one for one in said)
    assert STOP in said[1]
