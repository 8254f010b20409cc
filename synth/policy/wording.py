"""What a sentence says: the quantities in it, and the enum values that it names.

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
    value: Fraction
    unit: Unit


@dataclass(frozen=True)
class StatedQuantity:
    """A quantity in a sentence."""

    readings: tuple[Quantity, ...]
    """What it can mean, the likeliest first."""
    start: int
    end: int
    firm: bool
    """False for words that need not be numbers: `a day`, `once`, `one`, `no`."""
    text: str


MINUTES = {"minute": 1, "hour": 60, "day": 1440, "night": 1440, "week": 10080}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40,
    "sixty": 60, "ninety": 90, "once": 1, "twice": 2, "no": 0, "none": 0, "nothing": 0, "single": 1, "a": 1, "an": 1,
}  # fmt: skip
_WEAK = frozenset({"one", "once", "two", "twice", "no", "none", "nothing", "single", "a", "an", "zero"})
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
    found = [_read(match) for match in _TOKEN.finditer(sentence)]
    kept = [one for one in found if one is not None]
    return list(_shared_units(kept, sentence))


def duration(number: Fraction, unit: str) -> Quantity:
    """2, `hours` -> 120 minutes; 1, `year` -> 12 months."""
    name = unit.lower().removeprefix("calendar ").removeprefix("full ").removeprefix("whole ").removesuffix("s")
    if name in MONTHS:
        return Quantity(number * MONTHS[name], "months")
    return Quantity(number * MINUTES[name], "minutes")


def in_words(quantity: Quantity) -> str:
    """`48 hours`, `15.00`, `25 %`, `3`: how a fault names it."""
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


def _read(match: re.Match[str]) -> StatedQuantity | None:
    readings, firm = _readings(match)
    if not readings:
        return None
    return StatedQuantity(tuple(readings), match.start(), match.end(), firm, match[0])


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
        return _of_word(groups["word"].lower(), groups["word_unit"])
    return _of_digits(groups["number"], groups["unit"]), True


def _of_word(word: str, unit: str | None) -> tuple[list[Quantity], bool]:
    value = Fraction(WORDS[word])
    if word in _ARTICLES and not unit:
        return [], False
    if unit:
        return [duration(value, unit)], word not in _WEAK
    return [Quantity(value, "plain"), Quantity(value * 100, "money")], word not in _WEAK


def _of_digits(number: str, unit: str | None) -> list[Quantity]:
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


def _shared_units(found: list[StatedQuantity], sentence: str) -> Iterator[StatedQuantity]:
    """Give a bare number the unit of the next one where only a list's comma or conjunction stands between."""
    shared: list[StatedQuantity] = []
    after: StatedQuantity | None = None
    unit: str | None = None
    for one in reversed(found):
        bare = one.readings[0].unit == "plain"
        if not (bare and after is not None and _LIST.fullmatch(sentence[one.end : after.start])):
            unit = _unit_of(one)
        readings = (_with_unit(one.readings[0].value, unit), *one.readings) if bare and unit else one.readings
        after = StatedQuantity(readings, one.start, one.end, one.firm, one.text)
        shared.append(after)
    return reversed(shared)


def _unit_of(found: StatedQuantity) -> str | None:
    unit = found.readings[0].unit
    if unit == "share":
        return "%"
    named = re.search(r"[a-z]+$", found.text.lower())
    return named[0] if named and unit in ("minutes", "months") else None


def _with_unit(value: Fraction, unit: str) -> Quantity:
    return Quantity(value / 100, "share") if unit == "%" else duration(value, unit)


_IRREGULAR = {
    "paid": "pay", "held": "hold", "sent": "send", "lost": "lose", "kept": "keep", "left": "leave", "taken": "take",
    "given": "give", "sold": "sell", "flown": "fly", "withdrawn": "withdraw", "written": "write", "driven": "drive",
    "made": "make", "lent": "lend", "spent": "spend", "broken": "break", "stolen": "steal", "shown": "show",
}  # fmt: skip
_ASIDE = frozenset({"not", "be", "been", "become", "becomes", "made", "than"})
"""Words shortly before a value that make it an aside: `can be used`, `not one already used`."""
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "als", "al", "ers", "er", "ed", "es", "s", "e", "y")


def names_value(sentence: str, value: str) -> bool:
    """Whether the sentence names the value: `cancelled` also where it says `cancelling`."""
    wanted, there = stems(value), stems(sentence)
    return _runs(wanted, there)


def places_of_value(sentence: str, value: str) -> list[tuple[int, int]]:
    """Where the value's words stand in a sentence: (start, end) in characters."""
    words = [(match[0], match.start(), match.end()) for match in re.finditer(r"[a-z]+|\d+", sentence.lower())]
    wanted, there = stems(value), [_stem(word) for word, _, _ in words]
    count = len(wanted)
    return [
        (words[at][1], words[at + count - 1][2])
        for at in range(len(words) - count + 1)
        if tuple(there[at : at + count]) == wanted
    ]


def asserts_value(sentence: str, value: str) -> bool:
    """Whether the value's very words stand in the sentence, as what is rather than what is not or is to be done."""
    words, wanted = _words(sentence), _words(value)
    for at in range(len(words) - len(wanted) + 1):
        if words[at : at + len(wanted)] == wanted and not _ASIDE & set(words[max(0, at - 3) : at]):
            return True
    return False


@cache
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their endings."""
    return tuple(_stem(word) for word in _words(text))


@cache
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+|\d+", text.replace("_", " ").lower()))


def _runs(wanted: Sequence[str], there: Sequence[str]) -> bool:
    return any(tuple(there[at : at + len(wanted)]) == tuple(wanted) for at in range(len(there) - len(wanted) + 1))


@cache
def _stem(word: str) -> str:
    word = _IRREGULAR.get(word, word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return re.sub(r"(.)\1$", r"\1", word)
