from fractions import Fraction

import pytest

from synth.policy.wording import Quantity, quantities


def first(sentence: str) -> Quantity:
    return quantities(sentence)[0].readings[0]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("48 hours", "2 days"),
        ("1 year", "12 months"),
        ("half an hour", "30 minutes"),
        ("25 %", "25 percent"),
        ("a 7-day notice", "one week"),
        ("$15", "15.00"),
        ("4 pm", "16:00"),
        ("1,500.00", "1500.00"),
    ],
)
def test_two_ways_to_say_a_quantity_are_one(left: str, right: str) -> None:
    assert first(left) == first(right)


def test_a_month_is_no_number_of_days() -> None:
    assert first("1 month") != first("30 days")


def test_a_unit_at_the_end_of_a_list_is_that_of_all_its_numbers() -> None:
    found = [one.readings[0] for one in quantities("every 28, 56 or 84 days")]
    assert found == [Quantity(Fraction(days * 1440), "minutes") for days in (28, 56, 84)]


def test_words_that_need_not_be_numbers_are_not_firm() -> None:
    assert [one.is_firm for one in quantities("no more than once a day, but three times")] == [
        False,
        False,
        False,
        True,
    ]


def test_digits_within_a_name_are_no_quantity() -> None:
    assert quantities("the form P60 and v2.1b") == []
