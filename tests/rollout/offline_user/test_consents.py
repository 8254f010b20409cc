"""What a user does not ask for and agrees to beforehand, where what they ask for needs it first."""

import pytest

from rollout.user.telling.telling import TELLINGS
from skillweave.schema.task import Task
from tests.rollout.offline_user.chats import STOP, a_story, answer, role, talk

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


def test_a_deed_that_both_have_is_of_what_was_agreed_to() -> None:
    story = a_story(
        "You want to put your filling invoice through under the benefit that pays 85 percent. "
        "If Aurora Plan needs it first, you agree to clear your invoice for the filling by card.",
        "Hi, I'd like to put my filling invoice through under the benefit that pays 85 percent.",
        [("invoice.treatment_name", "It is my filling invoice.", "filling", "first"), FACTS[-1]],
    )
    said = talk(
        story,
        [
            "Before I can submit the claim, I would pay your invoice (filling), by card [B1]. Shall I go ahead?",
            "It worked: your invoice has been paid (filling).",
            "I would now submit the claim (invoice: filling). Shall I go ahead?",
            "I have submitted the claim. Anything else?",
        ],
    )
    assert [STOP in one for one in said] == [False, False, False, True]


def test_an_agent_has_another_word_for_what_they_agreed_to() -> None:
    story = a_story(
        "You want to claim your liver panel back. "
        "If Aurora Plan needs it first, you agree to let your insurer have your liver panel report.",
        "Hi, I'd like to claim my liver panel back.",
        [("report.test_type_name", "It is my report on the liver panel.", "liver panel", "first")],
    )
    said = talk(
        story,
        [
            "I can only submit the claim after one step [B4]: I would first request the report copy (liver panel). "
            "May I go ahead?",
            "The report copy has been requested. Which benefit do you mean?",
            "I have submitted the claim. Anything else?",
        ],
    )
    assert is_yes(said[0])
    assert [STOP in one for one in said] == [False, False, True]


def test_of_two_ways_to_pay_they_tell_that_of_the_company_asked_about() -> None:
    story = a_story(
        "You want to settle your account with Aurora Plan. After that you want to pay your bill at Smile Dental.",
        "Hi, I want to settle my account with Aurora Plan. Then I want to pay my bill at Smile Dental.",
        [
            ("pay_balance.method", "Method for Aurora Plan: card.", "card", "asked"),
            ("pay_bill.method", "Method for Smile Dental: bank transfer.", "bank_transfer", "asked"),
        ],
    )
    said = answer(story, "Could you tell me the method (card or bank transfer), for Smile Dental?").lower()
    assert "bank transfer" in said
    assert "card" not in said


def test_a_yes_is_of_what_they_have_asked_for_so_far() -> None:
    story = a_story(
        "You want to settle your account with Aurora Plan. After that you want to pay your bill at Smile Dental.",
        "Hi, I want to settle my account with Aurora Plan. After that I want to pay my bill at Smile Dental.",
    )
    said = talk(
        role(story, TELLINGS.index("piecemeal")),
        ["I will pay the balance by card, if you agree. Shall I?", "I have paid the balance. Anything else?"],
    )
    assert "Smile Dental" in said[1]


def test_a_thing_whose_name_begins_like_a_deed_is_a_thing() -> None:
    story = a_story(
        "You want to rent the car class Compact Hatch. After that you want to claim its price back. "
        "If Harbourlight needs it first, you agree to settle that rental in full by bank transfer.",
        "Hi, I want to rent the car class Compact Hatch. After that I want to claim its price back.",
        [
            ("car_class.car_class_name", "It is the car class Compact Hatch.", "Compact Hatch", "first"),
            ("pay_rental.method", "Method: bank transfer.", "bank_transfer", "asked"),
        ],
    )
    said = talk(
        story,
        [
            "I have rented the car (car class: Compact Hatch).",
            "Rule B1 asks for one thing before I can file the claim: I would pay your rental, by bank transfer. Do you "
            "agree?",
        ],
    )
    assert is_yes(said[1])


def test_of_two_ways_to_pay_told_in_sentences_they_tell_that_of_the_company_asked_about() -> None:
    story = a_story(
        "You want to settle your account with Aurora Plan. After that you want to pay your bill at Smile Dental.",
        "Hi, I want to settle my account with Aurora Plan. Then I want to pay my bill at Smile Dental.",
        [
            ("pay_balance.method", "I pay Aurora Plan by card.", "card", "asked"),
            ("pay_bill.method", "I pay Smile Dental by bank transfer.", "bank_transfer", "asked"),
        ],
    )
    said = answer(story, "Could you tell me the method (card or bank transfer), for Smile Dental?").lower()
    assert "bank transfer" in said
    assert "by card" not in said


def test_a_value_of_another_wish_is_no_objection_to_what_they_agreed_to() -> None:
    story = a_story(
        "You want to take the room at the non-refundable rate. "
        "If The Calder House needs it first, you agree to settle your booking by bank transfer.",
        "Hi, I'd like to take the room at the non-refundable rate.",
        [
            ("pay_booking.method", "I pay Kestrel Air by bank transfer.", "bank_transfer", "asked"),
            ("book_room.rate_plan", "I want the non-refundable rate.", "non_refundable", "first"),
        ],
    )
    asked = "Before I can book the room, I would pay your booking (Saver), by bank transfer [B1]. Do you agree?"
    assert is_yes(answer(story, asked))
