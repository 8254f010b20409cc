"""Typed values in a plain text: what an utterance can invent, each with its place and all its readings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from evaluator.ledger.dates import MONTH, WEEKDAYS, Day, days_in
from evaluator.ledger.names import Names
from evaluator.ledger.wording import NUMERALS

Kind = Literal["email", "digits", "code", "date", "weekday", "relative", "time", "money", "number", "name"]
TEXTS_KEPT = 8192
REACH = 80
"""Characters before a value that can say what it is."""


@dataclass(frozen=True)
class Value:
    kind: Kind
    text: str
    start: int
    end: int
    days: tuple[Day, ...] = ()
    times: tuple[tuple[int, int, bool], ...] = ()
    """Hour, minute, and whether the half of the day is sure."""
    number: Decimal | None = None
    key: str = ""
    """Emails, digits, codes, names, weekdays in one spelling."""

    def before(self, text: str) -> str:
        """The words that lead to it in its text."""
        return text[max(0, self.start - REACH) : self.start]


_FIGURE = re.compile(r"\d")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_POSTCODE = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|\b[A-Z]{2}\d\d ?[A-Z]{3}\b", re.I)
_DIGITS = re.compile(r"(?<![\w.,:/])\+?\(?\d[\d ()-]{4,}\d(?![\w:/]|[.,]\d)")
_TIME = re.compile(
    r"(?<![\d.:,$€£-])(?P<hour>\d{1,2})(?P<mark>[:.])(?P<minute>[0-5]\d)(?::\d\d)? ?(?P<half>[ap]\.?m\b)?(?![\d:]|"
    r"[.,]\d|%)",
    re.I,
)
_HALF_DAY = re.compile(r"\d ?[ap]\.?m\b", re.I)
_HOUR = re.compile(r"(?<![\d.:,$€£-])(?P<hour>\d{1,2}) ?(?P<half>[ap]\.?m\b)", re.I)
_PART = re.compile(r",? ?(?:(?:in|of) the|at)? ?(?P<part>morning|afternoon|evening|night)\b", re.I)
_RANGE = re.compile(r"(?<![\d.:,$€£-])(?P<hour>\d{1,2})(?= ?(?:-|to|until|till) ?\d{1,2} ?(?P<half>[ap])\.?m\b)", re.I)
_CODE = re.compile(
    rf"(?!(?:{MONTH})-)(?:[A-Za-z](?:-?[A-Za-z0-9])*?-?\d[\w-]*|\d+[A-Za-z][\w-]*\d\w*|"
    rf"\d{{1,3}}[A-FH-JL-Z])(?![\w@])"
)
LONGEST_CODE = 80
_WORD_WITH_FIGURE = re.compile(rf"(?<![\w@.-])(?=[\w@.-]{{0,{LONGEST_CODE}}}?\d)[\w@.-]+")
_SPACED = re.compile(r"\b[A-Z]{2,4} \d{2,6}\b(?![:/]|[.,]\d)")
_NO_CODE = re.compile(r"(?:covid|mp|h|b|a|q|f|ww|co)-?\d{1,2}$|[a-z]+-?\d$", re.I)
_NO_PREFIX = (
    "DOB",
    "OK",
    "AM",
    "PM",
    "EUR",
    "USD",
    "GBP",
    "UTC",
    "GMT",
    "AT",
    "ON",
    "TO",
    "OF",
    "FOR",
    "NO",
    "ID",
    "THE",
    "IS",
    "BY",
)
_NUMBER = re.compile(
    r"(?<![\w.,:/])(?P<before>[$€£]|(?:EUR|USD|GBP) )? ?(?P<figures>\d{1,3}(?:,\d{3})+(?:\.\d+)?|"
    r"\d+(?:[.,]\d\d?(?!\d))?|\d+(?:\.\d+)?)"
    r"(?P<after> ?(?:[€£$%]|percent\b|per cent\b|cents?\b|eur\b|usd\b|gbp\b|euros?\b|dollars?\b|pounds?\b|"
    r"quid\b))?(?:x|[a-z]{1,4}\b)?(?![\w]|[.,]\d)",
    re.I,
)
_ORDINAL = re.compile(r"\b(?P<day>[0-3]?\d)(?:st|nd|rd|th)\b", re.I)
_WEEKDAY_DAY = re.compile(
    rf"(?:{'|'.join(WEEKDAYS)}),? (?:the )?(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?![:.,]\d| ?[ap]\.?m\b| (?:people|"
    rf"guests|of us|in the|at night|-))",
    re.I,
)
_ARTICLE_DAY = re.compile(
    r"\bthe (?P<day>[12]\d|3[01])(?= ?(?:$|[,.!?;)](?!\d)|(?:is|isn't|works?|at|or|and|please|then|instead|would|"
    r"doesn't|of|to|until|sounds|suits)\b))",
    re.I,
)
_CHOSEN = re.compile(r" (?:then|please|for|would|sounds|it is|is (?:fine|ok|okay|good))\b|[,.!]? ?$", re.I)
_WEEKDAY = re.compile(rf"\b(?P<name>{'|'.join(WEEKDAYS)})\b", re.I)
_RELATIVE = re.compile(r"\b(?P<after>day after )?(?P<word>tomorrow|tmrw|tmw)\b", re.I)
_RUN = re.compile(r"[^\W_]+")
_MARKED = frozenset([*NUMERALS, *WEEKDAYS, "tomorrow", "tmrw", "tmw", "dr", "doctor", "prof"])
"""Words of which values are made that have no figures."""
_TITLES = ("Dr", "Doctor", "Prof")
_TITLED = re.compile(r"\b(?:Dr|Doctor|Prof)\.? (?P<name>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)")


def values_in(text: str, names: Names) -> list[Value]:
    """All values in a plain text, in their order; what is part of a longer value is not given again."""
    free = [True] * len(text)
    found: list[Value] = []
    for value in _candidates(text, names):
        if value.kind == "name" or all(free[value.start : value.end]):
            found.append(value)
            free[value.start : value.end] = [False] * (value.end - value.start)
    return sorted(found, key=lambda value: (value.start, value.end))


def is_free_of_values(text: str, names: Names) -> bool:
    """Whether a text as it was said has surely no value, seen at a glance; the rest have to be read."""
    if not text.isascii() or _FIGURE.search(text) or "@" in text or "*" in text or "`" in text:
        return False
    words = _RUN.findall(text.lower())
    return _MARKED.isdisjoint(words) and not names.may_hold(words)


@lru_cache(maxsize=TEXTS_KEPT)
def values_of(text: str, names: Names) -> tuple[Value, ...]:
    """The same; those of the last short texts are kept, for people repeat themselves."""
    return tuple(values_in(text, names))


def squeezed(text: str) -> str:
    """Letters and figures only, in lower case."""
    return re.sub(r"[\W_]+", "", text).lower()


def _candidates(text: str, names: Names) -> Iterator[Value]:
    """The surer first."""
    for match in _EMAIL.finditer(text) if "@" in text else ():
        yield Value(
            "email", match.group().rstrip("."), match.start(), match.end(), key=match.group().rstrip(".").lower()
        )
    lowered = text.lower()
    yield from _names(text, lowered, names)
    has_figures = _FIGURE.search(text) is not None
    if has_figures:
        yield from _days_times_codes(text)
    yield from _parts_of_days(text, lowered, has_figures)
    for match in _NUMBER.finditer(text) if has_figures else ():
        yield _number(match)


def _days_times_codes(text: str) -> Iterator[Value]:
    for start, end, days in days_in(text):
        yield Value("date", text[start:end], start, end, days=days)
    yield from _times(text)
    for match in _POSTCODE.finditer(text):
        yield Value("code", match.group(), *match.span(), key=squeezed(match.group()))
    yield from _digits(text)
    yield from _codes(text)


def _names(text: str, lowered: str, names: Names) -> Iterator[Value]:
    for name, start, end in names.places(lowered):
        is_marked = name[0].isupper() and text[start].isupper() and (start > 0 or _CHOSEN.match(text, end))
        if not name.isalpha() or is_marked:
            yield Value("name", text[start:end], start, end, key=name)
    for match in _TITLED.finditer(text) if any(title in text for title in _TITLES) else ():
        yield Value("name", match.group(), *match.span(), key=names.full(match["name"]))


def _digits(text: str) -> Iterator[Value]:
    for match in _DIGITS.finditer(text):
        key = re.sub(r"\D", "", match.group().replace("(0)", ""))
        groups = re.split(r"[ ()-]+", match.group().strip("+ ()"))
        if len(key) >= 6 and (len(groups) == 1 or all(len(group) != 1 for group in groups) or "(0)" in match.group()):
            yield Value("digits", match.group(), *match.span(), key=key)


def _codes(text: str) -> Iterator[Value]:
    for run in _WORD_WITH_FIGURE.finditer(text):
        is_short = run.end() - run.start() <= LONGEST_CODE
        match = _CODE.match(text, run.start()) if is_short else None
        if match is None:
            continue
        word = match.group()
        if not _NO_CODE.match(word) and (
            not word[0].isdigit() or word[-1].isupper() or not re.match(r"\d+[a-z]+$", word)
        ):
            yield Value("code", word, *match.span(), key=squeezed(word))
    for match in _SPACED.finditer(text):
        if match.group().split()[0] not in _NO_PREFIX:
            yield Value("code", match.group(), *match.span(), key=squeezed(match.group()))


def _times(text: str) -> Iterator[Value]:
    for pattern in (_TIME, _HOUR, _RANGE) if _HALF_DAY.search(text) else (_TIME,):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            hour, minute, half = int(groups["hour"]), int(groups.get("minute") or 0), (groups["half"] or "")[:1].lower()
            part = _PART.match(text, match.end())
            if not half and part:
                half = "a" if part["part"].lower() == "morning" else "p"
            if hour > 23 or (half and not 1 <= hour <= 12 and not part):
                continue
            if half and hour <= 12:
                hour = hour % 12 + (12 if half == "p" else 0)
            sure = bool(half) or hour > 12 or hour == 0
            number = Decimal(match.group().strip()) if groups.get("mark") == "." and not half else None
            yield Value("time", match.group().strip(), *match.span(), times=((hour, minute, sure),), number=number)


def _parts_of_days(text: str, lowered: str, has_figures: bool) -> Iterator[Value]:
    has_weekday = "day" in lowered
    patterns = [_ORDINAL, *([_WEEKDAY_DAY] if has_weekday else ()), *([_ARTICLE_DAY] if "the " in lowered else ())]
    for pattern in patterns if has_figures else ():
        for match in pattern.finditer(text):
            if 1 <= int(match["day"]) <= 31:
                start = match.start() if pattern is _ORDINAL else match.start("day")
                number = Decimal(match["day"]) if pattern is _ARTICLE_DAY else None
                days = (Day(int(match["day"])),)
                yield Value("date", text[start : match.end()], start, match.end(), days=days, number=number)
    for match in _WEEKDAY.finditer(text) if has_weekday else ():
        yield Value("weekday", match.group(), *match.span(), key=match["name"].lower())
    for match in _RELATIVE.finditer(text) if "tom" in lowered or "tm" in lowered else ():
        yield Value("relative", match.group(), *match.span(), key="2" if match["after"] else "1")


def _number(match: re.Match[str]) -> Value:
    figures, after = match["figures"], (match["after"] or "").strip()
    if re.fullmatch(r"\d+,\d\d?", figures):
        figures = figures.replace(",", ".")
    is_money = bool(match["before"] or (after and not re.match("%|per", after)) or re.search(r"\.\d\d$", figures))
    number = Decimal(figures.replace(",", ""))
    if after.startswith("cent"):
        number /= 100
    start = match.end() - len(match.group().lstrip())
    return Value("money" if is_money else "number", match.group().strip(), start, match.end(), number=number)
