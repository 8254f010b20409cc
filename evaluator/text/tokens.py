"""Tokens of a text: dates, times, numbers, and what is written to the letter (ids, addresses, phone numbers).

A text is cut once, by one pattern. What belongs together is then joined: the weekday beside a date is part of the date,
the `pm` behind a range holds for its start, and the month behind `24 and 25` for both days. No sentence is read.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from skillweave.thoughts import split_thoughts

LONGEST_TOKENISED = 20_000
"""Most characters of a text that are read."""
CACHED_TEXTS = 4_096
"""Most texts whose tokens are cached."""
WEEKDAY_DISTANCE = 6
"""Most characters between a weekday and its date."""
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELLED = {word: number for number, word in enumerate(_ONES)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "september" else "sept?(?:ember)?" for name in MONTHS)
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<{0}>\d{{4}})(?![\d:]))?"
_HALF = r"[ap]\.?m\b\.?|in\ the\ (?:morning|afternoon|evening)"
_WORDS = "|".join([*_ONES, *_TENS, "hundred", "thousand"])
_TOKEN = re.compile(
    rf"""
    (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,5}})
  | (?P<iso>(?<!\d)(?P<iso_y>\d{{4}})[-/](?P<iso_m>\d\d)[-/](?P<iso_d>\d\d)(?=t\d\d:|\b)t?)
  | \b{_DAY.format("dm_d")}(?:\s+of)?[\s-]+(?P<dm_m>{_MONTH})\b\.?{_YEAR.format("dm_y")}
  | \b(?P<md_m>{_MONTH})\b\.?\s+(?:the\s+)?{_DAY.format("md_d")}\b(?!:){_YEAR.format("md_y")}
  | (?<![\d/.-])(?P<n_a>\d{{1,2}})(?P<n_s>[/.-])(?P<n_b>\d{{1,2}})(?P=n_s)(?P<n_y>\d{{4}}|\d\d)(?![\d/])
  | (?<![\d/])(?P<s_a>\d{{1,2}})/(?P<s_b>\d{{1,2}})(?![\d/])
  | (?P<phone>(?<!\w)\+\d[\d\s()-]{{6,20}}\d|(?<![\w+])0\d{{2,4}}[\s-]?\d{{3}}[\s-]?\d{{3,6}}(?!\w))
  | (?P<id>(?<![\w-])(?!\d+(?:-[a-z]+)+(?![\w-]))(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)+(?![\w-]))
  | (?<![\d:.,])(?P<h>[01]?\d|2[0-4])(?:[:h](?P<min>[0-5]\d)(?::[0-5]\d)?(?:\s{{0,2}}(?P<half>{_HALF}))?
       |(?:\.(?P<dot>[0-5]\d))?\s{{0,2}}(?P<half2>{_HALF})|\s{{0,2}}(?P<clock>o'clock\b))
  | \b(?P<named>noon|midday|midnight)\b
  | \b(?P<relative>{"|".join(_RELATIVE)})\b
  | \b(?P<weekday>(?:{"|".join(_WEEKDAYS)}))s?\b
  | (?P<ordinal>(?<!\w)\d{{1,2}}(?:st|nd|rd|th)\b)
  | (?P<number>(?<![\w.,])(?:\d{{1,3}}(?:\.\d{{3}}){{1,5}},\d\d
       |\d{{1,3}}(?:[,'\u2009]\d{{3}}){{1,5}}(?:\.\d{{1,9}})?
       |\d{{1,18}}[.,]\d{{1,2}}(?!\d)|\d{{1,18}}(?:\.\d{{1,9}})?)(?!\d|:\d))
  | \b(?P<spelled>(?:a\s+)?(?:{_WORDS})(?:(?:[\s-]|\sand\s)(?:{_WORDS})){{0,7}})\b
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKUP = re.compile(r"[*`~#]+|(?<!\w)_+|_+(?!\w)")
_CODE = re.compile(r"\b(?:gbp|usd|eur)(?=\d)")
_SMALL_CHANGE = re.compile(r"\b(\d{1,9}) (?:pounds?|euros?|dollars?)(?: and)? (\d\d) (?:pence|cents?|p)\b")
_RANGE = re.compile(r"\s{0,2}(?:-|to|until|and|or|,)\s{0,2}")
_SAME_SIGN = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"), "\u2019": "'", "\u00a0": " ",
                            "\u202f": " ", "\u20ac": " ", "\u00a3": " ", "$": " "})  # fmt: skip


class Day(NamedTuple):
    """A date in a text; `year` is None where the text gives none."""

    year: int | None
    month: int
    day: int


class Token(NamedTuple):
    """A part of a text with digits, or with words for them."""

    place: int
    """Position of its first character."""
    text: str
    days: tuple[Day, ...] = ()
    """The dates that it may mean; 3/4 may mean two."""
    weekday: int | None = None
    offset: int | None = None
    """Days from today, of `tomorrow`."""
    clock: time | None = None
    half: str | None = None
    """`a` or `p` where the text gives the half of the day."""
    number: Decimal | None = None
    letters: str | None = None
    """Letters and digits of an id, an address or a phone number."""
    is_free: bool = False
    """Whether it needs no source: an ordinal, a number in words."""

    @property
    def end(self) -> int:
        """Position after its last character."""
        return self.place + len(self.text)

    @property
    def is_date(self) -> bool:
        """Whether it names a day."""
        return bool(self.days) or self.weekday is not None or self.offset is not None

    @property
    def hour(self) -> time | None:
        """A bare number as a time of day: `9`, `8.30`."""
        number = self.number
        if number is None or not 0 <= number < 24:
            return None
        minutes = (number - int(number)) * 100
        return time(int(number), int(minutes)) if minutes < 60 and minutes == int(minutes) else None


@lru_cache(maxsize=CACHED_TEXTS)
def normalised_text(text: str) -> str:
    """The text in lower case, without hidden reasoning, markup and typographical signs."""
    text = split_thoughts(text).words
    text = _COMMENT.sub(" ", text)[:LONGEST_TOKENISED] if "<" in text else text[:LONGEST_TOKENISED]
    text = unicodedata.normalize("NFKD", _MARKUP.sub("", text.translate(_SAME_SIGN)))[:LONGEST_TOKENISED]
    text = "".join(sign for sign in text if not unicodedata.combining(sign)).lower()
    return _SMALL_CHANGE.sub(r"\1.\2", _CODE.sub(" ", text))


@lru_cache(maxsize=CACHED_TEXTS)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text, in order."""
    seen = normalised_text(text)
    found = [*map(_token, _TOKEN.finditer(seen))]
    for at in reversed(range(len(found) - 1)):
        found[at] = _with_next(found[at], found[at + 1], seen)
    return tuple(token for at, token in enumerate(found) if not _is_part_of_date(at, found))


def letters_and_digits(text: str) -> str:
    """Letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.lower()))


def valid_date(year: int, month: int, day: int) -> date | None:
    """The date; None where it does not exist."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def relative_day(today: date, token: Token) -> date | None:
    """The day that a token such as `tomorrow` means; None for other tokens."""
    return today + timedelta(days=token.offset) if token.offset is not None else None


def _with_next(token: Token, following: Token, seen: str) -> Token:
    """A token completed by the next one: `3 - 6 pm`, `24 and 25 March`."""
    if not _RANGE.fullmatch(seen, token.end, following.place):
        return token
    if following.half and token.half is None and (token.clock or token.hour):
        clock = token.clock or token.hour
        if clock is not None and clock.hour <= 12:
            return token._replace(clock=_in_half(clock, following.half), half=following.half)
    number = token.number
    if following.days and number is not None and number == int(number) and not token.is_free:
        days = [Day(day.year, day.month, int(number)) for day in following.days]
        return token._replace(days=tuple(day for day in days if valid_date(day.year or 2024, day.month, day.day)))
    return token


def _is_part_of_date(at: int, found: list[Token]) -> bool:
    """Whether a weekday, or `today`, belongs to a full date beside it."""
    token = found[at]
    if token.days or not token.is_date:
        return False
    before = at > 0 and bool(found[at - 1].days) and token.place - found[at - 1].end <= WEEKDAY_DISTANCE
    behind = at + 1 < len(found) and bool(found[at + 1].days) and found[at + 1].place - token.end <= WEEKDAY_DISTANCE
    return before or behind


def _token(match: re.Match[str]) -> Token:
    place, text, found = match.start(), match[0], match.groupdict()
    days = tuple(_days(found))
    if days:
        return Token(place, text, days=days)
    if found["email"] or found["phone"] or found["id"]:
        return Token(place, text, letters=letters_and_digits(text))
    if found["named"]:
        return Token(place, text, clock=time(0) if found["named"] == "midnight" else time(12), half="p")
    if found["h"] is not None:
        half = _half(found["half"] or found["half2"])
        clock = time(int(found["h"]) % 24, int(found["min"] or found["dot"] or 0))
        return Token(place, text, clock=_in_half(clock, half) if half else clock, half=half)
    if found["relative"]:
        return Token(place, text, offset=_RELATIVE[found["relative"]])
    if found["weekday"]:
        return Token(place, text, weekday=_WEEKDAYS.index(found["weekday"]))
    if found["ordinal"]:
        return Token(place, text, is_free=True)
    if found["spelled"]:
        number = _spelled(found["spelled"])
        return Token(place, text, number=None if number == 1 else number, is_free=True)
    if found["number"]:
        return Token(place, text, number=_number(found["number"]))
    # A date that there is not, such as 31/02/2025, is a token that fits nothing.
    return Token(place, text, letters=letters_and_digits(text))


def _days(found: dict[str, str | None]) -> Iterator[Day]:
    """The dates that a match may mean."""

    def day(year: str | None, month: int, number: str) -> Iterator[Day]:
        whole = int(year) + (2000 if len(year) == 2 else 0) if year else None
        if valid_date(whole or 2024, month, int(number)) is not None:
            yield Day(whole, month, int(number))

    if found["iso"]:
        yield from day(found["iso_y"], int(found["iso_m"] or 0), found["iso_d"] or "0")
    for form in ("dm", "md"):
        month, number = found[f"{form}_m"], found[f"{form}_d"]
        if month and number:
            yield from day(found[f"{form}_y"], _month(month), number)
    for first, second, year in (
        (found["n_a"], found["n_b"], found["n_y"]),
        (found["s_a"], found["s_b"], None),
    ):
        if first and second:
            yield from day(year, int(second), first)
            if first != second:
                yield from day(year, int(first), second)


def _month(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, 1) if month.startswith(name[:3]))


def _half(text: str | None) -> str | None:
    """`p` for pm, the afternoon and the evening."""
    if text is None:
        return None
    return "p" if text.startswith("p") or text.endswith(("afternoon", "evening")) else "a"


def _in_half(clock: time, half: str) -> time:
    return clock.replace(hour=clock.hour % 12 + (12 if half == "p" else 0)) if clock.hour <= 12 else clock


def _number(text: str) -> Decimal:
    if re.fullmatch(r"[\d.]+,\d{1,2}", text):
        return Decimal(text.replace(".", "").replace(",", "."))
    return Decimal(re.sub(r"[,'\u2009]", "", text))


def _spelled(text: str) -> Decimal | None:
    """`one hundred and twenty-five`; None where the words are no number."""
    total = part = 0
    for word in re.split(r"[\s-]+", text):
        if word in ("a", "and"):
            continue
        if word == "thousand":
            total, part = total + (part or 1) * 1000, 0
        elif word == "hundred":
            part = (part or 1) * 100
        elif part % 100 == 0 or (part % 10 == 0 and _SPELLED[word] < 10 and part % 100 >= 20):
            part += _SPELLED[word]
        else:
            return None
    return Decimal(total + part)
