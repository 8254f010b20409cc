"""Leaving facts out of errands."""

import pytest

from rollout.user.telling.bare import bare
from skillweave.schema.task import Fact


def fact(id: str, text: str, value: object) -> Fact:
    return Fact.model_validate({"id": id, "text": text, "value": value, "tell": "first"})


DAY = fact("visit.starts_at", "It is my visit on 21 January at 12:30.", "2025-01-21 12:30:00")
CARD = fact("pay.method", "Method: by card.", "card")
KIND = fact("invoice.name", "It is my cleaning invoice.", "cleaning")
REASON = fact("cancel.reason", "Reason: illness.", "illness")
PARTY = fact("book.party_size", "Party size: 4.", 4)


@pytest.mark.parametrize(
    ("words", "facts", "shorter"),
    [
        ("move my visit on 21 January at 12:30", [DAY], "move my visit"),
        ("have my visit that begins on 21 January at 12:30 moved", [DAY], "have my visit moved"),
        ("pay my cleaning invoice by card", [KIND, CARD], "pay my invoice"),
        ("settle my invoice, by card", [CARD], "settle my invoice"),
        ("cancel my visit and note illness as the reason", [REASON], "cancel my visit"),
        ("cancel my visit because of illness", [REASON], "cancel my visit"),
    ],
)
def test_what_can_be_asked_for_is_left_out(words: str, facts: list[Fact], shorter: str) -> None:
    assert bare(words, facts) == (shorter, facts)


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("come with a party of 4", [PARTY]),
        ("have until 21 January at 12:30 to pay", [DAY]),
        ("stay from 21 January at 12:30 to 24 January", [DAY]),
        ("move my visit", [DAY]),
    ],
)
def test_what_would_garble_the_sentence_stays(words: str, facts: list[Fact]) -> None:
    assert bare(words, facts) == (words, [])
