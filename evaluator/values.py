"""Values in words: whether a text holds a value, in any of the forms in which people write it.

A text is cut into tokens once: dates, times, numbers, and what is written to the letter (ids, addresses, phone
numbers). A value is then looked up among them. Names and enum values are looked up as words, case and punctuation
aside. Nothing here reads a sentence: that a value stands in a text is all that is said of it.
"""

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json

LONGEST = 20_000
"""Characters of a text that are looked at."""
KEPT = 4_096
"""Texts whose tokens are kept."""
NEAR = timedelta(days=366)
"""How far from today a date may be that is given without its year."""

PHONE = 9
"""Digits at the end of a phone number that make it the same, with and without the country's."""

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELLED = {word: number for number, word in enumerate(_ONES)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name != "september" else "sept?(?:ember)?" for name in _MONTHS)
_DAY = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<{0}>\d{{4}})(?![\d:]))?"
_TOKEN = re.compile(
    rf"""
    (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,5}})
  | (?P<iso>(?<!\d)(?P<iso_y>\d{{4}})-(?P<iso_m>\d\d)-(?P<iso_d>\d\d)(?=t\d\d:|\b)t?)
  | \b{_DAY.format("dm_d")}(?:\s+of)?[\s-]+(?P<dm_m>{_MONTH})\b\.?{_YEAR.format("dm_y")}
  | \b(?P<md_m>{_MONTH})\b\.?\s+(?:the\s+)?{_DAY.format("md_d")}\b(?!:){_YEAR.format("md_y")}
  | (?<![\d/.-])(?P<n_a>\d{{1,2}})(?P<n_s>[/.-])(?P<n_b>\d{{1,2}})(?P=n_s)(?P<n_y>\d{{4}}|\d\d)(?![\d/])
  | (?<![\d/])(?P<s_a>\d{{1,2}})/(?P<s_b>\d{{1,2}})(?![\d/])
  | (?P<phone>(?<!\w)\+\d[\d\s()-]{{6,20}}\d|(?<![\w+])0\d{{2,4}}[\s-]?\d{{3}}[\s-]?\d{{3,4}}(?!\w))
  | (?P<id>(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)+(?![\w-]))
  | (?<![\d:.,])(?P<h>[01]?\d|2[0-4])(?:[:h](?P<min>[0-5]\d)(?::[0-5]\d)?\s*(?P<half>[ap]\.?m\b\.?)?
       |(?:\.(?P<dot>[0-5]\d))?\s*(?P<half2>[ap]\.?m\b\.?)|\s*(?P<clock>o'clock\b))
  | \b(?P<named>noon|midday|midnight)\b
  | \b(?P<relative>{"|".join(_RELATIVE)})\b
  | \b(?P<weekday>(?:{"|".join(_WEEKDAYS)}))s?\b
  | (?P<ordinal>(?<!\w)\d{{1,2}}(?:st|nd|rd|th)\b)
  | (?P<number>(?<![\w.,])(?:\d{{1,3}}(?:[,'\u2009]\d{{3}}){{1,5}}(?:\.\d{{1,9}})?
       |\d{{1,18}}[.,]\d{{1,2}}(?!\d)|\d{{1,18}}(?:\.\d{{1,9}})?)(?!\d))
  | \b(?P<spelled>(?:{"|".join(_TENS)})(?:[\s-](?:{"|".join(_ONES[1:10])}))?|{"|".join(_ONES)}|a\s+hundred)\b
    """,
    re.VERBOSE,
)
_HIDDEN = re.compile(r"<(think|thinking|reasoning)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"[*`~#]+|(?<!\w)_+|_+(?!\w)")
_WORD = re.compile(r"[^\W_]+")
_SAME_SIGN = str.maketrans({**dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"), "\u2019": "'", "\u00a0": " ",
                            "\u202f": " ", "\u20ac": " ", "\u00a3": " ", "$": " "})  # fmt: skip
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::\d\d)?)?")


class Day(NamedTuple):
    """A date as it stands in a text. None: not said."""

    year: int | None
    month: int
    day: int


class Token(NamedTuple):
    """Something in a text that has digits, or stands for such."""

    place: int
    """Where it begins."""
    text: str
    days: tuple[Day, ...] = ()
    """The dates that it may be; 3/4 may be two."""
    weekday: int | None = None
    offset: int | None = None
    """Days from today, of `tomorrow`."""
    clock: time | None = None
    number: Decimal | None = None
    letters: str | None = None
    """What is written to the letter: an id, an address, a phone number."""
    is_free: bool = False
    """Anybody may say it: an ordinal, a number in words."""


@lru_cache(maxsize=KEPT)
def spoken(text: str) -> str:
    """What is seen of a text: without thoughts, markup and typographical signs; in small letters."""
    text = _HIDDEN.sub(" ", text)[:LONGEST] if "<" in text else text[:LONGEST]
    text = unicodedata.normalize("NFKD", _MARKUP.sub("", text.translate(_SAME_SIGN)))[:LONGEST]
    return "".join(sign for sign in text if not unicodedata.combining(sign)).lower()


@lru_cache(maxsize=KEPT)
def tokens(text: str) -> tuple[Token, ...]:
    """All tokens of a text, in order."""
    return tuple(filter(None, map(_token, _TOKEN.finditer(spoken(text)))))


def said(
    text: str,
    value: Json,
    *,
    type: AttributeType | None = None,
    unit: str | None = None,
    now: str = "",
    earlier: Sequence[str] = (),
) -> bool:
    """Whether the text holds the value in one of its accepted forms.

    Args:
        value: As the data hold it. Of a boolean, null, list or object nothing is said by a form.
        type: Of the column; without it texts that are dates are taken for dates.
        unit: `cents` for money.
        now: The clock, from which `tomorrow` and `Friday` count, and dates without a year.
        earlier: Texts said before, which may have given the day of a time.
    """
    if value is None or isinstance(value, bool | list | dict):
        return False
    if isinstance(value, int | float):
        return _has_number(text, Decimal(str(value)), is_money=unit == "cents")
    moment = _ISO.fullmatch(value) if type in (None, "date", "datetime") else None
    if moment is None:
        return _has_words(text, value)
    day = _date(*map(int, moment.groups()[:3]))
    if day is None:
        return _has_words(text, value)
    today = date.fromisoformat(now[:10]) if now else None
    if moment[4] is None or (moment[4], moment[5]) == ("00", "00"):
        return any(_is_day(token, day, today) for token in tokens(text))
    return _has_moment(text, day, time(int(moment[4]), int(moment[5])), today, earlier)


def forms(value: Json, type: AttributeType | None = None, unit: str | None = None) -> list[str]:
    """Forms of a value that `said` accepts, the usual one first. For whoever has to write it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return [str(value)]
    if isinstance(value, int | float):
        return _distinct(*_amounts(value)) if unit == "cents" else _distinct(f"{value:g}", f"{value:,}")
    moment = _ISO.fullmatch(value) if type in (None, "date", "datetime") else None
    if moment is None:
        return _distinct(value.replace("_", " "), value)
    when = datetime.fromisoformat(value)
    month = _MONTHS[when.month - 1].capitalize()
    days = [f"{when.day} {month} {when.year}", f"{when:%Y-%m-%d}", f"{month} {when.day}, {when.year}"]
    if moment[4] is None:
        return days
    clock, half = f"{when:%H:%M}", f"{when.hour % 12 or 12}:{when:%M} {'am' if when.hour < 12 else 'pm'}"
    return [f"{days[0]} at {clock}", f"{days[1]} {clock}", f"{days[2]} at {half}", f"{clock} on {days[0]}"]


@lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, for comparison: in small letters, plurals and doubled letters l aside."""
    return tuple(_stem(word) for word in _WORD.findall(spoken(text.replace("_", " "))))


def is_known(token: Token, known: Sequence[Token], today: date | None) -> bool:
    """Whether a token says the same as one of these, or only what anybody may say."""
    if token.is_free or token.weekday is not None or token.offset is not None:
        return True
    return any(_is_same(token, other, today) for other in known)


def _is_same(token: Token, other: Token, today: date | None) -> bool:
    if token.letters is not None or other.letters is not None:
        return _is_same_to_the_letter(token, other)
    if token.days:
        return any(one[1:] == two[1:] and (None in (one[0], two[0]) or one[0] == two[0])
                   for one in token.days for two in other.days) or any(
            today is not None and _date(one.year or today.year, one.month, one.day) == _moved(today, other)
            for one in token.days)  # fmt: skip
    if token.clock is not None:
        return token.clock == other.clock or _hour(other) == token.clock
    if token.number is None:
        return False
    return token.number == other.number or token.number in _parts(other)


def _is_same_to_the_letter(token: Token, other: Token) -> bool:
    one, two = token.letters or _squeezed(token.text), other.letters or _squeezed(other.text)
    if one.isdigit() and two.isdigit() and min(len(one), len(two)) >= PHONE:
        return one[-PHONE:] == two[-PHONE:]
    return bool(one) and (one == two or (token.number is not None and len(one) > 1 and two.endswith(one)))


def _parts(token: Token) -> set[Decimal]:
    """Numbers that a date or a time is made of."""
    figures = [part for one in token.days for part in one if part is not None]
    if token.clock is not None:
        figures += [token.clock.hour, token.clock.hour % 12 or 12, token.clock.minute]
    return set(map(Decimal, figures))


def _hour(token: Token) -> time | None:
    """A bare number as a time of day: `at 9`."""
    number = token.number
    return time(int(number)) if number is not None and number == int(number) and 0 <= number < 24 else None


def _token(match: re.Match[str]) -> Token | None:
    place, text, found = match.start(), match[0], match.groupdict()
    days = tuple(_days(found))
    if days:
        return Token(place, text, days=days)
    if found["email"] or found["phone"] or found["id"]:
        return Token(place, text, letters=_squeezed(text))
    if found["named"]:
        return Token(place, text, clock=time(0) if found["named"] == "midnight" else time(12))
    if found["h"] is not None:
        return Token(place, text, clock=_time_of(found))
    if found["relative"]:
        return Token(place, text, offset=_RELATIVE[found["relative"]])
    if found["weekday"]:
        return Token(place, text, weekday=_WEEKDAYS.index(found["weekday"]))
    if found["ordinal"]:
        return Token(place, text, number=Decimal(text[:-2]), is_free=True)
    if found["spelled"]:
        return Token(place, text, number=_spelled(found["spelled"]), is_free=True)
    if found["number"]:
        return Token(place, text, number=_number(found["number"]))
    # A date that there is not, such as 31/02/2025, is a token that fits nothing.
    return Token(place, text, letters=_squeezed(text))


def _days(found: dict[str, str | None]) -> Iterator[Day]:
    """The dates that a match may be."""

    def day(year: str | None, month: int, number: str) -> Iterator[Day]:
        whole = int(year) + (2000 if len(year) == 2 else 0) if year else None
        if _date(whole or 2024, month, int(number)) is not None:
            yield Day(whole, month, int(number))

    if found["iso"]:
        yield from day(found["iso_y"], int(found["iso_m"] or 0), found["iso_d"] or "0")
    for form in ("dm", "md"):
        month, number = found[f"{form}_m"], found[f"{form}_d"]
        if month and number:
            yield from day(found[f"{form}_y"], _month(month), number)
    for one, two, year in (("n_a", "n_b", found["n_y"]), ("s_a", "s_b", None)):
        first, second = found[one], found[two]
        if first and second:
            yield from day(year, int(second), first)
            if first != second:
                yield from day(year, int(first), second)


def _month(name: str) -> int:
    return next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _time_of(found: dict[str, str | None]) -> time | None:
    hour, minute = int(found["h"] or 0), int(found["min"] or found["dot"] or 0)
    half = found["half"] or found["half2"]
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return time(hour % 24, minute)


def _number(text: str) -> Decimal:
    if re.fullmatch(r"\d+,\d{1,2}", text):
        return Decimal(text.replace(",", "."))
    return Decimal(re.sub(r"[,'\u2009]", "", text))


def _spelled(text: str) -> Decimal:
    return Decimal(100 if text.endswith("hundred") else sum(_SPELLED[word] for word in re.split(r"[\s-]", text)))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _is_day(token: Token, day: date, today: date | None) -> bool:
    """Whether a token says that day."""
    for one in token.days:
        if (one.month, one.day) == (day.month, day.day):
            if one.year == day.year:
                return True
            if one.year is None and (today is None or abs(day - today) <= NEAR):
                return True
    if today is None:
        return False
    if token.weekday is not None:
        return token.weekday == day.weekday() and -7 <= (day - today).days <= 14
    return _moved(today, token) == day


def _moved(today: date, token: Token) -> date | None:
    return today + timedelta(days=token.offset) if token.offset is not None else None


def _has_moment(text: str, day: date, clock: time, today: date | None, earlier: Sequence[str]) -> bool:
    """Whether the time stands in the text, and its day before it, behind it on the line, or in what was said before."""
    found, seen = tokens(text), spoken(text)
    dates = [token for token in found if _dates(token)]
    places = [token.place for token in dates]
    alone = False
    for place in {token.place for token in found if clock in (token.clock, _hour(token))}:
        at, end = bisect(places, place), seen.find("\n", place)
        behind = [token for token in dates[at : at + 2] if end < 0 or token.place < end]
        near = [*dates[max(at - 2, 0) : at], *behind]
        if any(_is_day(token, day, today) for token in near):
            return True
        alone = alone or not near
    return alone and any(_is_day(token, day, today) for words in earlier for token in tokens(words))


def _dates(token: Token) -> bool:
    return bool(token.days) or token.weekday is not None or token.offset is not None


def _has_number(text: str, value: Decimal, *, is_money: bool) -> bool:
    if is_money and any(token.number == value and f"{value} cent" in spoken(text) for token in tokens(text)):
        return True
    wanted = abs(value / 100 if is_money else value)
    return any(token.number == wanted for token in tokens(text))


def _has_words(text: str, value: str) -> bool:
    """Whether the words of the value stand in the text one behind the other."""
    wanted = words(value)
    if wanted and f" {' '.join(wanted)} " in f" {' '.join(words(text))} ":
        return True
    # `50mcg` is `50 mcg`, and an id or a phone number is the same however it is spaced.
    return any(map(str.isdigit, value)) and len(value) > 4 and _squeezed(value) in _squeezed(spoken(text))


def _stem(word: str) -> str:
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word).replace("ll", "l")


def _squeezed(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _amounts(cents: float) -> list[str]:
    amount = Decimal(str(cents)) / 100
    whole = [f"{amount:.0f}"] if amount == int(amount) else []
    return [f"{amount:.2f}", f"{amount:,.2f}", *whole]


def _distinct(*texts: str) -> list[str]:
    return list(dict.fromkeys(texts))
