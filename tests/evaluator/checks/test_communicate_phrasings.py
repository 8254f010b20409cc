import pytest

from evaluator.checks.communicate import check_communicate, statements
from skillweave.schema.message import Message
from skillweave.schema.task import FactToTell
from tests.evaluator.checks.communicate_held_out import HELD_OUT_NOT_TOLD, HELD_OUT_TALKS, HELD_OUT_TOLD
from tests.evaluator.checks.communicate_phrasings import (
    FACTS,
    NOT_TOLD_A,
    NOT_TOLD_B,
    TALKS,
    TOLD_A,
    TOLD_B,
)


def a_fact(name: str) -> FactToTell:
    return FactToTell.model_validate({"fact": name, **FACTS[name]})


def score(name: str, *said: str, now: str = "") -> float:
    messages = [Message(role="assistant", content=text) for text in said]
    return check_communicate([a_fact(name)], messages, now).score


@pytest.mark.parametrize(("fact", "text"), [*TOLD_A, *TOLD_B, *HELD_OUT_TOLD])
def test_told(fact: str, text: str) -> None:
    assert score(fact, "Let me look.", text) == 1


@pytest.mark.parametrize(("fact", "text"), [*NOT_TOLD_A, *NOT_TOLD_B, *HELD_OUT_NOT_TOLD])
def test_not_told(fact: str, text: str) -> None:
    assert score(fact, text) == 0


@pytest.mark.parametrize(("fact", "said", "told"), [*TALKS, *HELD_OUT_TALKS])
def test_told_after_several_messages(fact: str, said: tuple[str, ...], told: bool) -> None:
    assert score(fact, *said) == told


def test_tomorrow_is_a_day_where_the_clock_is_known() -> None:
    text = "The start is tomorrow at 9:30."
    assert score("start", text, now="2025-01-23 08:00:00") == 1
    assert score("start", text, now="2025-01-24 08:00:00") == 0
    assert score("start", text) == 0


def test_statements_are_all_sentences_that_state_the_fact() -> None:
    said = [
        Message(role="user", content="Is my balance 1,200.00?"),
        Message(role="assistant", content="Let me see. Your balance is 45.00."),
        Message(role="assistant", content="Sorry, I was wrong: the balance is **1,200.00**. Anything else?"),
        Message(role="assistant", content="Your appointment is on 3 March."),
    ]
    found = statements(a_fact("balance"), said, alone=True)
    assert [tuple(one) for one in found] == [
        (1, "Your balance is 45.00.", False),
        (2, "Sorry, I was wrong: the balance is 1,200.00.", True),
    ]


def test_an_unknown_name_for_the_fact_is_a_wrong_statement_of_it() -> None:
    said = [Message(role="assistant", content="The gate is Gate C2.")]
    assert [one.right for one in statements(a_fact("gate"), said, alone=True)] == [False]
    said = [Message(role="assistant", content="The gate is open from 9:00, please be there early.")]
    assert statements(a_fact("gate"), said, alone=True) == []


def test_a_rival_takes_away_from_every_statement_of_its_message() -> None:
    said = [Message(role="assistant", content="The balance is 45.00. The balance is 1,200.00.")]
    assert [one.right for one in statements(a_fact("balance"), said, alone=True)] == [False, False]


def test_a_correction_in_one_message_replaces_what_stands_before_it() -> None:
    assert score("balance", "The balance is 1,300.00. Correction: the balance is 1,200.00.") == 1
    assert score("balance", "The balance is 1,200.00. Correction: the balance is 1,300.00.") == 0
