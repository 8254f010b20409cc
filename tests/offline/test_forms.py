"""English for rows, sets of rows and near days."""

from random import Random

import pytest

from skillweave.schema.combination import Condition, Superlative
from skillweave.schema.request import KnownFact, KnownRow, KnownRows
from synth.offline.forms import (
    arguments_of,
    direct_question,
    first_of_kind,
    forms,
    frames_for,
    limits_of,
    one_of_them,
    plural,
    rows_together,
)
from synth.offline.services import EntityTalk, Talk
from synth.offline.wording import refer, tidy

TALK = Talk(
    entities={
        "Visit": EntityTalk(
            noun="visit",
            mine=True,
            qualifiers={"treatment_name": ["=my {value}"], "starts_at": ["on {value}"], "status": ["that is {value}"]},
        ),
        "Treatment": EntityTalk(
            noun="treatment", qualifiers={"treatment_name": ["=a {value}"], "room": ["in {value}"]}
        ),
    },
    tools={},
)
WORDS = {"name": "extraction", "day": "tomorrow at 09:30", "room": "Room 2", "status": "scheduled", "month": "April"}
NUMBERS = range(30)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"treatment_name": "name"}, "my extraction"),
        ({"treatment_name": "name", "starts_at": "day"}, "my extraction tomorrow at 09:30"),
        ({"starts_at": "day"}, "my visit tomorrow at 09:30"),
    ],
)
def test_a_name_stands_for_the_thing_itself(columns: dict[str, str], words: str) -> None:
    row = KnownRow(entity="Visit", columns=columns)
    assert {refer(TALK, row, WORDS, Random(number)) for number in NUMBERS} == {words}


def test_a_thing_that_is_named_has_the_article_of_its_name() -> None:
    row = KnownRow(entity="Treatment", columns={"treatment_name": "name", "room": "room"})
    assert refer(TALK, row, WORDS, Random(1)) == "an extraction in Room 2"


def test_a_noun_with_which_a_name_ends_is_not_said_twice() -> None:
    talk = Talk(
        entities={"Test": EntityTalk(noun="test", mine=True, qualifiers={"name": ["{value} {noun}"]})}, tools={}
    )
    row = KnownRow(entity="Test", columns={"name": "name"})
    assert refer(talk, row, {"name": "tuberculosis blood test"}, Random(1)) == "my tuberculosis blood test"
    assert refer(talk, row, {"name": "vitamin D level"}, Random(1)) == "my vitamin D level test"


def test_one_of_several_is_named_by_what_tells_it_apart() -> None:
    row = KnownRow(entity="Visit", columns={"treatment_name": "name", "starts_at": "day"})
    assert one_of_them(TALK, row, WORDS, Random(1)) == "the one called extraction tomorrow at 09:30"


def test_a_status_of_several_stands_before_the_noun() -> None:
    left = KnownRow(entity="Visit", columns={"treatment_name": "name"})
    rows = KnownRows(entity="Visit", columns={"status": "status"}, month="month", excepted=[left])
    said = {rows_together(TALK, rows, WORDS, Random(number)) for number in NUMBERS}
    assert len(said) > 10
    assert all(
        "my scheduled visits" in one and "in April" in one and "the one called extraction" in one for one in said
    )


def test_what_lies_ahead_is_from_its_month_on_and_not_since_it() -> None:
    rows = KnownRows(entity="Visit", month="month", since=True, ahead=True)
    said = {rows_together(TALK, rows, WORDS, Random(number)) for number in NUMBERS}
    assert all("from April on" in one for one in said)
    past = rows.model_copy(update={"ahead": False})
    assert any("since April" in rows_together(TALK, past, WORDS, Random(number)) for number in NUMBERS)


def test_the_first_of_its_kind_is_said_in_many_ways_and_without_its_day() -> None:
    best = Superlative(column="starts_at", order="least")
    other, own = KnownRow(entity="Treatment", columns={}), KnownRow(entity="Visit", columns={})
    said = {first_of_kind(TALK, row, best, WORDS, Random(number)) for number in NUMBERS for row in (other, own)}
    assert {"the earliest treatment", "the first treatment", "my visit that starts first"} <= said
    assert "my first visit" not in said


@pytest.mark.parametrize(
    ("noun", "nouns"),
    [
        ("visit", "visits"),
        ("policy", "policies"),
        ("car class", "car classes"),
        ("stay", "stays"),
        ("place on the waiting list", "places on the waiting list"),
    ],
)
def test_plurals(noun: str, nouns: str) -> None:
    assert plural(noun) == nouns


@pytest.mark.parametrize(
    ("text", "neat"),
    [
        ("the slot on tomorrow at 09:30", "the slot tomorrow at 09:30"),
        ("due on last Friday", "due last Friday"),
        ("for a party of 1", "for 1 person"),
        ("for a party of 12", "for a party of 12"),
        ("We are a party of 1.", "We are 1 person."),
        ("It is for 1 people.", "It is for 1 person."),
        ("I want 1 of them.", "I want just 1."),
        ("(21 in all)", "(21 in all)"),
        ("cancel it , the reason being work", "cancel it, the reason being work"),
        ("1 more refills", "1 more refill"),
        ("on Friday next week", "on Friday next week"),
    ],
)
def test_words_that_a_value_asks_for(text: str, neat: str) -> None:
    assert tidy(text) == neat


def test_nobody_repeats_an_argument_or_names_a_figure() -> None:
    pool = forms()["insists"]
    assert len(set(pool)) == len(pool) >= 30
    assert not any(sign.isdigit() for text in pool for sign in text)
    assert all(len(set(arguments_of(2, Random(number)))) == 2 for number in NUMBERS)


@pytest.mark.parametrize(
    ("clause", "question"),
    [
        ("what the fee would be if I were to cancel", "what would the fee be if I were to cancel"),
        ("what the fee would come to in total if I paid", "what would the fee come to in total if I paid"),
        ("how much the rest would be if I paid", "how much would the rest be if I paid"),
        ("when my policy ends", "when my policy ends"),
    ],
)
def test_what_would_be_is_asked_as_a_question(clause: str, question: str) -> None:
    assert direct_question(clause) == {"question": question, "Question": question[0].upper() + question[1:]}


def test_nobody_speaks_of_the_amount_before_the_deed_is_named() -> None:
    condition = Condition(parameter="slot_id", column="price_cents", noun="price", holds="above", limit=5000, then="do")
    moment = condition.model_copy(update={"column": "ends_on", "noun": "ends on", "limit": "2025-04-01"})
    for one, is_first in ((condition, True), (moment, False), (moment.model_copy(update={"foreseen": True}), True)):
        for name in ("conditions", "branch_conditions"):
            ways = frames_for(name, one, is_first=is_first)
            assert ways
            assert all(
                way.index("{request}") < min(at for limit in ("{holds}", "{fails}") if (at := way.find(limit)) >= 0)
                for way in ways
            )
    assert len(frames_for("conditions", moment, is_first=True)) > len(frames_for("conditions", moment, is_first=False))


def test_of_a_wish_about_several_rows_it_is_said_whose_value_decides() -> None:
    condition = Condition(parameter="slot_id", column="price_cents", noun="price", holds="above", limit=5000, then="do")
    limit = KnownFact(id="condition.price_cents", about="price", value=5000, type="integer", words="50.00")
    for number in NUMBERS:
        alone, beside = (limits_of(condition, limit, "the slot", Random(number), is_alone=one) for one in (True, False))
        assert "of the slot" not in alone["holds"]
        assert beside["holds"].startswith("the price of the slot is")
        assert beside["fails"].startswith("the price of the slot is")
