"""What may be said without inventing it: all values of some texts, in whatever form they are said again."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal

from evaluator.ledger.dates import WEEKDAYS, Day
from evaluator.ledger.names import Names
from evaluator.ledger.values import Value, squeezed, values_in
from evaluator.ledger.wording import plain

SHORTEST_PART = 3
"""Figures of a longer number that are enough to name it: `ending 046`."""
_SPAN = re.compile(r"\b(\d{1,3})[ -](?:working |business )?(day|week)s?\b", re.I)
_AMOUNTS = ("money", "time")
"""Kinds whose number can be money: `9.30` is a time or an amount."""
LONGEST_PIECE = 2000
"""Characters of a text that are read together."""
LONGEST_SUM = 60
"""Amounts that are tried in sums."""
NEAR = timedelta(days=370)
"""A day further off than this is not what somebody means by a weekday."""


class Known:
    """Grows with the conversation."""

    def __init__(self, now: date, names: Names) -> None:
        self.now = now
        self._names = names
        self._words = " "
        self._squeezed = ""
        self.days: list[Day] = []
        self._times: set[tuple[int, int]] = set()
        self._numbers: set[Decimal] = set()
        self._parts: set[Decimal] = set()
        """Figures of dates, codes and phone numbers: nothing that money could be."""
        self._amounts: list[Decimal] = []
        self._digits: list[str] = []
        self._spans: set[int] = set()
        """In days."""
        self._shares: set[Decimal] = set()
        """In percent."""

    def copy(self) -> "Known":
        """One that grows on its own."""
        found = Known(self.now, self._names)
        found._words, found._squeezed = self._words, self._squeezed
        found.days, found._times, found._numbers = [*self.days], {*self._times}, {*self._numbers}
        found._shares, found._spans = {*self._shares}, {*self._spans}
        found._amounts, found._digits, found._parts = [*self._amounts], [*self._digits], {*self._parts}
        return found

    def hear(self, text: str) -> None:
        """Take in a text."""
        text = plain(text)
        for start in range(0, len(text), LONGEST_PIECE):
            self.learn(values_in(text[start : start + LONGEST_PIECE], self._names))
        self._note(text)

    def hear_read(self, text: str, values: Iterable[Value]) -> None:
        """Take in a text whose values have been read."""
        self.learn(values)
        self._note(plain(text))

    def _note(self, text: str) -> None:
        self._words += f"{_words(text)} "
        self._squeezed += f" {squeezed(text)}"
        self._digits += re.findall(r"\d{5,}", text)
        for count, unit in _SPAN.findall(text):
            self._spans.add(int(count) * (7 if unit.lower() == "week" else 1))
        self._parts |= {Decimal(figures) for figures in re.findall(r"\d+", text)}

    def learn(self, values: Iterable[Value]) -> None:
        """Take in values."""
        for value in values:
            self.days += value.days
            self._times |= {(hour, minute) for hour, minute, _ in value.times}
            for day in value.days:
                self._parts |= {Decimal(part) for part in (day.day, day.year) if part}
            if value.number is not None:
                self._numbers.add(value.number)
                if re.search(r"%|per ?cent", value.text):
                    self._shares.add(value.number)
                if value.kind in _AMOUNTS:
                    self._amounts.append(value.number)
            if value.kind == "digits":
                self._digits.append(value.key)

    def knows(self, value: Value) -> bool:
        """Whether the value, in one of its readings, is nothing new."""
        if value.kind == "email":
            return f" {value.key} " in self._words or value.key in self._words
        if value.kind == "code":
            return value.key in self._squeezed
        if value.kind == "name":
            return self.has_words(value.key) or self.has_words(value.text)
        if value.kind == "digits":
            return any(same_digits(value.key, known) for known in self._digits)
        if value.kind == "weekday":
            return self._knows_weekday(value.key)
        if value.kind == "relative":
            return self._has_day(self.now + timedelta(days=int(value.key)))
        return self._knows_figures(value)

    def has_words(self, phrase: str) -> bool:
        """Whether the phrase was said, as whole words."""
        return f" {_words(phrase)} " in self._words

    def has_amount(self, number: Decimal) -> bool:
        """Whether the number was said as an amount."""
        return number in self._numbers

    def on_weekday(self, name: str) -> list[Day]:
        """The days known that fall on a weekday, not too long ago."""
        return [day for day in self.days if self._falls_on(day, WEEKDAYS.index(name))]

    def _knows_weekday(self, name: str) -> bool:
        return name in self._words or self.now.weekday() == WEEKDAYS.index(name) or bool(self.on_weekday(name))

    def _falls_on(self, day: Day, weekday: int) -> bool:
        on = day.on(self.now.year)
        return on is not None and abs(on - self.now) < NEAR and on.weekday() == weekday

    def _has_day(self, wanted: date) -> bool:
        return any(day.month and day.fits(Day(wanted.day, wanted.month, wanted.year)) for day in self.days)

    def _knows_figures(self, value: Value) -> bool:
        if any(said.fits(day) for said in value.days for day in self.days):
            return True
        if self._spans and any(self._is_after(said) for said in value.days):
            return True
        if any(same_time(said, known) for said in value.times for known in self._times):
            return True
        return value.number is not None and self._knows_number(value)

    def _is_after(self, said: Day) -> bool:
        """Whether it is a known day, and a span on: a deadline that was worked out."""
        on = said.on(self.now.year)
        known = [day.on(self.now.year) for day in self.days]
        return on is not None and any(day and (on - day).days in self._spans for day in known)

    def _knows_number(self, value: Value) -> bool:
        number = value.number
        if number is None or number in self._numbers or (value.kind == "number" and number in self._parts):
            return True
        whole = str(number) if number == number.to_integral_value() and number > 0 else ""
        if len(whole) >= SHORTEST_PART and any(whole in digits for digits in self._digits if len(digits) > len(whole)):
            return True
        if value.kind == "time" and number * 100 in self._numbers:
            return True
        return self._is_sum(number) or (value.kind in _AMOUNTS and self._is_multiple(number))

    def _is_sum(self, number: Decimal) -> bool:
        """Whether it is a sum, a difference or a share of amounts."""
        amounts = self._amounts[-LONGEST_SUM:]
        known = frozenset(amounts)
        if any(number * 100 == amount * share for amount in amounts for share in self._shares):
            return True
        return any(number - amount in known or amount - number in known for amount in amounts)

    def _is_multiple(self, number: Decimal) -> bool:
        """Whether it is an amount as many times, or shared by as many, as were spoken of."""
        counts = [count for count in self._numbers if count in range(2, 13)] or [Decimal(2)]
        return any(
            count * one == other
            for count in counts
            for amount in self._amounts[-LONGEST_SUM:]
            for one, other in ((amount, number), (number, amount))
        )


def same_digits(one: str, other: str) -> bool:
    """Whether two spellings of digits are the same: country code and leading zeros apart."""
    one, other = one.lstrip("0"), other.lstrip("0")
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 9 and long.endswith(short))


def same_time(said: tuple[int, int, bool], known: tuple[int, int]) -> bool:
    """Whether the clock can show both; without `am` or `pm`, 3:00 can be 15:00."""
    hour, minute, sure = said
    return minute == known[1] and (hour == known[0] if sure else hour % 12 == known[0] % 12)


def _words(text: str) -> str:
    return " ".join(word.rstrip(".-") for word in re.findall(r"[\w.+@-]+", text.lower()))
