"""The fact ledger: figures in a user's text come from what the user knows, or from what the agent said.

Dates, times, numbers, ids and addresses must occur among the user's facts, persona and opening, or in the agent's
words. Numbers in words, ordinals, weekdays and `tomorrow` are free. The same look tells which facts a text tells.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from itertools import chain

from evaluator.values import Token, forms, is_known, said, tokens, words
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Persona, Scenario

MOST = 200
"""Different figures of one text that are looked at."""
TELLING = 4
"""Letters of a word by which a value in several words is known."""


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
        found = _distinct(tokens(text))[:MOST]
        known = _distinct([*self._known, *chain.from_iterable(map(tokens, heard))])
        today = date.fromisoformat(self._now[:10])
        return [token.text.strip(" .,") for token in found if not is_known(token, known, today)]

    def tells(self, text: str, earlier: Sequence[str] = ()) -> list[str]:
        """Ids of the facts that a text tells. `earlier`: what was said before, which may have given a day."""
        return [fact.id for fact in self._facts if tells(fact, text, self._now, earlier)]

    @cached_property
    def _known(self) -> tuple[Token, ...]:
        return tuple(chain.from_iterable(map(tokens, self._texts)))


def tells(fact: Fact, text: str, now: str = "", earlier: Sequence[str] = ()) -> bool:
    """Whether the fact's value, or its own words for it, stand in a text."""
    if said(text, fact.value, type=None, unit=_unit(fact), now=now, earlier=earlier):
        return True
    if not isinstance(fact.value, str):
        return False
    _, colon, described = fact.text.partition(": ")
    if colon and said(text, described.strip(" ."), type="string"):
        return True
    telling = [word for word in words(fact.value) if len(word) >= TELLING]
    return len(telling) > 1 and {*telling} <= {*words(text)}


def _distinct(found: Iterable[Token]) -> list[Token]:
    return [*{token.text: token for token in found}.values()]


def _texts_of(fact: Fact) -> list[str]:
    return [fact.text, *_forms(fact.value, _unit(fact))]


def _forms(value: Json, unit: str | None) -> list[str]:
    return forms(value, unit=unit) if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _unit(fact: Fact) -> str | None:
    return "cents" if fact.id.endswith("_cents") else None
