"""Who asks for something else has not asked for what was left out."""

from typing import Any

import pytest

from evaluator.conduct.questions import asks_for, asks_to_choose, asks_which, gives, proposes, questions
from skillweave.schema.task import Fact

METHODS = ("card", "bank_transfer", "direct_debit")
VALUES: dict[str, Any] = {
    "appointment.starts_at": "2025-03-25 11:45:00",
    "slot.starts_at": "2025-04-13 11:00:00",
    "rental.pickup_at": "2025-03-31 14:00:00",
    "invoice.treatment_name": "root canal",
    "test_type.test_type_name": "cholesterol profile",
    "reminder.medicine_name": "Breathwell 100 mcg inhaler",
    "book_room.check_in": "2025-03-21",
    "book_room.check_out": "2025-03-23",
    "extend_rental.new_return_at": "2025-04-03 17:00:00",
    "submit_claim.service_date": "2025-03-12",
    "add_dependant.date_of_birth": "2025-02-24",
    "add_dependant.dependant_name": "Nils Bergqvist",
    "add_driver.driver_age": 28,
    "redeem_points.points": 500,
    "pay_balance.amount_cents": 3800,
    "order_extra.quantity": 1,
    "pay_deposit.method": "bank_transfer",
    "book_test.priority": "express",
    "cancel_order.reason": "travel",
    "request_second_reading.question": "before_operation",
    "change_bank_account.account_number": "903317426",
}


def is_asked(name: str, words: str) -> bool:
    fact = Fact(id=name, text="It is so.", value=VALUES[name], tell="asked")
    choices = METHODS if name.endswith("method") else ()
    asked = [one for one in questions(words) if not proposes(one)]
    return any(asks_for(one, fact, choices) or asks_which(one, fact) or asks_to_choose(one) for one in asked)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(
    "words",
    [
        "Would you be so kind as to share your date of birth along with your e-mail address?",
        "I need your last name, your mobile number and your birth date.",
        "For security, what's your postcode and your DOB?",
        "May I know with whom I am speaking?",
        "So that I can pull up your booking, your appointment or your invoice, please state your full name.",
        "In order to locate the rental, the test or the reminder I need your phone number and postal code.",
        "Is there something else that I can do for you in any other way today?",
        "Do you know how payments, points and appointments work with us?",
        "Are you satisfied with the appointment, the invoice and the price?",
    ],
)
def test_who_asks_who_is_calling_or_makes_talk_asks_for_nothing(name: str, words: str) -> None:
    assert not is_asked(name, words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("appointment.starts_at", "Why would you want to call off the appointment?"),
        ("appointment.starts_at", "Which new slot should it become?"),
        ("book_room.check_out", "On which day will you be arriving?"),
        ("book_room.check_in", "On which date do you check out?"),
        ("extend_rental.new_return_at", "At which branch will you return it?"),
        ("submit_claim.service_date", "When did you buy the cover?"),
        ("add_driver.driver_age", "Has the driver been with you before?"),
        ("redeem_points.points", "How many points have you collected?"),
        ("redeem_points.points", "How many nights will it be?"),
        ("pay_balance.amount_cents", "Will you pay the amount today?"),
        ("pay_balance.amount_cents", "What is the number of the invoice?"),
        ("pay_deposit.method", "Which deposit is it?"),
        ("pay_deposit.method", "How are you today, and how did you find us?"),
        ("reminder.medicine_name", "What is the branch name?"),
        ("change_bank_account.account_number", "What is your membership number?"),
        ("cancel_order.reason", "Which order should be cancelled?"),
    ],
)
def test_a_neighbouring_question_asks_for_something_else(name: str, words: str) -> None:
    assert not is_asked(name, words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("appointment.starts_at", "Sure. Which of your two appointments shall I call off?"),
        ("appointment.starts_at", "Could you tell me when the appointment is that you would like to cancel?"),
        ("appointment.starts_at", "You have two. Is it the earlier or the later one?"),
        ("slot.starts_at", "What day and time would work for you?"),
        ("rental.pickup_at", "When does that rental begin?"),
        ("invoice.treatment_name", "Which of the open bills do you want to settle?"),
        ("test_type.test_type_name", "Could you let me know which test you need?"),
        ("reminder.medicine_name", "Do you mean the one for Doloran or the one for Breathwell?"),
        ("book_room.check_in", "From which day would you like the room?"),
        ("book_room.check_out", "How long would you like to stay?"),
        ("extend_rental.new_return_at", "Until when do you want to keep the car?"),
        ("submit_claim.service_date", "On what date were you treated?"),
        ("add_dependant.date_of_birth", "When was the little one born?"),
        ("add_dependant.date_of_birth", "I need your e-mail, your own date of birth and your son's date of birth."),
        ("add_dependant.dependant_name", "And what is your daughter called?"),
        ("add_driver.driver_age", "May I ask how old the second driver is?"),
        ("redeem_points.points", "How many points do you wish to redeem?"),
        ("pay_balance.amount_cents", "How much do you want to pay?"),
        ("pay_balance.amount_cents", "Should I take the whole balance, or part of it?"),
        ("order_extra.quantity", "Only one, or one for each person?"),
        ("pay_deposit.method", "How do you want to pay?"),
        ("pay_deposit.method", "Shall I use the card on file, or will you make a transfer?"),
        ("book_test.priority", "Is it urgent, or will the normal time do?"),
        ("cancel_order.reason", "May I ask why?"),
        ("request_second_reading.question", "What would you like the second reading for?"),
        ("change_bank_account.account_number", "What's the new account number?"),
    ],
)
def test_what_people_ask_in_their_own_words_counts(name: str, words: str) -> None:
    assert is_asked(name, words)


def test_what_stands_behind_a_label_is_the_value_in_the_users_words() -> None:
    text = "Question: an operation that is coming up."
    fact = Fact(id="request_second_reading.question", text=text, value="before_operation", tell="asked")
    assert gives("It is because of an operation that is coming up.", fact)
    assert not gives("It is my question.", fact)
