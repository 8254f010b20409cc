"""Verification of a task's words: facts say what the user knows, and what has to be asked for is left unsaid."""

import re
from collections import Counter
from collections.abc import Iterator

from evaluator.ledger import tells
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Task

_DIGITS = re.compile(r"\d+")
_DATED = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):\d\d)?")
_TELLING = re.compile(r"[\d@]")
"""A text that has such is said to the letter; names and kinds may be put in other words."""


def word_faults(task: Task) -> Iterator[str]:
    """What is wrong with the first message, the goal and the facts."""
    opening = task.messages[0].content or "" if task.messages else ""
    if len(task.messages) != 1 or task.messages[0].role != "user" or not opening.strip():
        yield "its messages are not one, of the user"
        return
    for fact in task.scenario.facts:
        if not _holds(fact.text, fact.value):
            yield f"the fact {fact.id!r} does not say its value {fact.value!r}: {fact.text!r}"
        if fact.tell == "first" and Counter(_figures(fact)) - Counter(_DIGITS.findall(opening)):
            yield f"the first message does not say the fact {fact.id!r}, which is told at once: {fact.text!r}"
    asked = {name for ask in task.criteria.must_ask for name in ask.facts}
    for fact in task.scenario.facts:
        texts = (opening, task.scenario.goal)
        if fact.id in asked and (fact.tell == "first" or any(tells(fact, text, task.now) for text in texts)):
            yield f"the fact {fact.id!r} has to be asked for, and is said at once"


def _figures(fact: Fact) -> list[str]:
    """Figures of a fact that are said to the digit wherever it is told."""
    if isinstance(fact.value, str) and not _DATED.fullmatch(fact.value):
        return []
    return _DIGITS.findall(fact.text) if isinstance(fact.value, str | int | float) else []


def _holds(text: str, value: Json) -> bool:
    """Whether a fact's text says its value; of money in cents or in full."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return True
    if isinstance(value, int | float):
        return any(said in text for said in (f"{value:g}", f"{value}", f"{value:,}", f"{value / 100:,.2f}"))
    moment = _DATED.fullmatch(value)
    if moment is None:
        return _TELLING.search(value) is None or _squeezed(value) in _squeezed(text)
    _, _, *parts = moment.groups()
    return {int(part) for part in parts if part} <= {int(figure) for figure in _DIGITS.findall(text)}


def _squeezed(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
