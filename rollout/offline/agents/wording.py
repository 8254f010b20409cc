"""Values, parameters and tools in plain words, as agents say them.

Nothing of it needs a script: it follows from values, schemas and names.
"""

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from random import Random

from skillweave.schema.record import Json

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
_ENUM = re.compile(r"[a-z]+(_[a-z0-9]+)*")
_MONEY = re.compile(r"_cents$")
_TAILS = re.compile(r"_(?:id|cents|on|at)$")
_PARTICLES = frozenset(["in", "out", "up", "off", "back"])
_PREPOSITIONS = frozenset(["to", "for", "from", "of", "on", "with", "by"])
_IRREGULAR = {
    "pay": "paid", "put": "put", "take": "taken", "buy": "bought", "leave": "left", "withdraw": "withdrawn",
    "set": "set", "submit": "submitted", "get": "got", "make": "made", "give": "given", "send": "sent", "let": "let",
    "stop": "stopped", "drop": "dropped", "swap": "swapped", "plan": "planned", "find": "found", "begin": "begun",
    "hold": "held", "lend": "lent", "tell": "told", "transfer": "transferred", "refer": "referred",
    "write": "written", "bring": "brought", "keep": "kept", "choose": "chosen", "split": "split", "cut": "cut",
}  # fmt: skip


def spoken(value: Json, name: str, *, year: int | None, random: Random) -> str:
    """A value of the column or parameter `name` in words. `year` may be left out of dates."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value / 100:,.2f}" if _MONEY.search(name) else str(value)
    if not isinstance(value, str):
        return "nothing" if value is None else str(value)
    if _MOMENT.fullmatch(value):
        moment = datetime.fromisoformat(value)
        return f"{_day(moment, year, random)} at {moment:%H:%M}"
    if _DATE.fullmatch(value):
        return _day(datetime.fromisoformat(value), year, random)
    return value.replace("_", " ") if _ENUM.fullmatch(value) else value


def _day(moment: datetime, year: int | None, random: Random) -> str:
    month = f"{moment:%B}"
    shown = "" if moment.year == year else f" {moment.year}"
    if random.random() < 0.7:
        return f"{moment.day} {month}{shown}"
    return f"{month} {moment.day}{',' if shown else ''}{shown}"


def label(name: str) -> str:
    """A parameter's or column's name in words: `new_due_on` is `new due date`."""
    if name.endswith("_on"):
        return f"{name[:-3].replace('_', ' ')} date" if name != "latest_on" else "latest day"
    if name.endswith("_at"):
        return f"{name[:-3].replace('_', ' ')} time"
    return _TAILS.sub("", name).replace("_", " ")


class ToolWords:
    """What a tool does, by its name: `cancel_booking` is `cancel`, `booking`."""

    def __init__(self, tool: str, parameters: Collection[str] = ()) -> None:
        words = tool.split("_")
        at = 2 if len(words) > 2 and words[1] in _PARTICLES else 1
        self.verb = " ".join(words[:at])
        self.noun = " ".join(words[at:])
        key = f"{'_'.join(words[at:])}_id"
        self.is_theirs = key in parameters or any(name.endswith(key) for name in parameters)

    @property
    def object(self) -> str:
        """`your booking`, `the home visit`, `to generic`."""
        if not self.noun:
            return "it"
        if self.noun.split()[0] in _PREPOSITIONS:
            return self.noun
        return f"{'your' if self.is_theirs else 'the'} {self.noun}"

    @property
    def doing(self) -> str:
        """`cancel your booking`."""
        return f"{self.verb} {self.object}"

    @property
    def done(self) -> str:
        """`cancelled your booking`."""
        first, *rest = self.verb.split()
        return " ".join([participle(first), *rest, self.object])

    @property
    def passive(self) -> str:
        """`Your booking has been cancelled`."""
        if not self.noun or self.noun.split()[0] in _PREPOSITIONS:
            return f"I have {self.done}"
        first, *rest = self.verb.split()
        verb = "have" if self.noun.endswith("s") and not self.noun.endswith("ss") else "has"
        subject = self.object[0].upper() + self.object[1:]
        return f"{subject} {verb} been {' '.join([participle(first), *rest])}"


def participle(verb: str) -> str:
    """`cancel` is `cancelled`."""
    if verb.startswith("re") and verb[2:] in _IRREGULAR:
        return f"re{_IRREGULAR[verb[2:]]}"
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}led" if verb.endswith("cel") else f"{verb}ed"


def hint(column: str) -> str:
    """What people call a column when they describe a row: `starts_at` is the date."""
    if column.endswith(("_at", "_on")) or "date" in column or column.startswith("check_"):
        return "the date"
    return f"the {label(column.removesuffix('_name'))}"


def listed(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def sentence(text: str) -> str:
    """With a capital at its head and a stop at its end."""
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".?!" else ".")
