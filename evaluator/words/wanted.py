"""A fact as something to be looked for in words: what names it, and which values a text gives of its kind."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import lru_cache

from evaluator.words.candidates import (
    Reader,
    read_moments,
    read_money,
    read_numbers,
    read_polarity,
    read_texts,
    read_times,
    without_title,
)
from evaluator.words.figures import SPELLED
from evaluator.words.mentions import number_in
from evaluator.words.moments import moment_of
from evaluator.words.phrases import first_word
from evaluator.words.roles import OTHER_NOUNS, ROLES, Roles, roles_of
from evaluator.words.stems import content_words, stem, stems
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

_PAYING = stems("amount balance charge come came cost due fee owe paid pay payment price refund sum take total")
_COMMON = stems("amount date day first last new next number sum time total")
_OF_MONEY = ("euro", "dollar", "pound")
_OF_NUMBERS = tuple(word for word in SPELLED.split("|") if word != "one")
_OF_TIMES = ("noon", "midday", "midnight", "today", "tomorrow", "yesterday", "clock", "past", "quarter")
_MOST_CUES = 40
"""More of them than this would be looked for in vain."""
_BEFORE_COMPLEMENT = re.compile(r"\s(?:of|with|for|to|in|on|under|by|at|per)\s", re.IGNORECASE)
_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")


@dataclass(frozen=True)
class Wanted:
    """A fact to look for."""

    nouns: frozenset[str]
    head: frozenset[str]
    """Those of its noun's words that stand before `of`, `with` and the like."""
    telling: frozenset[str]
    """Those of its noun's words that few other things are called by."""
    names: frozenset[str]
    """Words of how it is asked for, and of its row."""
    others: frozenset[str]
    """These, and for money words of paying."""
    cues: tuple[str, ...]
    """A text that gives a value holds one of these; empty: any text may."""
    has_figures: bool
    """A text that holds figures may give a value too."""
    is_text: bool
    """Its values are words, and nobody can tell others of the kind from any other words."""
    has_amounts: bool
    """Its values are money."""
    is_number: bool
    """Its values are numbers, and no amounts."""
    has_time: bool
    """Its values are a day with a time."""
    other_roles: frozenset[str]
    """Words for what other values of its kind are."""
    other_nouns: frozenset[str]
    """Those of them that alone name a value."""
    roles: Roles
    """What it plays against others of its kind."""
    read: Reader
    """The candidates in a clause; the date is today's, where it is known."""


Kin = Callable[[Json], frozenset[str]]
"""The other values of the text columns in which a world holds this one."""


def wanted(fact: FactToTell, kin: Kin | None = None) -> Wanted:
    """What to look for."""
    found = [kin(value) for value in fact.values] if kin and fact.type == "string" else []
    return _wanted(fact.model_dump_json(), found[0] if len(found) == 1 else frozenset[str]().union(*found))


@lru_cache(maxsize=4096)
def _wanted(record: str, kin: frozenset[str]) -> Wanted:
    fact = FactToTell.model_validate_json(record)
    cues, read, kind = _reader(fact, kin)
    words = stems(fact.noun)
    nouns = content_words(fact.noun) | (words & {"total"})
    first = stems(_BEFORE_COMPLEMENT.split(fact.noun, maxsplit=1)[0]) & nouns
    names = frozenset(map(stem, fact.names))
    return Wanted(
        nouns=nouns,
        head=first or nouns,
        telling=nouns - _COMMON or nouns,
        names=names,
        others=names | _PAYING if fact.unit == "cents" else names,
        cues=cues,
        has_figures=kind not in ("text", "boolean"),
        is_text=kind == "text",
        has_amounts=kind == "money",
        is_number=kind == "number",
        has_time=kind == "datetime",
        other_roles=ROLES - words - names,
        other_nouns=OTHER_NOUNS - words - names,
        roles=roles_of(words, names, kind),
        read=read,
    )


def _reader(fact: FactToTell, kin: frozenset[str]) -> tuple[tuple[str, ...], Reader, str]:
    right, rivals = fact.values, [rival for rival in fact.rivals if rival not in fact.values]
    if fact.unit == "cents" and all(_cents(value) is not None for value in right):
        return _OF_MONEY, read_money({_cents(v) for v in right}, {_cents(v) for v in rivals}), "money"
    if fact.type in ("integer", "number") and all(_number(value) is not None for value in right):
        return (
            _OF_NUMBERS,
            read_numbers({_number(v) for v in right}, {_number(v) for v in rivals}, stems(fact.noun)),
            "number",
        )
    if fact.type == "boolean" and right and all(isinstance(value, bool) for value in right):
        return (), read_polarity(stems(fact.noun), bool(right[0])), "boolean"
    texts = [str(value) for value in right]
    if fact.type in ("date", "datetime") and all(moment_of(text) for text in texts):
        has_time = any(len(text) > len("2025-01-24") for text in texts)
        read = read_moments(_moments(right), _moments(rivals), has_time=has_time)
        return _OF_TIMES, read, "datetime" if has_time else "date"
    if all(_CLOCK.fullmatch(text) for text in texts):
        return _OF_TIMES, read_times(_clocks(texts), _clocks(map(str, rivals))), "time"
    others = [str(rival) for rival in rivals]
    nouns = content_words(fact.noun)
    known = [*texts, *others, *sorted(kin - {*texts, *others})]
    beginnings = {first_word(text) for text in [*known, *(without_title(text, nouns) for text in known)]} - {""}
    is_any = len(beginnings) > _MOST_CUES or any(len(first) < 2 for first in beginnings)
    cues = () if is_any else tuple(sorted(beginnings | nouns))
    return cues, read_texts(texts, others, known[len(texts) + len(others) :], nouns), "text"


def _cents(value: Json) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(value)
    return int(number * 100) if number is not None else None


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool):
        return None
    return number_in(str(value)) if isinstance(value, int | float | str) else None


def _moments(values: Sequence[Json]) -> list[datetime]:
    return [moment for moment in (moment_of(str(value)) for value in values) if moment]


def _clocks(texts: Iterable[str]) -> set[tuple[int, int]]:
    found = [time.fromisoformat(text) for text in texts if _CLOCK.fullmatch(text)]
    return {(moment.hour, moment.minute) for moment in found}
