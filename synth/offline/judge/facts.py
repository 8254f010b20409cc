"""Facts: what a case says, read from its words.

A case is a line of facts: `The given "method" is card; the slot's "starts at" is 23 hours from now.`
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from synth.policy.quantity import Quantity, duration

Kind = Literal["row", "choice", "yesno", "missing", "time", "figure", "count"]
_ROW = re.compile(r"there is (one|no) such (.+)", re.IGNORECASE)
_FACT = re.compile(r'(?P<noun>the .*"[^"]+"|the number of such .+?) is (?P<value>.+)', re.IGNORECASE)
_FROM_NOW = re.compile(r"(\d+) (minute|hour|day|month|year)s? (from now|ago)")
_FROM_OTHER = re.compile(r"(\d+) (minute|hour|day|month|year)s? (before|after) (the .+)")
_MONEY = re.compile(r"[\d,]+\.\d\d")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Fact:
    kind: Kind
    noun: str
    word: str = ""
    """The value of a choice."""
    true: bool = False
    """For a row whether it is there, for yes or no the answer."""
    quantity: Quantity | None = None
    """Of a time: how far ahead it lies, or how long after the other; negative the other way."""
    from_now: bool = True


def read_facts(case: str) -> list[Fact] | None:
    """The facts of a case; None where it is not told in the known form."""
    found = [_read(part.strip()) for part in case.strip().removesuffix(".").split(";")]
    return [fact for fact in found if fact] if all(found) else None


def _read(part: str) -> Fact | None:
    row = _ROW.fullmatch(part)
    if row:
        return Fact("row", row[2], true=row[1].lower() == "one")
    match = _FACT.fullmatch(part)
    return _valued(match["noun"].lower(), match["value"]) if match else None


def _valued(noun: str, value: str) -> Fact:
    if value in ("yes", "no"):
        return Fact("yesno", noun, true=value == "yes")
    if value == "missing":
        return Fact("missing", noun)
    if value in ("now", "today"):
        return Fact("time", noun, quantity=Quantity(Fraction(0), "minutes"))
    if value.startswith("the same as the "):
        return Fact("time", noun, quantity=Quantity(Fraction(0), "minutes"), from_now=False)
    near, far = _FROM_NOW.fullmatch(value), _FROM_OTHER.fullmatch(value)
    match = near or far
    if match:
        ahead = 1 if match[3] in ("from now", "after") else -1
        length = duration(Fraction(match[1]), match[2])
        return Fact("time", noun, quantity=Quantity(ahead * length.value, length.unit), from_now=near is not None)
    if _MONEY.fullmatch(value):
        return Fact("figure", noun, quantity=Quantity(Fraction(value.replace(",", "")) * 100, "money"))
    if _NUMBER.fullmatch(value):
        kind: Kind = "count" if noun.startswith("the number of such ") else "figure"
        return Fact(kind, noun, quantity=Quantity(Fraction(value), "plain"))
    return Fact("choice", noun, word=value)
