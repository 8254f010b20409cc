"""Numbers and amounts in words, with the place where they stand; parts of dates, times and ids are none."""

import re
from decimal import Decimal
from typing import NamedTuple

from evaluator.words.moments import MOMENT_IN_FIGURES, MOMENT_IN_WORDS

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_WORDS = {word: number for number, word in enumerate(f"{_ONES} seventeen eighteen nineteen".split())}
_WORDS |= {
    word: 10 * tens
    for tens, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
SPELLED = "|".join([*_WORDS, "hundred", "thousand"])
_CURRENCY = r"(?:[€£$]|(?:eur|usd|gbp|euros?|dollars?|pounds?)\b)"
_NUMBER = (
    r"(?<![\w.,/])(?P<figures>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,9})?)"
    r"(?P<times>k\b|\s(?:thousand|million)\b)?"
    rf"(?P<after>\s?(?:%|per ?cent\b|cents?\b|pence\b|{_CURRENCY})"
    r"(?:(?: and)? (?P<small>\d{1,2}) (?:cents?|pence)\b)?)?"
    r"(?!\w|[.,]\d)"
)
_IN_WORDS = (
    rf"(?P<spelled>(?:{SPELLED})(?:(?:[\s-]|\sand\s)(?:{SPELLED})){{0,8}})\b(?P<money>\s(?:euros?|dollars?|pounds?)\b)?"
)
_ID = r"(?<!-)[a-z]\w{0,20}+-(?:\w{1,20}-){0,4}\d[\w-]{0,40}"
_FIGURE = re.compile(
    rf"(?=[\d+])(?:\+\d[\d ()-]{{6,20}}\d|{MOMENT_IN_FIGURES}|{_NUMBER})"
    rf"|(?=[a-z])\b(?:https?://\S{{1,300}}|{_ID}|{MOMENT_IN_WORDS}|{_IN_WORDS})"
)
"""Telephone numbers, addresses, ids, dates and times are passed over."""
_LEADING = re.compile(
    r"(?<![^\s(:;*|~=])(?P<sign>-|(?<=[(:=|]\s)-\s|minus\s)?(?P<before>(?:us)?[$€£]\s?|(?:eur|usd|gbp)\s)?(?P<inner>-)?$"
)
COUNTED = re.compile(
    r"[\s-](?!is\b|was\b|as\b|has\b|plus\b|less\b|minus\b|this\b|this\b)(?:[a-z]+s|day|night|hour|minute|week)\b"
)
_OTHER_MONEY = re.compile(
    r"(?:\b(?:aud|brl|cad|chf|cny|czk|dkk|huf|inr|jpy|krw|mxn|nok|nzd|pln|sek|try|zar)|[\xa5\u20b9\u20a9\u20bd])\s?$"
)
_TIMES = {"k": 1000, "thousand": 1000, "million": 1_000_000}


class Figure(NamedTuple):
    """A number as it stands in a text."""

    start: int
    end: int
    number: Decimal
    is_amount: bool
    """It looks like money: a currency, or two decimals."""
    is_percent: bool
    is_count: bool
    """It counts things, or money that nobody here pays in: `2 visits`, `#12`, `JPY 83`."""
    in_cents: bool
    """It is a number of cents."""

    @property
    def cents(self) -> int | None:
        """What it is as money."""
        cents = self.number if self.in_cents else self.number * 100
        return int(cents) if not self.is_percent and cents == int(cents) else None


def figures(text: str) -> list[Figure]:
    """The numbers of a text, in order."""
    text = text.lower()
    found = []
    for match in _FIGURE.finditer(text):
        if match["figures"]:
            found.append(_in_figures(match, text))
        elif match["spelled"]:
            number = _spelled(match["spelled"])
            if number is not None and number != 1:
                found.append(
                    Figure(*match.span(), Decimal(number), bool(match["money"]), False, not match["money"], False)
                )
    return found


def _in_figures(match: re.Match[str], text: str) -> Figure:
    number = Decimal(match["figures"].replace(",", ""))
    if match["times"]:
        number *= _TIMES[match["times"].strip()]
    after = (match["after"] or "").strip()
    if match["small"]:
        number += Decimal(match["small"]) / 100
    leading = _LEADING.search(text, max(0, match.start() - 10), match.start())
    if leading and (leading["sign"] or leading["inner"]):
        number = -number
    is_percent = after.startswith(("%", "per"))
    has_pence = match["figures"][-3:-2] == "."
    has_currency = bool(leading and leading["before"]) or bool(after and not is_percent)
    is_amount = has_currency or has_pence
    is_numbered = text[max(0, match.start() - 1) : match.start()] == "#"
    is_foreign = _OTHER_MONEY.search(text, max(0, match.start() - 5), match.start()) is not None
    is_count = is_foreign or (not is_amount and (is_numbered or COUNTED.match(text, match.end()) is not None))
    in_cents = after.startswith(("cent", "pence"))
    start = leading.start() if leading and any(leading.groups()) else match.start()
    return Figure(start, match.end(), number, is_amount, is_percent, is_count, in_cents)


def _spelled(words: str) -> int | None:
    """`one hundred and twenty-five`; None where the words are no number in good English."""
    total = part = 0
    below = 1000
    for word in re.split(r"[\s-]+", words):
        if word == "and":
            continue
        if word == "thousand" and 0 < part < 1000:
            total, part, below = total + part * 1000, 0, 1000
        elif word == "hundred" and 0 < part < 10:
            part, below = part * 100, 100
        elif word in _WORDS and _WORDS[word] < below:
            part += _WORDS[word]
            below = 10 if _WORDS[word] >= 20 else 0
        else:
            return None
    return total + part
