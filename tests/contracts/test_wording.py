"""Values in the words that people use: near days, months."""

from datetime import date, timedelta
from random import Random

import pytest

from evaluator.text.facts import tells_fact
from skillweave.schema.entity import AttributeType
from skillweave.schema.task import Fact
from synth.contracts.wording import month_in_words, relative_day_in_words, value_in_words

MONDAY = date(2025, 3, 17)


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0, "today"),
        (1, "tomorrow"),
        (-1, "yesterday"),
        (3, "Thursday"),
        (6, "Sunday"),
        (7, "Monday next week"),
        (13, "Sunday next week"),
        (14, ""),
        (-3, "last Friday"),
        (-7, ""),
    ],
)
def test_a_near_day_is_said_by_its_distance(days: int, words: str) -> None:
    assert relative_day_in_words(MONDAY + timedelta(days), MONDAY) == words


def test_a_weekday_that_two_days_share_is_not_enough() -> None:
    day = date(2025, 3, 20)
    assert relative_day_in_words(day, MONDAY, [day, day + timedelta(7)]) == ""
    assert relative_day_in_words(day, MONDAY, [day, day + timedelta(1)]) == "Thursday"


@pytest.mark.parametrize("today", [MONDAY + timedelta(days) for days in range(7)])
def test_no_two_near_days_are_said_in_the_same_words(today: date) -> None:
    words = [said for days in range(-20, 20) if (said := relative_day_in_words(today + timedelta(days), today))]
    assert len(words) == len(set(words)) > 8


@pytest.mark.parametrize("today", [MONDAY + timedelta(days) for days in range(7)])
def test_what_is_said_of_a_near_day_tells_it(today: date) -> None:
    now = f"{today} 09:00:00"
    for days in range(-20, 20):
        for value in (f"{today + timedelta(days)}", f"{today + timedelta(days)} 10:30:00"):
            kind: AttributeType = "date" if len(value) == 10 else "datetime"
            for number in range(12):
                words = value_in_words(value, kind, None, now, Random(number), month_first=number % 2 == 0)
                fact = Fact(id="slot.starts_at", text="It is the slot.", value=value, tell="asked")
                assert tells_fact(fact, f"I come on {words}.", now), words


def test_a_month_of_another_year_has_its_year() -> None:
    assert month_in_words(date(2025, 4, 1), "2025-03-17 09:00:00") == "April"
    assert month_in_words(date(2024, 4, 1), "2025-03-17 09:00:00") == "April 2024"
