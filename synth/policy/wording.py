"""The content of a sentence: its quantities and the enum values that it names.

Durations count in minutes, or in months where the calendar decides. Money counts in cents. Shares are fractions
of 1. So `2 days`, `48 hours` and `'+48 hours'` are one quantity; `15.00` is 1500 of a cents column.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple

Unit = Literal["plain", "money", "share", "minutes", "months", "clock"]


class Quantity(NamedTuple):
    """A number with its unit, in normal form."""

    value: Fraction
    unit: Unit


@dataclass(frozen=True)
class StatedQuantity:
    """A quantity as a sentence states it."""

    readings: tuple[Quantity, ...]
    """Its possible meanings, the likeliest first."""
    start: int
    """Its start in the sentence, in characters."""
    end: int
    """The position after its last character."""
    is_firm: bool
    """False for words that need not be numbers: `a day`, `once`, `one`, `no`."""
    text: str


MINUTES = {"minute": 1, "hour": 60, "day": 1440, "night": 1440, "week": 10080}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40,
    "sixty": 60, "ninety": 90, "once": 1, "twice": 2, "no": 0, "none": 0, "nothing": 0, "single": 1, "a": 1, "an": 1,
}  # fmt: skip
_VAGUE_NUMBERS = frozenset({"one", "once", "two", "twice", "no", "none", "nothing", "single", "a", "an", "zero"})
_ARTICLES = frozenset({"a", "an", "single"})
_SHARES = {"half": Fraction(1, 2), "quarter": Fraction(1, 4), "third": Fraction(1, 3)}
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = r"(?P<unit>%|per ?cent\b|percent\b|cents?\b|(?:calendar )?(?:minute|hour|day|night|week|month|year)s?\b)"
_TOKEN = re.compile(
    rf"(?P<clock>\b\d{{1,2}}:\d\d(?::\d\d)?|\b\d{{1,2}} ?[ap]\.?m\b)"
    rf"|(?P<currency>[$€£]) ?(?P<sum>{_NUMBER})"
    rf"|(?<![\w.])(?P<number>{_NUMBER})(?![\w])(?:[ -]?{_UNIT})?"
    rf"|\b(?P<word>{'|'.join(sorted(WORDS, key=len, reverse=True))})\b"
    r"(?:[ -](?P<word_unit>(?:full |whole |calendar )?(?:minute|hour|day|night|week|month|year)s?)\b)?"
    r"|\b(?P<half>half (?:an hour|a day|a year))\b|\b(?P<share>half|quarter|third)(?:s\b)?",
    re.IGNORECASE,
)
_LIST = re.compile(r"\s*(?:,|,? ?or|,? ?and|to|-|/)\s*", re.IGNORECASE)


def quantities(sentence: str) -> list[StatedQuantity]:
    """The quantities of a sentence, in order. `28, 56 or 84 days` gives three durations."""
    readable = [_quantity_at(match) for match in _TOKEN.finditer(sentence)]
    stated = [quantity for quantity in readable if quantity is not None]
    return list(_with_shared_units(stated, sentence))


def duration(number: Fraction, unit: str) -> Quantity:
    """2, `hours` -> 120 minutes; 1, `year` -> 12 months."""
    name = unit.lower().removeprefix("calendar ").removeprefix("full ").removeprefix("whole ").removesuffix("s")
    if name in MONTHS:
        return Quantity(number * MONTHS[name], "months")
    return Quantity(number * MINUTES[name], "minutes")


def in_words(quantity: Quantity) -> str:
    """A quantity as messages name it: `48 hours`, `15.00`, `25 %`, `3`."""
    value, unit = quantity
    if unit == "money":
        return f"{float(value / 100):,.2f}"
    if unit == "share":
        return f"{float(value * 100):g} %"
    if unit == "clock":
        return f"{int(value) // 60:02d}:{int(value) % 60:02d}"
    if unit == "months":
        return f"{float(value):g} months"
    if unit == "minutes":
        for name in ("day", "hour", "minute"):
            if (value / MINUTES[name]).denominator == 1 or name == "minute":
                return f"{float(value / MINUTES[name]):g} {name}s"
    return f"{float(value):g}"


def _quantity_at(match: re.Match[str]) -> StatedQuantity | None:
    readings, is_firm = _readings(match)
    if not readings:
        return None
    return StatedQuantity(tuple(readings), match.start(), match.end(), is_firm, match[0])


def _readings(match: re.Match[str]) -> tuple[list[Quantity], bool]:
    groups = match.groupdict()
    if groups["clock"]:
        return [Quantity(_clock(groups["clock"]), "clock")], True
    if groups["currency"]:
        return [Quantity(_value(groups["sum"]) * 100, "money")], True
    if groups["half"]:
        unit = groups["half"].rpartition(" ")[2]
        return [duration(Fraction(1, 2), unit)], True
    if groups["share"]:
        share = _SHARES[groups["share"].lower()]
        return [Quantity(share, "share"), Quantity(share, "plain")], False
    if groups["word"]:
        return _word_readings(groups["word"].lower(), groups["word_unit"])
    return _digit_readings(groups["number"], groups["unit"]), True


def _word_readings(word: str, unit: str | None) -> tuple[list[Quantity], bool]:
    value = Fraction(WORDS[word])
    if word in _ARTICLES and not unit:
        return [], False
    if unit:
        return [duration(value, unit)], word not in _VAGUE_NUMBERS
    return [Quantity(value, "plain"), Quantity(value * 100, "money")], word not in _VAGUE_NUMBERS


def _digit_readings(number: str, unit: str | None) -> list[Quantity]:
    value = _value(number)
    if unit is None:
        if re.search(r"\.\d\d$", number):
            return [Quantity(value * 100, "money"), Quantity(value, "plain")]
        return [Quantity(value, "plain")]
    name = unit.lower()
    if name == "%" or name.startswith("per"):
        return [Quantity(value / 100, "share")]
    if name.startswith("cent"):
        return [Quantity(value, "money")]
    return [duration(value, name)]


def _value(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


def _clock(text: str) -> Fraction:
    half = re.search(r"([ap])\.?m", text, re.IGNORECASE)
    if half:
        hour = int(re.findall(r"\d+", text)[0]) % 12
        return Fraction(60 * (hour + (12 if half[1].lower() == "p" else 0)))
    hours, minutes = text.split(":")[:2]
    return Fraction(60 * int(hours) + int(minutes))


def _with_shared_units(quantities: list[StatedQuantity], sentence: str) -> Iterator[StatedQuantity]:
    """Give a bare number the unit of the next one, if only a list's comma or conjunction is between them."""
    shared: list[StatedQuantity] = []
    after: StatedQuantity | None = None
    unit: str | None = None
    for quantity in reversed(quantities):
        is_bare = quantity.readings[0].unit == "plain"
        if not (is_bare and after is not None and _LIST.fullmatch(sentence[quantity.end : after.start])):
            unit = _unit_of(quantity)
        readings = (
            (_with_unit(quantity.readings[0].value, unit), *quantity.readings)
            if is_bare and unit
            else quantity.readings
        )
        after = StatedQuantity(readings, quantity.start, quantity.end, quantity.is_firm, quantity.text)
        shared.append(after)
    return reversed(shared)


def _unit_of(stated: StatedQuantity) -> str | None:
    unit = stated.readings[0].unit
    if unit == "share":
        return "%"
    named = re.search(r"[a-z]+$", stated.text.lower())
    return named[0] if named and unit in ("minutes", "months") else None


def _with_unit(value: Fraction, unit: str) -> Quantity:
    return Quantity(value / 100, "share") if unit == "%" else duration(value, unit)


_IRREGULAR = {
    "paid": "pay", "held": "hold", "sent": "send", "lost": "lose", "kept": "keep", "left": "leave", "taken": "take",
    "given": "give", "sold": "sell", "flown": "fly", "withdrawn": "withdraw", "written": "write", "driven": "drive",
    "made": "make", "lent": "lend", "spent": "spend", "broken": "break", "stolen": "steal", "shown": "show",
}  # fmt: skip
_NOT_ASSERTING = frozenset({"not", "be", "been", "become", "becomes", "made", "than"})
"""Words shortly before a value that show that it is not asserted: `can be used`, `not one already used`."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "als", "al", "ers", "er", "ed", "es", "s", "e", "y")


def names_value(sentence: str, value: str) -> bool:
    """Whether a sentence names an enum value, in any form: `cancelled` also as `cancelling`."""
    value_stems, sentence_stems = stems(value), stems(sentence)
    return _contains_run(value_stems, sentence_stems)


def places_of_value(sentence: str, value: str) -> list[tuple[int, int]]:
    """The positions of an enum value's words in a sentence: (start, end) in characters."""
    words = [(match[0], match.start(), match.end()) for match in re.finditer(r"[a-z]+|\d+", sentence.lower())]
    value_stems, word_stems = stems(value), [_stem(word) for word, _, _ in words]
    count = len(value_stems)
    return [
        (words[at][1], words[at + count - 1][2])
        for at in range(len(words) - count + 1)
        if tuple(word_stems[at : at + count]) == value_stems
    ]


def asserts_value(sentence: str, value: str) -> bool:
    """Whether a sentence asserts a value in its exact words, and does not negate it or call it possible."""
    words, value_words = _words(sentence), _words(value)
    for at in range(len(words) - len(value_words) + 1):
        if words[at : at + len(value_words)] == value_words and not _NOT_ASSERTING & set(words[max(0, at - 3) : at]):
            return True
    return False


@cache
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their endings."""
    return tuple(_stem(word) for word in _words(text))


@cache
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+|\d+", text.replace("_", " ").lower()))


def _contains_run(run: Sequence[str], words: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(run)]) == tuple(run) for at in range(len(words) - len(run) + 1))


@cache
def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return re.sub(r"(.)\1$", r"\1", word)
