"""Facts in texts: whether a text states a value, and what a user can know and has told.

A value is found in any of the forms in which people write it: dates, times and numbers among the text's tokens,
names and enum values as words, without regard to case and punctuation. No sentence is interpreted: a value either
stands in a text or it does not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import chain

from evaluator.text.days import has_bare_day, has_moment, is_day, is_time
from evaluator.text.tokens import (
    CACHED_TEXTS,
    MONTHS,
    Token,
    letters_and_digits,
    normalised_text,
    relative_day,
    tokens,
    valid_date,
)
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json
from skillweave.schema.task import Fact, Persona, Scenario, Task, unit_of
from skillweave.schema.trajectory import Message, UserTurn

_WORD = re.compile(r"[^\W_]+")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::\d\d)?)?")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::00)?")
"""A time of day: when somebody closes."""
_IN_MONTH = re.compile(r"\b(?:in|since|from|of|for|during) ([a-z]+)")
_CENTS = ("cent", "ct", "pence")
LARGEST_FREE_NUMBER = 10
"""Whole numbers up to this need no source."""
SHORTEST_TELLING_WORD = 4
"""Fewest letters of a word that identifies a value of several words."""
PHONE_DIGITS = 9
"""Last digits of a phone number that are compared, so that the country code does not matter."""
_PHRASES = re.compile(r"\b(?:24/7|50/50|24 hours?|100 ?%)", re.IGNORECASE)
"""Figures of speech."""


def states_value(
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
    # Only a time of day may have its day from what was said before.
    before = tuple(earlier) if isinstance(value, str) and ":" in value else ()
    return _states(text, value, type, unit, now, before, loosely)


@lru_cache(maxsize=CACHED_TEXTS, typed=True)
def _states(
    text: str,
    value: str | float,
    type: AttributeType | None,
    unit: str | None,
    now: str,
    earlier: Sequence[str],
    loosely: bool,
) -> bool:
    if isinstance(value, int | float):
        return _has_number(text, Decimal(str(value)), is_money=unit == "cents")
    moment = _ISO.fullmatch(value) if type in (None, "date", "datetime") else None
    day = valid_date(*map(int, moment.groups()[:3])) if moment else None
    if moment is None or day is None:
        hour = _TIME.fullmatch(value)
        clock = time(int(hour[1]), int(hour[2])) if hour else None
        return _has_words(text, value) or any(
            is_time(text, token, clock) for token in tokens(text) if clock is not None
        )
    today = date.fromisoformat(now[:10]) if now else None
    if moment[4] is None:
        return any(is_day(token, day, today) for token in tokens(text) if loosely or token.days)
    clock = time(int(moment[4]), int(moment[5]))
    return has_moment(text, day, clock, today, earlier) or (clock == time(0) and has_bare_day(text, day, today))


def value_forms(value: Json, type: AttributeType | None = None, unit: str | None = None) -> list[str]:
    """Forms of a value that `states_value` accepts, the usual one first."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return [str(value)]
    return [*_value_forms(value, type, unit)]


@lru_cache(maxsize=CACHED_TEXTS, typed=True)
def _value_forms(value: str | float, type: AttributeType | None, unit: str | None) -> list[str]:
    if isinstance(value, int | float):
        return _distinct(*_amounts(value)) if unit == "cents" else _distinct(f"{value:g}", f"{value:,}")
    moment = _ISO.fullmatch(value) if type in (None, "date", "datetime") else None
    if moment is None:
        hour = _TIME.fullmatch(value)
        return _distinct(*([f"{hour[1]}:{hour[2]}"] if hour else []), value.replace("_", " "), value)
    when = datetime.fromisoformat(value)
    month = MONTHS[when.month - 1].capitalize()
    days = [f"{when.day} {month} {when.year}", f"{when:%Y-%m-%d}", f"{month} {when.day}, {when.year}"]
    if moment[4] is None:
        return days
    clock, half = f"{when:%H:%M}", f"{when.hour % 12 or 12}:{when:%M} {'am' if when.hour < 12 else 'pm'}"
    return [f"{days[0]} at {clock}", f"{days[1]} {clock}", f"{days[2]} at {half}", f"{clock} on {days[0]}"]


@lru_cache(maxsize=CACHED_TEXTS)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text for comparison: in lower case, without plural endings and doubled `l`."""
    return tuple(_stem(word) for word in _WORD.findall(normalised_text(text.replace("_", " "))))


def _has_number(text: str, value: Decimal, *, is_money: bool) -> bool:
    wanted = abs(value / 100 if is_money else value)
    for token in tokens(text):
        if token.number == wanted:
            return True
        if is_money and token.number == value and normalised_text(text)[token.end :].lstrip().startswith(_CENTS):
            return True
    return False


def _has_words(text: str, value: str) -> bool:
    """Whether the words of the value follow each other in the text; two words may be in either order."""
    wanted, given = words_of(value), f" {' '.join(words_of(text))} "
    orders = [wanted, wanted[::-1]] if len(wanted) == 2 else [wanted]
    if any(order and f" {' '.join(order)} " in given for order in orders):
        return True
    # `50mcg` is `50 mcg`, and an id or a phone number is the same however it is spaced.
    return (
        any(map(str.isdigit, value))
        and len(value) > 4
        and letters_and_digits(value) in letters_and_digits(normalised_text(text))
    )


def _stem(word: str) -> str:
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word).replace("ll", "l")


def _amounts(cents: float) -> list[str]:
    amount = Decimal(str(cents)) / 100
    whole = [f"{amount:.0f}"] if amount == int(amount) else []
    return [f"{amount:.2f}", f"{amount:,.2f}", *whole]


def _distinct(*texts: str) -> list[str]:
    return list(dict.fromkeys(texts))


class UserKnowledge:
    """What one user knows."""

    def __init__(self, scenario: Scenario, persona: Persona, *, now: str, texts: Sequence[str] = ()) -> None:
        """Args:
        now: The session's clock.
        texts: Other texts that the user knows: the opening, the company's name, the instructions.
        """
        self._facts = scenario.facts
        self._now = now
        known = [scenario.goal, scenario.reason, *scenario.said_later]
        self._own = [*known, persona.name, f"{persona.age}", *persona.traits, now, *texts]

    def faults(self, text: str, heard: Sequence[str] = ()) -> list[str]:
        """Tokens of a user's text that the user cannot know.

        Args:
            heard: What the agent said before.
        """
        found = {token.text: token for token in tokens(_PHRASES.sub(" ", text))}
        unknown = [token for token in found.values() if not (_is_free(token) or self._known.has(token))]
        today = self._now[:10]
        return [token.text.strip(" .,") for token in unknown if not _known_tokens((*heard,), today).has(token)]

    def tells(self, text: str, earlier: Sequence[str] = ()) -> list[str]:
        """Ids of the facts that a text tells.

        Args:
            earlier: What was said before; it may give the day of a time.
        """
        return [fact.id for fact in self._facts if tells_fact(fact, text, self._now, earlier)]

    @cached_property
    def _known(self) -> "_KnownTokens":
        told = [text for fact in self._facts for text in (fact.text, *_forms(fact.value, unit_of(fact.id)))]
        return _known_tokens((*self._own, *told), self._now[:10])


class _KnownTokens:
    """Known tokens by their meaning."""

    def __init__(self, known: Iterable[Token], today: date) -> None:
        found = [*known]
        relative = [day for token in found for day in [relative_day(today, token)] if day is not None]
        self._days = {(day.month, day.day): {day.year} for day in relative}
        for day in (day for token in found for day in token.days):
            self._days.setdefault((day.month, day.day), set()).add(day.year or 0)
        self._times = {time for token in found for time in (token.clock, token.hour) if time is not None}
        self._letters = {_end(token.letters or letters_and_digits(token.text)) for token in found}
        self._numbers = {token.number for token in found if token.number is not None}
        self._numbers |= {Decimal(part) for token in found for day in token.days for part in day if part is not None}
        clocks = [token.clock for token in found if token.clock is not None]
        self._numbers |= {Decimal(part) for clock in clocks for part in (clock.hour, clock.hour % 12, clock.minute)}

    def has(self, token: Token) -> bool:
        """Whether a known token means the same."""
        if token.letters is not None:
            return _end(token.letters) in self._letters
        if token.days:
            years = [self._days.get((day.month, day.day), set()) for day in token.days]
            return any(
                given and (day.year is None or 0 in given or day.year in given)
                for day, given in zip(token.days, years, strict=True)
            )
        if token.clock is not None:
            return token.clock in self._times
        return (
            token.number in self._numbers
            or token.hour in self._times
            or letters_and_digits(token.text) in self._letters
        )


@lru_cache(maxsize=256)
def _known_tokens(texts: Sequence[str], today: str) -> _KnownTokens:
    """The tokens of these texts: what a task's user knows is the same in all its trials."""
    return _KnownTokens(chain.from_iterable(map(tokens, texts)), date.fromisoformat(today))


def tells_fact(fact: Fact, text: str, now: str = "", earlier: Sequence[str] = ()) -> bool:
    """Whether a text holds a fact's value, or the fact's own words for it.

    Args:
        now: The session's clock; empty: unknown.
        earlier: What was said before; it may give the day of a time.
    """
    if states_value(text, fact.value, type=None, unit=unit_of(fact.id), now=now, earlier=earlier, loosely=True):
        return True
    if not isinstance(fact.value, str):
        return False
    if fact.id.endswith(".month") and _ISO.fullmatch(fact.value):
        return MONTHS[int(fact.value[5:7]) - 1] in _IN_MONTH.findall(text.casefold())
    _, colon, described = fact.text.partition(": ")
    if colon and states_value(text, described.strip(" ."), type="string"):
        return True
    telling = [word for word in words_of(fact.value) if len(word) >= SHORTEST_TELLING_WORD]
    return len(telling) > 1 and {*telling} <= {*words_of(text)}


def _is_free(token: Token) -> bool:
    """Whether a token needs no source."""
    if token.is_free or (token.is_date and not token.days):
        return True
    number = token.number
    return not token.days and number is not None and number <= LARGEST_FREE_NUMBER and number == int(number)


def _end(letters: str) -> str:
    """The compared digits of a phone number; any other text as it is."""
    return letters[-PHONE_DIGITS:] if letters.isdigit() else letters


def _forms(value: Json, unit: str | None) -> list[str]:
    return value_forms(value, unit=unit) if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def user_turns_of(task: Task, messages: Sequence[Message], recorded: Iterable[UserTurn] | None) -> list[UserTurn]:
    """One turn for each message of the user, in order.

    A user's record is kept, but which facts a message tells is found in its text: a record is not trusted there.
    Without a record nobody knows whether the user agreed.
    """
    turns, facts = heard_turns(messages, recorded), task.scenario.facts
    told = [[fact.id for fact in facts if is_told(fact, messages, turn.message, task.now)] for turn in turns]
    return [turn.model_copy(update={"tells": tells}) for turn, tells in zip(turns, told, strict=True)]


def heard_turns(messages: Sequence[Message], recorded: Iterable[UserTurn] | None) -> list[UserTurn]:
    """The record of each message of the user, in order; an empty one where there is none."""
    known: Mapping[int, UserTurn] = {turn.message: turn for turn in recorded or ()}
    return [known.get(place) or UserTurn(message=place) for place, one in enumerate(messages) if one.role == "user"]


def is_told(fact: Fact, messages: Sequence[Message], place: int, now: str) -> bool:
    """Whether a message tells a fact; what was said before it may give the day of a time."""
    earlier = [one.content for one in messages[:place] if one.role in ("user", "assistant") and one.content]
    return tells_fact(fact, messages[place].content or "", now, earlier)
