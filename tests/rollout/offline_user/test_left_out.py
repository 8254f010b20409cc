"""What the user has left out: it comes when it is asked for, in whatever words, and not before."""

import pytest

from skillweave.schema.task import Task
from tests.rollout.offline_user.chats import STOP, a_story, talk

APPOINTMENT = [
    ("appointment.starts_at", "It is my appointment on 21 January at 12:30.", "2025-01-21 12:30:00", "asked"),
    ("appointment.dentist_name", "It is my appointment with Dr Iyer.", "Dr Iyer", "asked"),
]
LIST = "I found:\n1. 20 January at 9:30 with Dr Hale\n2. 21 January at 12:30 with Dr Iyer\n"


def a_row() -> Task:
    """Which appointment is not said."""
    return a_story("You want to cancel your appointment.", "Hello, I'd like to cancel my appointment.", APPOINTMENT)


def a_value() -> Task:
    """How it is paid is not said."""
    return a_story(
        "You want to pay your cleaning invoice.",
        "Hi, I want to pay my cleaning invoice.",
        [
            ("invoice.treatment_name", "It is my cleaning invoice.", "cleaning", "first"),
            ("pay_invoice.method", "Method: by card.", "card", "asked"),
        ],
    )


@pytest.mark.parametrize(
    "asked",
    [
        "Which one do you mean?",
        "There are several. Which one?",
        "Which appointment do you mean?",
        "When is it?",
        "I see one on 20 January at 9:30 and one on 21 January at 12:30. Which one is it?",
        "Do you mean the one on 20 January or the one on 21 January?",
        f"{LIST}Which one shall I cancel?",
        "Shall I cancel your appointment on 23 January at 9:30 with Dr Hale?",
    ],
)
def test_the_row_is_told_where_it_is_asked_for_or_another_is_proposed(asked: str) -> None:
    (said,) = talk(a_row(), [asked])
    assert "21 January at 12:30" in said
    assert "yes" not in said.lower()


@pytest.mark.parametrize(
    "asked",
    [
        "How would you like to pay?",
        "What is the method?",
        "By card or by bank transfer?",
        "Which one would you like?",
        "I would pay it by bank transfer now. Shall I go ahead?",
    ],
)
def test_so_is_a_value(asked: str) -> None:
    (said,) = talk(a_value(), [asked])
    assert "card" in said.lower()
    assert "yes" not in said.lower()


@pytest.mark.parametrize("trial", range(4))
def test_nothing_of_it_is_said_unasked(trial: int) -> None:
    vague = ["How can I help?", "One moment, please.", "Hm.", "I am not sure what you want.", "Shall I cancel it?"]
    said = " ".join(talk(a_row(), vague, trial=trial))
    assert "21 January" not in said
    assert "Iyer" not in said


def test_what_was_told_is_not_told_again_as_if_it_were_new() -> None:
    first, second = talk(a_row(), ["Which one do you mean?", "Which one do you mean?"])
    assert "21 January" in first
    assert "cancel my appointment" in second


def test_who_is_declined_without_a_reason_asks_for_it_once() -> None:
    said = talk(a_row(), ["I am sorry, that is not possible.", "It is not possible, I am sorry."])
    assert "why" in said[0].lower()
    assert STOP in said[1]


def test_a_reason_is_taken_and_so_is_being_handed_over() -> None:
    for words in ("I cannot do that: rule R10 forbids it.", "I have no tool for that. I am handing you over."):
        (said,) = talk(a_row(), [words])
        assert STOP in said


def test_what_was_left_out_comes_when_other_words_ask_for_it() -> None:
    for asked in ("Which payment method should I use?", "By which means would you like to pay?"):
        assert "by card" in talk(a_value(), [asked])[-1].casefold(), asked
    assert "card" not in talk(a_value(), ["Has it been paid before?"])[-1]
