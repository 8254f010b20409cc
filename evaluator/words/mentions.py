"""What a sentence mentions: amounts, numbers, dates and times, read by their meaning.

Dates in figures are read in ISO form only: 03/04 is a day to some and a month to others.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = _MONTH_NAMES.split()
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS).replace("sep(?:tember)?", "sept?(?:ember)?")
_ISO = re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)")
_DAY_FIRST = re.compile(
    rf"(?<![\w.])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_MONTH})\b\.?(?:,? (?P<year>\d{{4}})(?!\d))?",
    re.I,
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<name>{_MONTH})\.? (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:,? (?P<year>\d{{4}})(?!\d))?",
    re.I,
)
_TIME = re.compile(
    r"(?<![\d.:])T?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?::\d\d)?\s?(?P<half>[ap]\.?m\b\.?)?(?![\d:])", re.I
)
_HOUR = re.compile(r"(?<![\d.:])(?P<hour>\d{1,2})\s?(?P<half>[ap]\.?m\b\.?)", re.I)
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>-(?=[\d$€£]))?(?P<before>[$€£]|(?:EUR|USD|GBP)\s)?\s?(?P<figures>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<after>\s?(?:[€£$%]|cents?\b|EUR\b|USD\b|GBP\b|euros?\b|dollars?\b|pounds?\b))?(?![\w]|[.,]\d)",
    re.I,
)


_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_ABBREVIATED = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$", re.IGNORECASE)
_MARKUP = re.compile(r"^\s*(?:[-+•]|\d{1,2}[.)])\s+|[*_`#]+")
"""Bullets, numbers of list items, emphasis."""
_ID = re.compile(r"\b[A-Za-z]\w*(?:-\w+){0,6}-\d[\w-]*")
"""`APT-0012`: its figures are no number."""


@dataclass(frozen=True)
class Day:
    """A day as mentioned: the year may be left out."""

    month: int
    day: int
    year: int | None = None

    def is_day(self, other: date) -> bool:
        """Whether it can be that day."""
        return (self.month, self.day) == (other.month, other.day) and self.year in (None, other.year)


@dataclass
class Mentions:
    """All that one sentence mentions, and its text."""

    text: str
    days: list[Day] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    """Hour and minute."""
    numbers: list[Decimal] = field(default_factory=list)
    """Numbers that are no part of a date or time."""
    cents: list[int] = field(default_factory=list)
    """The same numbers, read as money."""
    amounts: int = 0
    """How many of them look like money: a currency, or two decimals."""


def mentions(sentence: str) -> Mentions:
    """What the sentence mentions."""
    found = Mentions(sentence)
    rest = _ISO.sub(lambda match: _take_day(match, found), _ID.sub(" | ", sentence))
    rest = _DAY_FIRST.sub(lambda match: _take_day(match, found), rest)
    rest = _MONTH_FIRST.sub(lambda match: _take_day(match, found), rest)
    rest = _TIME.sub(lambda match: _take_time(match, found), rest)
    rest = _HOUR.sub(lambda match: _take_time(match, found), rest)
    for match in _NUMBER.finditer(rest):
        _take_number(match, found)
    return found


def number_in(text: str) -> Decimal | None:
    """The number that a text is, with or without currency; None if it is none."""
    match = _NUMBER.fullmatch(text.strip())
    return _decimal(match) if match else None


def _take_day(match: re.Match[str], found: Mentions) -> str:
    groups = match.groupdict()
    name = groups.get("name")
    month = int(groups["month"]) if name is None else 1 + [month[:3] for month in _MONTHS].index(name[:3].lower())
    year = groups.get("year")
    found.days.append(Day(month, int(groups["day"]), int(year) if year else None))
    return " | "


def _take_time(match: re.Match[str], found: Mentions) -> str:
    groups = match.groupdict()
    hour, minute = int(groups["hour"]), int(groups.get("minute") or 0)
    half = (groups["half"] or "").lower().replace(".", "")
    is_money = not half and "." in match.group()
    if is_money or hour > 23 or minute > 59 or (half and not 1 <= hour <= 12):
        return match.group()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    found.times.append((hour, minute))
    return " | "


def _take_number(match: re.Match[str], found: Mentions) -> None:
    number = _decimal(match)
    if number is None:
        return
    after = (match["after"] or "").strip().lower()
    found.numbers.append(number)
    if after.startswith("cent"):
        found.cents.append(int(number))
    elif number * 100 == int(number * 100):
        found.cents.append(int(number * 100))
    if match["before"] or (after and after != "%") or re.search(r"\.\d\d$", match["figures"]):
        found.amounts += 1


def _decimal(match: re.Match[str]) -> Decimal | None:
    try:
        return Decimal((match["sign"] or "") + match["figures"].replace(",", ""))
    except InvalidOperation:
        return None


def sentences(text: str) -> Iterator[str]:
    """The sentences of a message; a line that ends in a colon takes in the lines below it, to the next empty one."""
    header, taken = "", False
    for line in [*text.splitlines(), ""]:
        plain = _MARKUP.sub("", line).strip()
        if header and plain:
            header, taken = f"{header} {plain}", True
        elif header and taken:
            yield header
            header, taken = "", False
        elif plain.endswith(":"):
            header = plain
        elif not header:
            yield from _split(plain)
    yield from filter(None, [header])


def _split(line: str) -> Iterator[str]:
    parts: list[str] = []
    for part in _BREAK.split(line):
        parts.append(part)
        if not _ABBREVIATED.search(part[-8:]):
            yield from filter(None, [" ".join(parts).strip()])
            parts = []
    yield from filter(None, [" ".join(parts).strip()])
