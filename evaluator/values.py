"""Values in words: whether a text holds a value, in any of the forms in which people write it.

Dates, times and numbers are looked up among the text's tokens; names and enum values as words, case and punctuation
aside. That a value stands in a text is all that is said of it.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache

from evaluator.tokens import BESIDE, KEPT, MONTHS, Token, a_date, moved, spoken, squeezed, tokens
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json

NEAR = timedelta(days=366)
"""How far from today a date may be that is given without its year."""

_WORD = re.compile(r"[^\W_]+")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::\d\d)?)?")
_BEFORE_HOUR = ("at ", "from ", "by ", "until ", "till ", "@ ", "to ", "- ", "for ")
"""What stands before a bare number that is a time of day."""
_CENTS = ("cent", "ct")


def said(
    text: str,
    value: Json,
    *,
    type: AttributeType | None = None,
    unit: str | None = None,
    now: str = "",
    earlier: Sequence[str] = (),
    loosely: bool = False,
) -> bool:
    """Whether the text holds the value in one of its accepted forms.

    Args:
        value: As the data hold it. Of a boolean, null, list or object nothing is said by a form.
        type: Of the column; without it texts that are dates are taken for dates.
        unit: `cents` for money.
        now: The clock, from which `tomorrow` and `Friday` count, and dates without a year.
        earlier: Texts said before, which may have given the day of a time.
        loosely: Whether `tomorrow` or `Friday` alone says a date; otherwise they only give the day of a time.
    """
    if value is None or isinstance(value, bool | list | dict):
        return False
    if isinstance(value, int | float):
        return _has_number(text, Decimal(str(value)), is_money=unit == "cents")
    moment = _ISO.fullmatch(value) if type in (None, "date", "datetime") else None
    day = a_date(*map(int, moment.groups()[:3])) if moment else None
    if moment is None or day is None:
        return _has_words(text, value)
    today = date.fromisoformat(now[:10]) if now else None
    if moment[4] is None:
        return any(_is_day(token, day, today) for token in tokens(text) if loosely or token.days)
    clock = time(int(moment[4]), int(moment[5]))
    return _has_moment(text, day, clock, today, earlier) or (clock == time(0) and _has_bare_day(text, day, today))


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
    month = MONTHS[when.month - 1].capitalize()
    days = [f"{when.day} {month} {when.year}", f"{when:%Y-%m-%d}", f"{month} {when.day}, {when.year}"]
    if moment[4] is None:
        return days
    clock, half = f"{when:%H:%M}", f"{when.hour % 12 or 12}:{when:%M} {'am' if when.hour < 12 else 'pm'}"
    return [f"{days[0]} at {clock}", f"{days[1]} {clock}", f"{days[2]} at {half}", f"{clock} on {days[0]}"]


@lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, for comparison: in small letters, plurals and doubled letters l aside."""
    return tuple(_stem(word) for word in _WORD.findall(spoken(text.replace("_", " "))))


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
    return moved(today, token) == day


def _has_moment(text: str, day: date, clock: time, today: date | None, earlier: Sequence[str]) -> bool:
    """Whether the time stands in the text with its day: the last before it, or the next on its line; where its line has
    none, the next of all; where the text has none, in what was said before."""
    found, seen = tokens(text), spoken(text)
    dates = [token for token in found if token.is_date]
    places = [token.place for token in dates]
    for token in found:
        if token.clock != clock and not (token.hour == clock and seen.endswith(_BEFORE_HOUR, 0, token.place)):
            continue
        at, start, end = bisect(places, token.place), seen.rfind("\n", 0, token.place), seen.find("\n", token.place)
        before = [one for one in [*dates[max(at - 1, 0) : at], token] if one.is_date]
        behind = [one for one in dates[at : at + 1] if end < 0 or one.place < end]
        if not behind and not any(one.place > start for one in before):
            behind = dates[at : at + 1]
        if any(_is_day(one, day, today) for one in [*before, *behind]):
            return True
        if not dates:
            return any(_is_day(one, day, today) for words in earlier for one in tokens(words))
    return False


def _has_bare_day(text: str, day: date, today: date | None) -> bool:
    """Whether the day stands in the text without a time beside it: nobody says that a day begins at midnight."""
    found = tokens(text)
    for at, token in enumerate(found):
        beside = [one for one in found[max(at - 1, 0) : at + 2] if one.clock is not None]
        near = any(max(one.place - token.end, token.place - one.end) <= BESIDE for one in beside)
        if token.days and _is_day(token, day, today) and not near:
            return True
    return False


def _has_number(text: str, value: Decimal, *, is_money: bool) -> bool:
    wanted = abs(value / 100 if is_money else value)
    for token in tokens(text):
        if token.number == wanted:
            return True
        if is_money and token.number == value and spoken(text)[token.end :].lstrip().startswith(_CENTS):
            return True
    return False


def _has_words(text: str, value: str) -> bool:
    """Whether the words of the value stand in the text one behind the other; of two also the other way round."""
    wanted, given = words(value), f" {' '.join(words(text))} "
    orders = [wanted, wanted[::-1]] if len(wanted) == 2 else [wanted]
    if any(order and f" {' '.join(order)} " in given for order in orders):
        return True
    # `50mcg` is `50 mcg`, and an id or a phone number is the same however it is spaced.
    return any(map(str.isdigit, value)) and len(value) > 4 and squeezed(value) in squeezed(spoken(text))


def _stem(word: str) -> str:
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word).replace("ll", "l")


def _amounts(cents: float) -> list[str]:
    amount = Decimal(str(cents)) / 100
    whole = [f"{amount:.0f}"] if amount == int(amount) else []
    return [f"{amount:.2f}", f"{amount:,.2f}", *whole]


def _distinct(*texts: str) -> list[str]:
    return list(dict.fromkeys(texts))
