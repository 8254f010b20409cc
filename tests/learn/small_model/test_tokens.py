"""Texts and values become tokens, and come back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learn.small_model.tokens import ConversationToken, argument, text_tokens, value_tokens, written

TODAY = "2025-03-17"


@pytest.mark.parametrize(
    "text",
    [
        "I would book the test, with priority (book test): routine; starts at (slot): 26 April 2025 at 08:30. Right?",
        "The price is 86.00.\nI have looked it up: your phone is +44 7700 901051.",
        'Write to sam.cole_54@example.net, about the "best" room, BLTES-0007, by rule R57.',
        "Unfortunately I don't know; at most 1 may be withdrawn.",
    ],
)
def test_what_agents_say_comes_back_letter_by_letter(text: str) -> None:
    assert written(text_tokens(text, today=TODAY)) == text


@pytest.mark.parametrize(
    "text", ["26 April", "April 26", "Saturday, April 26", "Saturday the 26th of April", "26 april", "2025-04-26"]
)
def test_a_date_is_one_token_in_all_its_forms(text: str) -> None:
    assert text_tokens(text, today=TODAY) == [ConversationToken("date", "2025-04-26")]


def test_a_time_beside_a_date_is_as_in_a_result() -> None:
    assert text_tokens("April 26 at 8:30", today=TODAY) == value_tokens("2025-04-26 08:30:00", "starts_at")


def test_an_amount_is_one_token_as_words_and_as_cents() -> None:
    assert (
        text_tokens("1,248.50", today=TODAY)
        == value_tokens(124850, "price_cents")
        == [ConversationToken("money", "124850")]
    )


@pytest.mark.parametrize(
    ("key", "value", "types"),
    [
        ("starts_at", "2025-04-26 08:30:00", ["string"]),
        ("day", "2025-04-26", ["string", "null"]),
        ("day", None, ["string", "null"]),
        ("phone", "+44 7700 901051", ["string"]),
        ("method", "bank_transfer", ["string"]),
        ("name", "Priya O'Neill-Marsh", ["string"]),
        ("price_cents", 12900, ["integer"]),
        ("share", 0.25, ["number"]),
        ("express", True, ["boolean"]),
        ("code", "12", ["string"]),
    ],
)
def test_arguments_come_back_with_their_types(key: str, value: Any, types: list[str]) -> None:
    assert argument(value_tokens(value, key), types) == value


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_written(text: str) -> None:
    tokens = text_tokens(text, today=TODAY)
    assert isinstance(written(tokens), str)
    assert isinstance(argument(tokens, ["string"]), str)
