"""What settles an errand, and when the user leaves."""

import pytest

from tests.rollout.offline_user.chats import STOP, a_move, a_question, a_story, talk

YES = "I will move your appointment to 22 January at 14:30. Shall I go ahead?"
PAY = "Shall I pay your cleaning invoice (80.00) by card?"


def test_leaves_at_the_report_of_the_last_errand_and_not_before() -> None:
    said = talk(
        a_move(), [YES, "Your appointment has been moved.", PAY, "I have paid your invoice; 80.00 was taken.", "x"]
    )
    assert len(said) == 4
    assert STOP in said[-1]


def test_a_tool_call_without_words_settles_nothing() -> None:
    said = talk(a_move(), [YES, "Thank you.", "Let me see."])
    assert STOP not in " ".join(said)


def test_done_settles_what_was_confirmed_and_no_more() -> None:
    said = talk(a_move(), [YES, "Done."])
    assert STOP not in said[-1]
    assert "cleaning invoice" in said[-1]
    assert "appointment" not in said[-1]


def test_done_said_of_everything_settles_all_that_is_to_be_done() -> None:
    said = talk(a_move(), ["All done! Everything has been taken care of."])
    assert "how much was taken" in said[-1]
    assert "appointment" not in said[-1]
    assert (
        STOP in talk(a_move(), ["Both are done: the invoice is paid and the visit is moved.", "80.00 was taken."])[-1]
    )


def test_a_report_of_the_second_errand_leaves_the_first_open() -> None:
    said = talk(a_move(), ["I have paid your cleaning invoice by card.", "Anything else?"])
    assert "move my appointment" in said[0]


@pytest.mark.parametrize(
    "words",
    [
        "Your appointment will be moved once you confirm your e-mail.",
        "I am going to move your appointment now.",
        "Your appointment has not been moved yet.",
        "I have found your appointment on 21 January at 12:30.",
        "I have verified your identity, thank you.",
        "Before your appointment can be moved I need your e-mail address.",
        "Please tell me the reason (why it is moved) as well.",
        "You have been with us for years.",
    ],
)
def test_what_is_no_report_settles_nothing(words: str) -> None:
    said = talk(a_move(), [words, "Anything else I can do for you?"])
    assert "move my appointment" in said[-1]


def test_who_wants_to_know_is_answered_by_a_value_of_the_kind_only() -> None:
    task = a_question("how much I owe you")
    assert STOP not in talk(task, ["I have looked it up for you."])[-1]
    assert STOP not in talk(task, ["Your account is active."])[-1]
    assert STOP not in talk(task, ["There is nothing I can do about it at the moment."])[-1]
    assert STOP in talk(task, ["As to the balance: that is 414.00."])[-1]
    assert STOP in talk(task, ["You owe nothing."])[-1]


def test_a_date_answers_when_and_an_amount_does_not() -> None:
    task = a_question("when my next visit is")
    assert STOP not in talk(task, ["It costs 58.00."])[-1]
    assert STOP in talk(task, ["It is on 3 March at 10:00."])[-1]


def test_a_name_answers_who() -> None:
    task = a_question("who my regular dentist is")
    assert STOP not in talk(task, ["You have a regular dentist."])[-1]
    assert STOP in talk(task, ["Your regular dentist is Sunita Menon."])[-1]


def test_the_users_own_words_are_no_answer() -> None:
    task = a_question("when I was born")
    assert STOP not in talk(task, ["Is it about 3 May 1981?", "You said 3 May 1981."])[-1]


def test_a_refusal_with_its_reason_is_accepted() -> None:
    said = talk(a_question(), ["I am sorry, I cannot tell you that, because the policy does not allow it."])
    assert STOP in said[0]


def test_a_refusal_without_a_reason_is_asked_about_once() -> None:
    said = talk(a_question(), ["I cannot do that.", "I cannot do that."])
    assert STOP not in said[0]
    assert "why" in said[0].lower() or "reason" in said[0].lower()
    assert STOP in said[1]


def test_after_a_refusal_the_other_errands_are_still_wanted() -> None:
    said = talk(a_move(), ["I cannot move your appointment, because it is less than a day away."])
    assert STOP not in said[0]
    assert "cleaning invoice" in said[0]


def test_handing_over_ends_it() -> None:
    assert STOP in talk(a_move(), ["I will transfer you to a human colleague."])[0]


@pytest.mark.parametrize("patience", [2, 5])
def test_gives_up_after_its_patience(patience: int) -> None:
    said = talk(a_move(patience=patience), [f"The weather is nice, is it not, number {n}." for n in range(9)])
    assert len(said) == patience
    assert STOP in said[-1]


def test_progress_renews_the_patience() -> None:
    idle = ["Hm.", "I see."]
    said = talk(a_move(patience=3), [*idle, "What is your email?", *idle, "When were you born?", *idle, "Well."])
    assert [STOP in words for words in said] == [False] * 8 + [True]


def test_asking_for_the_same_again_and_again_is_no_progress() -> None:
    said = talk(a_move(patience=4), ["What is your email?"] * 9)
    assert len(said) == 5


def test_who_double_checks_asks_once_before_leaving() -> None:
    task = a_move(traits=["double-checks what was done before ending"])
    said = talk(task, ["Both are done, and 80.00 was taken.", "Yes, all is done.", "Bye."])
    assert len(said) == 2
    assert STOP not in said[0]


def test_no_two_answers_are_the_same_words() -> None:
    said = talk(a_move(patience=8), ["Hm."] * 8)
    assert len(set(said)) == len(said)


def test_an_offer_to_be_handed_over_is_taken() -> None:
    said = talk(
        a_question(),
        [
            "I cannot do that, as no tool of mine does it. Would you like me to transfer you to a human colleague?",
            "I am handing you over now.",
        ],
    )
    assert STOP not in said[0]
    assert not said[0].lower().startswith("no")
    assert STOP in said[1]


def test_an_agent_that_finds_nothing_is_told_again_what_it_looks_for() -> None:
    said = talk(a_move(), ["Unfortunately I could not find such an appointment."])
    assert "21 January at 12:30" in said[0]


def test_of_two_errands_of_one_deed_one_report_settles_one() -> None:
    twice = a_story(
        "You want to settle your invoice by card. After that you want to clear your invoice by bank transfer.",
        "Hi, I'd like to settle my invoice by card. Then I want to clear my invoice by bank transfer.",
        [
            ("invoice.treatment_name", "It is my cleaning invoice.", "cleaning", "asked"),
            ("pay_invoice.method", "Method: by card.", "card", "first"),
            ("invoice_2.treatment_name", "It is my filling invoice.", "filling", "asked"),
            ("pay_invoice.method_4", "Method: by bank transfer.", "bank_transfer", "first"),
        ],
    )
    first, then = "I will pay your invoice (cleaning), by card. Shall I?", "I would pay your invoice (filling), by bank"
    said = talk(twice, [first, f"All set, I have paid your invoice (cleaning). {then} transfer. May I go ahead?"])
    assert STOP not in said[-1]
    assert STOP in talk(twice, [first, "I have paid both of your invoices."])[-1]
