"""The fact ledger: figures in a user's text come from what the user knows, or from what the agent said.

Dates, times, numbers, ids and addresses must occur among the user's facts, persona and opening, or in the agent's
words. Numbers in words or up to ten, ordinals, weekdays and `tomorrow` are free. The same look tells which facts a text
tells.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import chain

from evaluator.tokens import Token, moved, squeezed, tokens
from evaluator.values import forms, said, words
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Persona, Scenario

FREE = 10
"""Whole numbers up to this say nothing that a user would have to know."""
TELLING = 4
"""Letters of a word by which a value in several words is known."""
PHONE = 9
"""Digits at the end of a phone number that make it the same, with and without the country's."""
_PHRASES = re.compile(r"\b(?:24/7|50/50|24 hours?|100 ?%)", re.IGNORECASE)
"""Figures of speech."""


class Ledger:
    """What one user knows."""

    def __init__(self, scenario: Scenario, persona: Persona, *, now: str, texts: Sequence[str] = ()) -> None:
        """`texts` are the opening, the company's name, and what else the user has before them."""
        self._facts = scenario.facts
        self._now = now
        own = [scenario.goal, scenario.reason, persona.name, f"{persona.age}", *persona.traits, now, *texts]
        self._texts = [*own, *chain.from_iterable(_texts_of(fact) for fact in scenario.facts)]

    def faults(self, text: str, heard: Sequence[str] = ()) -> list[str]:
        """Tokens of a user's text that the user cannot know, as they stand there. `heard`: what the agent said."""
        today = date.fromisoformat(self._now[:10])
        heard_too = _Known(chain.from_iterable(map(tokens, heard)), today)
        found = {token.text: token for token in tokens(_PHRASES.sub(" ", text))}
        return [
            token.text.strip(" .,")
            for token in found.values()
            if not (_is_free(token) or self._known.has(token) or heard_too.has(token))
        ]

    def tells(self, text: str, earlier: Sequence[str] = ()) -> list[str]:
        """Ids of the facts that a text tells. `earlier`: what was said before, which may have given a day."""
        return [fact.id for fact in self._facts if tells(fact, text, self._now, earlier)]

    @cached_property
    def _known(self) -> "_Known":
        return _Known(chain.from_iterable(map(tokens, self._texts)), date.fromisoformat(self._now[:10]))


class _Known:
    """Tokens that were said or are known, by what they say."""

    def __init__(self, known: Iterable[Token], today: date) -> None:
        found = [*known]
        relative = [day for token in found for day in [moved(today, token)] if day is not None]
        self._days = {(day.month, day.day): {day.year} for day in relative}
        for day in (day for token in found for day in token.days):
            self._days.setdefault((day.month, day.day), set()).add(day.year or 0)
        self._times = {time for token in found for time in (token.clock, token.hour) if time is not None}
        self._letters = {_end(token.letters or squeezed(token.text)) for token in found}
        self._numbers = {token.number for token in found if token.number is not None}
        self._numbers |= {Decimal(part) for token in found for day in token.days for part in day if part is not None}
        clocks = [token.clock for token in found if token.clock is not None]
        self._numbers |= {Decimal(part) for clock in clocks for part in (clock.hour, clock.hour % 12, clock.minute)}

    def has(self, token: Token) -> bool:
        """Whether one of them says the same."""
        if token.letters is not None:
            return _end(token.letters) in self._letters
        if token.days:
            years = [self._days.get((day.month, day.day), set()) for day in token.days]
            return any(
                given and (day.year is None or 0 in given or day.year in given)
                for day, given in zip(token.days, years, strict=True)
            )
        if token.clock is not None:
            return token.clock in self._times
        return token.number in self._numbers or token.hour in self._times or squeezed(token.text) in self._letters


def tells(fact: Fact, text: str, now: str = "", earlier: Sequence[str] = ()) -> bool:
    """Whether the fact's value, or its own words for it, stand in a text."""
    if said(text, fact.value, type=None, unit=_unit(fact), now=now, earlier=earlier, loosely=True):
        return True
    if not isinstance(fact.value, str):
        return False
    _, colon, described = fact.text.partition(": ")
    if colon and said(text, described.strip(" ."), type="string"):
        return True
    telling = [word for word in words(fact.value) if len(word) >= TELLING]
    return len(telling) > 1 and {*telling} <= {*words(text)}


def _is_free(token: Token) -> bool:
    """Whether anybody may say it."""
    if token.is_free or (token.is_date and not token.days):
        return True
    number = token.number
    return not token.days and number is not None and number <= FREE and number == int(number)


def _end(letters: str) -> str:
    """Of a phone number the digits by which it is the same; anything else as it is."""
    return letters[-PHONE:] if letters.isdigit() else letters


def _texts_of(fact: Fact) -> list[str]:
    return [fact.text, *_forms(fact.value, _unit(fact))]


def _forms(value: Json, unit: str | None) -> list[str]:
    return forms(value, unit=unit) if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _unit(fact: Fact) -> str | None:
    return "cents" if fact.id.endswith("_cents") else None
