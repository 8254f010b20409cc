"""Candidates: the values of one kind that a clause gives, each with whether it is the right one or a rival's.

A reader of candidates is made once for a fact, from the values to look for.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, NamedTuple

from evaluator.words.figures import COUNTED, Figure, figures
from evaluator.words.moments import Moment, moments
from evaluator.words.phrases import Phrases
from evaluator.words.stems import stem, stems

_CODE = re.compile(r"[^\W\d_]+|\d+")
_CODED = re.compile(r"[A-Za-z]{2,20}[ -](?:[A-Z]{0,2}\d{1,12}|[A-Z])")
"""A word, and a number or letter that tells one of its kind from others."""
_DIGITS = re.compile(r"\d+")
_LETTER = re.compile(r"\b[A-Z](?=\\d|\b)")
_LAST_WORD = re.compile(r"(?P<sign>[:=#]\s*)$|(?P<word>[^\W\d_]+)\W*$")
_BEING = stems("is was number no")
_TITLES = ("dr", "mr", "mrs", "ms", "prof")
_IS = re.compile(
    r"(?:\b(?i:is|was|are|will be|would be|(?:changed|moved|switched) to)|'s|:)"
    r"(?i: now| actually| called| at| in| with| the| by){0,3} "
    r"(?P<value>(?!I\b)[A-Z0-9][^,;]*)"
)
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
    is_kin: bool = False
    """It is a value of the same column, and no golden read gave it."""

    @property
    def is_known(self) -> bool:
        """It is the right value or a rival's."""
        return self.is_right or self.is_rival


Reader = Callable[[str, date | None], list[Candidate]]
"""Finds the candidates in a clause; the date is today's, where it is known."""


def read_money(right: set[int | None], rivals: set[int | None]) -> Reader:
    """Of amounts, in cents."""

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


def read_numbers(right: set[Decimal | None], rivals: set[Decimal | None], counted: frozenset[str]) -> Reader:
    """Of numbers; `counted` are the stems of what such a number counts."""

    def read(clause: str, _: date | None) -> list[Candidate]:
        return [
            Candidate(
                figure.start,
                figure.end,
                figure.number,
                _is_in(figure, right),
                _is_in(figure, rivals),
                is_doubtful=not figure.is_percent
                and not _is_said(clause[max(0, figure.start - 30) : figure.start], counted),
            )
            for figure in figures(clause)
            if (figure.is_percent or not figure.is_amount)
            and (not figure.is_count or _counts(clause, figure.end) in (None, *counted))
        ]

    return read


def _is_said(before: str, nouns: frozenset[str]) -> bool:
    """Whether a bare number behind this is the value of something: `is 306`, `room 306`."""
    word = _LAST_WORD.search(before)
    return word is None or word["sign"] is not None or stem(word["word"]) in nouns | _BEING


def _counts(text: str, end: int) -> str | None:
    """The stem of what a number that ends there counts: `2 visits`."""
    word = COUNTED.match(text, end)
    return stem(word.group().strip(" -")) if word else None


def _is_in(figure: Figure, numbers: set[Decimal | None]) -> bool:
    return figure.number in numbers or (figure.is_percent and figure.number / 100 in numbers)


def read_polarity(nouns: frozenset[str], right: bool) -> Reader:
    """Of yes and no."""

    def read(clause: str, _: date | None) -> list[Candidate]:
        if not stems(clause) & nouns:
            return []
        said = _NEGATIVE.search(clause) is None
        return [Candidate(0, 0, said, said == right, False)]

    return read


def read_times(right: set[tuple[int, int]], rivals: set[tuple[int, int]]) -> Reader:
    """Of times of any day."""

    def read(clause: str, _: date | None) -> list[Candidate]:
        return [
            Candidate(found.start, found.end, found.times, bool(right & {*found.times}), bool(rivals & {*found.times}))
            for found in moments(clause)
            if found.times
        ]

    return read


def read_moments(right: Sequence[datetime], rivals: Sequence[datetime], *, has_time: bool) -> Reader:
    """Of days, or days with a time."""

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


def read_texts(right: Sequence[str], rivals: Sequence[str], kin: Sequence[str], nouns: frozenset[str]) -> Reader:
    """Of texts as they are written. A title, or a word of the noun, may be left out before the rest of one."""
    known = [*right, *rivals, *kin]
    short = [without_title(text, nouns) for text in known]
    phrases = Phrases([*known, *short])
    first_of: dict[str, int] = {}
    places = [
        first_of.setdefault(" ".join(_CODE.findall((brief or text).casefold())), place)
        for place, (text, brief) in enumerate(zip(known, short, strict=True))
    ]
    shape = _shape(right)

    def read(clause: str, _: date | None) -> list[Candidate]:
        found = {start: of_phrase(start, end, places[place % len(known)]) for start, end, place in phrases.find(clause)}
        for match in shape.finditer(clause) if shape else ():
            if match.start() not in found:
                found[match.start()] = Candidate(*match.span(), match.group().casefold(), False, False, is_kin=True)
        return [found[start] for start in sorted(found)]

    def of_phrase(start: int, end: int, place: int) -> Candidate:
        is_right, is_kin = place < len(right), place >= len(right) + len(rivals)
        key = -1 if is_right else place
        return Candidate(start, end, key, is_right, not is_right and not is_kin, is_kin=is_kin)

    return read


def _shape(texts: Sequence[str]) -> re.Pattern[str] | None:
    """What texts of the same form look like: `Gate B7` beside `Gate C5`, `KR-0320` beside `KR-0319`."""
    coded = [text for text in texts if _CODED.fullmatch(text)]
    forms = sorted({_LETTER.sub("[A-Za-z]", _DIGITS.sub(lambda _: r"\d{1,12}", re.escape(text))) for text in coded})
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(forms)})(?![^\W_])", re.IGNORECASE) if forms else None


def without_title(text: str, nouns: frozenset[str]) -> str:
    """`Gate C5` where a gate is asked for is `C5`; nothing where too little would be left."""
    first, _, rest = text.partition(" ")
    is_title = first.rstrip(".").casefold() in _TITLES or stem(first) in nouns
    return rest if is_title and len(rest) > 1 and not rest.isdigit() else ""


def unknown_text(clause: str) -> Candidate | None:
    """What a clause says that something is, where it looks like a name or a code: `the gate is Gate C2`."""
    said = _IS.search(clause)
    return Candidate(said.start("value"), said.end(), said["value"].casefold(), False, False) if said else None
