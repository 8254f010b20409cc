from functools import partial

import pytest

from evaluator.checks.communicate import check_communicate
from evaluator.words.markup import LONGEST
from evaluator.words.mentions import mentions, sentences
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell
from tests.evaluator.checks.communicate_phrasings import FACTS
from tests.evaluator.pace import is_done_within

MEGABYTE = 1_000_000
PARTS = (
    "1",
    "1,",
    "1,000",
    "1.",
    "a-",
    "a1-",
    "-a-1",
    " ",
    "\n",
    "|1",
    "| a | 1 |\n",
    "*",
    "_a",
    "if ",
    "you said ",
    "not ",
    "<think>",
    "<think ",
    "~~",
    "<!--",
    "moved from ",
    "between 9 and ",
    "one hundred and ",
    "24 january or ",
    "2025-01-24 ",
    "9:30:",
    "a:\n",
    ", is ",
    "is it 1,200.00? ",
    "The balance is 1,200.00. ",
    "1,200.00 or ",
    "e\u0301",
    "dr. ",
    " 1",
    "Station Square Sampling ",
    "a of ",
    "<a hidden ",
    "<a ",
    "![",
    "[a](",
    "[a]: ",
    "> 1\n",
    "**a**\n",
    "(",
    "1 to ",
    "1 x ",
    "1 of ",
    "Gate C5 ",
    "and 1 respectively ",
    "I was wrong about ",
    "\u2011",
    "\ufe0f\u20e3",
)


@pytest.mark.parametrize("fact", ["balance", "start", "room", "place", "covered"])
def test_a_megabyte_takes_no_time(fact: str) -> None:
    wanted = FactToTell.model_validate({"fact": fact, **FACTS[fact]})
    for part in PARTS:
        message = Message(role="assistant", content=part * (MEGABYTE // len(part)) + " 1,200.00")
        assert is_done_within(0.5, partial(check_communicate, [wanted], [message])), part


@pytest.mark.parametrize("part", ["a-", "Dr. A ", "1,000", "a:\n"])
def test_mentions_take_time_in_proportion(part: str) -> None:
    assert is_done_within(2, lambda: [mentions(sentence) for sentence in sentences(part * (200_000 // len(part)))])


def test_nothing_is_read_beyond_the_longest_answer() -> None:
    fact = FactToTell.model_validate({"fact": "balance", **FACTS["balance"]})
    filling = "Let me see. " * (LONGEST // 12)
    message = Message(role="assistant", content=f"{filling} The balance is 1,200.00.")
    assert check_communicate([fact], [message]).score == 0


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("integer", []),
        ("boolean", []),
        ("string", []),
        ("string", [""]),
        ("string", ["(*"]),
        ("string", ["25:99"]),
        ("date", ["soon"]),
        ("datetime", ["2025-13-45 99:00:00"]),
        ("number", ["nan"]),
        ("integer", [10**400]),
        ("integer", [None]),
        ("string", [["a", {"b": 1}]]),
    ],
)
def test_a_value_that_no_words_give_is_not_told(kind: str, values: list[Json]) -> None:
    fact = FactToTell.model_validate({"fact": "told_1", "noun": "thing", "type": kind, "values": values})
    said = "The thing is on 24 January at 09:30, 99:99 and 32 December 2025: 1,200.00 for 12 visits, or 0000-00-00."
    assert check_communicate([fact], [Message(role="assistant", content=said)], "9999-12-31 00:00:00").score == 0
