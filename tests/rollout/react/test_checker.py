import pytest

from rollout.react.tools import CHECKERS, contains, exact, expected_answer, number, reward_of
from skillweave.base.errors import ConfigError


def test_exact_heeds_words_and_not_their_dress() -> None:
    check = exact("New York")
    assert check(" **new   york**. ")
    assert not check("New York City")
    assert not check("")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("1234.5", True),
        ("It is $1,234.50.", True),
        ("First 7, then 1234.5", True),
        ("1234.5, not 7", False),
        ("12345", False),
        ("-1234.5", False),
        ("v1234.5", False),
        ("none", False),
    ],
)
def test_number_takes_the_last_one(answer: str, right: bool) -> None:
    assert bool(number(1234.5)(answer)) == right


def test_contains_wants_each_as_whole_words() -> None:
    check = contains("Ann Lee", "room 4")
    assert check("In Room 4 there is ann lee!")
    assert not check("In room 42 there is Ann Lee")
    assert not check("Ann Lee")


def test_an_expected_number_is_compared_as_one() -> None:
    assert expected_answer("42")("The answer is 42.0")
    assert not expected_answer("42 apples")("42")
    assert expected_answer("1,000")("1000")


def test_a_check_that_wants_a_number_says_so() -> None:
    with pytest.raises(ConfigError, match="'many' is no number"):
        CHECKERS["number"]("many")


@pytest.mark.parametrize("said", [1.5, -0.1, float("nan"), "yes", None])
def test_a_checker_that_says_something_else_is_an_error(said: object) -> None:
    with pytest.raises(ConfigError, match="a float from 0 to 1"):
        reward_of(lambda _: said, "x")  # type: ignore[arg-type, return-value]
