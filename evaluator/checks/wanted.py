"""A fact as something to be looked for in words: what names it, and which values a text gives of its kind."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from evaluator.checks.assertions import folded
from evaluator.checks.figures import SPELLED, Figure, figures
from evaluator.checks.mentions import number_in
from evaluator.checks.moments import Moment, moment_of, moments
from evaluator.checks.stems import content_words, stem, stems
from skillweave.schema.record import Json
from skillweave.schema.task import FactToTell

_PAYING = frozenset(
    [
        "amoun",
        "balan",
        "charg",
        "come",
        "came",
        "cost",
        "due",
        "fee",
        "owe",
        "paid",
        "pay",
        "payme",
        "price",
        "refun",
        "sum",
        "take",
        "total",
    ]
)
_COMMON = stems("amount date day first last new next number sum time total")
_OF_MONEY = ("euro", "dollar", "pound")
_OF_NUMBERS = tuple(word for word in SPELLED.split("|") if word != "one")
_OF_TIMES = ("noon", "midday", "midnight", "today", "tomorrow", "yesterday", "clock", "past", "quarter")
_BEFORE_COMPLEMENT = re.compile(r"\s(?:of|with|for|to|in|on|under|by|at|per)\s", re.IGNORECASE)
TAKING_BACK = ("correction", "i was ", "mistake", "misspoke", "misread", "i meant")
"""By these an agent takes back what it said, whatever it says instead."""
_CODE = re.compile(r"[^\W\d_]+|\d+")
_CLOCK = re.compile(r"\d\d:\d\d(?::\d\d)?")
_NEGATIVE = re.compile(r"\b(?:not?|never|neither|nor|un\w+ed|without)\b|n't\b|\bcannot\b", re.IGNORECASE)


class Candidate(NamedTuple):
    """A value of the fact's kind as it stands in a clause."""

    start: int
    end: int
    key: object
    """What it means: two candidates with one key say the same."""
    is_right: bool
    is_rival: bool
    inner: int = 0
    """Where its last part stands, a time after its day."""
    is_partial: bool = False
    """It is a part of the right value, a day without its time."""
    is_doubtful: bool = False
    """It may be no value of this kind: a bare number."""
    part: Literal["day", "time"] | None = None
    """What it is of a moment; None where it is whole."""

    @property
    def is_known(self) -> bool:
        """It is the right value or a rival's."""
        return self.is_right or self.is_rival


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
    is_number: bool
    """Its values are numbers, and no amounts."""
    has_time: bool
    """Its values are a day with a time."""
    read: Callable[[str, date | None], list[Candidate]]
    """The candidates in a clause; the date is today's, where it is known."""


def wanted(fact: FactToTell) -> Wanted:
    """What to look for."""
    return _wanted(fact.model_dump_json())


@lru_cache(maxsize=4096)
def _wanted(record: str) -> Wanted:
    fact = FactToTell.model_validate_json(record)
    cues, read, kind = _reader(fact)
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
        is_number=kind == "number",
        has_time=kind == "datetime",
        read=read,
    )


Reader = Callable[[str, date | None], list[Candidate]]


def _reader(fact: FactToTell) -> tuple[tuple[str, ...], Reader, str]:
    right, rivals = fact.values, [rival for rival in fact.rivals if rival not in fact.values]
    if fact.unit == "cents" and all(_cents(value) is not None for value in right):
        return _OF_MONEY, _read_money({_cents(v) for v in right}, {_cents(v) for v in rivals}), "money"
    if fact.type in ("integer", "number") and all(_number(value) is not None for value in right):
        return _OF_NUMBERS, _read_numbers({_number(v) for v in right}, {_number(v) for v in rivals}), "number"
    if fact.type == "boolean" and all(isinstance(value, bool) for value in right):
        return (), _read_polarity(stems(fact.noun), bool(right[0])), "boolean"
    texts = [str(value) for value in right]
    if fact.type in ("date", "datetime") and all(moment_of(text) for text in texts):
        has_time = any(len(text) > len("2025-01-24") for text in texts)
        read = _read_moments(_moments(right), _moments(rivals), has_time=has_time)
        return _OF_TIMES, read, "datetime" if has_time else "date"
    if all(_CLOCK.fullmatch(text) for text in texts):
        return _OF_TIMES, _read_times(_clocks(texts), _clocks(map(str, rivals))), "time"
    known = [*texts, *(str(rival) for rival in rivals)]
    cues = (part.casefold() for text in known for part in _CODE.findall(folded(text))[:1])
    return tuple(sorted({*cues, *TAKING_BACK})), _read_texts(_pattern(known), len(texts)), "text"


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


def _read_money(right: set[int | None], rivals: set[int | None]) -> Reader:
    def read(clause: str, _: date | None) -> list[Candidate]:
        found = [(figure, figure.cents) for figure in figures(clause)]
        return [
            Candidate(
                figure.start, figure.end, cents, cents in right, cents in rivals, is_doubtful=not figure.is_amount
            )
            for figure, cents in found
            if cents is not None and not figure.is_count
        ]

    return read


def _read_numbers(right: set[Decimal | None], rivals: set[Decimal | None]) -> Reader:
    def read(clause: str, _: date | None) -> list[Candidate]:
        return [
            Candidate(
                figure.start,
                figure.end,
                figure.number,
                _is_in(figure, right),
                _is_in(figure, rivals),
                is_doubtful=True,
            )
            for figure in figures(clause)
        ]

    return read


def _is_in(figure: Figure, numbers: set[Decimal | None]) -> bool:
    return figure.number in numbers or (figure.is_percent and figure.number / 100 in numbers)


def _read_polarity(nouns: frozenset[str], right: bool) -> Reader:
    def read(clause: str, _: date | None) -> list[Candidate]:
        if not stems(clause) & nouns:
            return []
        said = _NEGATIVE.search(clause) is None
        return [Candidate(0, 0, said, said == right, False)]

    return read


def _read_times(right: set[tuple[int, int]], rivals: set[tuple[int, int]]) -> Reader:
    def read(clause: str, _: date | None) -> list[Candidate]:
        return [
            Candidate(found.start, found.end, found.times, bool(right & {*found.times}), bool(rivals & {*found.times}))
            for found in moments(clause)
            if found.times
        ]

    return read


def _read_moments(right: Sequence[datetime], rivals: Sequence[datetime], *, has_time: bool) -> Reader:
    def read(clause: str, today: date | None) -> list[Candidate]:
        found = moments(clause, today)
        pairs = paired(found) if has_time else [moment._replace(times=()) for moment in found if moment.day]
        return [candidate(pair) for pair in pairs]

    def candidate(said: Moment) -> Candidate:
        is_right = any(_is_moment(said, moment, has_time=has_time) for moment in right)
        is_rival = any(_is_moment(said, moment, has_time=has_time) for moment in rivals)
        is_part = has_time and not is_right and any(_is_part(said, moment) for moment in right)
        part: Literal["day", "time"] | None = None if said.day and said.times else "day" if said.day else "time"
        key = (said.day[:2] if said.day else None, said.times)
        return Candidate(
            said.start,
            said.end,
            key,
            is_right,
            is_rival,
            inner=said.inner,
            is_partial=is_part,
            part=part if has_time else None,
        )

    return read


def paired(found: Sequence[Moment]) -> list[Moment]:
    """Each time with its day: the one before it or, where a time stands first, the one after it."""
    forward = bool(found) and found[0].day is None
    pairs: list[Moment] = []
    for place, moment in enumerate(found):
        if moment.day is not None:
            is_taken = any(other.times for other in found[place + 1 : place + 2]) and not forward
            if not is_taken and not (forward and place and found[place - 1].times):
                pairs.append(moment)
            continue
        near = found[place + 1 :] if forward else found[place - 1 :: -1]
        day = next((other for other in near if other.day), None)
        if day is None:
            day = next((other for other in reversed(found[:place]) if other.day), None)
        is_beside = day is not None and (day is found[place - 1] or day in found[place + 1 : place + 2])
        start, end = (min(day.start, moment.start), max(day.end, moment.end)) if day and is_beside else moment[:2]
        inner = max(day.start, moment.start) if day and is_beside else moment.start
        pairs.append(Moment(start, end, day.day if day else None, moment.times, inner))
    return pairs


def _is_moment(said: Moment, moment: datetime, *, has_time: bool) -> bool:
    if said.day is None or not said.day.is_day(moment.date()):
        return False
    return not has_time or (moment.hour, moment.minute) in said.times


def _is_part(said: Moment, moment: datetime) -> bool:
    if said.day is None:
        return (moment.hour, moment.minute) in said.times
    return not said.times and said.day.is_day(moment.date())


def _pattern(texts: Sequence[str]) -> re.Pattern[str]:
    """Finds any of the texts, each as a group `v0`, `v1`, ..., the longest first."""
    places = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    return re.compile("|".join(f"(?P<v{place}>{_words(texts[place])})" for place in places), re.IGNORECASE)


def _words(text: str) -> str:
    parts = _CODE.findall(folded(text))
    if not parts:
        return re.escape(text) or r"(?!)"
    pattern = re.escape(parts[0])
    for before, part in pairwise(parts):
        between = r"[\W_]{0,3}" if before.isdigit() != part.isdigit() else r"[\W_]{1,3}"
        pattern += between + re.escape(part)
    return rf"(?<![^\W_])(?<!\w-){pattern}(?![^\W_])(?!-(?-i:[A-Z0-9]))(?![.,]\d)"


def _read_texts(pattern: re.Pattern[str], right: int) -> Reader:
    def read(clause: str, _: date | None) -> list[Candidate]:
        found = [(match, int((match.lastgroup or "v0")[1:])) for match in pattern.finditer(clause)]
        return [
            Candidate(*match.span(), min(place, right - 1) if place < right else place, place < right, place >= right)
            for match, place in found
        ]

    return read
