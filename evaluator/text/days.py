"""Days and times of day in texts: whether a token is one, and whether a time stands with its day."""

from bisect import bisect
from collections.abc import Sequence
from datetime import date, time, timedelta

from evaluator.text.tokens import WEEKDAY_DISTANCE, Token, normalised_text, relative_day, tokens

NEAREST_YEAR = timedelta(days=366)
"""Most days between today and a date that is given without its year."""
_BEFORE_HOUR = ("at ", "from ", "by ", "until ", "till ", "@ ", "to ", "- ", "for ")
"""Words before a bare number that make it a time of day."""


def is_day(token: Token, day: date, today: date | None) -> bool:
    """Whether a token names that day."""
    for one in token.days:
        if (one.month, one.day) == (day.month, day.day):
            is_near = today is None or abs(day - today) <= NEAREST_YEAR
            if one.year == day.year or (one.year is None and is_near):
                return True
    if today is None:
        return False
    if token.weekday is not None:
        return token.weekday == day.weekday() and -7 <= (day - today).days <= 14
    return relative_day(today, token) == day


def has_moment(text: str, day: date, clock: time, today: date | None, earlier: Sequence[str]) -> bool:
    """Whether the time stands in the text with its day: the last before it, or the next on its line; where its line has
    none, the next of all; where the text has none, in what was said before."""
    found, seen = tokens(text), normalised_text(text)
    dates = [token for token in found if token.is_date]
    places = [token.place for token in dates]
    for token in found:
        if not is_time(text, token, clock):
            continue
        at, start, end = bisect(places, token.place), seen.rfind("\n", 0, token.place), seen.find("\n", token.place)
        before = [one for one in [*dates[max(at - 1, 0) : at], token] if one.is_date]
        behind = [one for one in dates[at : at + 1] if end < 0 or one.place < end]
        if not behind and not any(one.place > start for one in before):
            behind = dates[at : at + 1]
        if any(is_day(one, day, today) for one in [*before, *behind]):
            return True
        if not dates:
            return any(is_day(one, day, today) for words in earlier for one in tokens(words))
    return False


def is_time(text: str, token: Token, clock: time) -> bool:
    """Whether a token of a text is that time of day."""
    is_bare = token.hour == clock and normalised_text(text).endswith(_BEFORE_HOUR, 0, token.place)
    return token.clock == clock or is_bare


def has_bare_day(text: str, day: date, today: date | None) -> bool:
    """Whether the text names the day without a time beside it: nobody writes midnight for a whole day."""
    for at, token in enumerate(found := tokens(text)):
        beside = [one for one in found[max(at - 1, 0) : at + 2] if one.clock is not None]
        near = any(max(one.place - token.end, token.place - one.end) <= WEEKDAY_DISTANCE for one in beside)
        if token.days and is_day(token, day, today) and not near:
            return True
    return False
