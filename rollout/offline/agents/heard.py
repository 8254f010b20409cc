"""Whether the user has said a value, in whatever form; and whether they said yes or no."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

from evaluator.checks.communicate import content_words
from evaluator.words.mentions import Mentions, mentions, sentences
from skillweave.schema.record import Json

_DIGITS = re.compile(r"\d")
_FIGURES = re.compile(r"[+(\d][\d\s()./-]{4,}\d")
_WORD = re.compile(r"[^\W_]+")
_SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|exactly|go ahead|please do|do (?:it|that|so)|"
    r"confirm(?:ed)?|fine|perfect|absolutely|certainly|of course|agreed?|sounds good|that works|by all means|"
    r"definitely|indeed|carry on)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\b(?:no(?! (?:problem|preference|rush|hurry|worries|objection))|nope|not|don['’]?t|wrong|incorrect|isn['’]?t|"
    r"hold on|wait|stop|never|rather|instead)\b",
    re.IGNORECASE,
)
_ENOUGH = re.compile(
    r"\b(?:that(?:['’]s| is| will be|['’]ll be)? all|nothing (?:else|more|further)|that(?:['’]s| is) (?:it|everything)|"
    r"no(?:,? thank| more)|i['’]?m (?:all )?(?:set|done)|good ?bye|bye)\b",
    re.IGNORECASE,
)


class Words:
    """All that the user said so far, read once."""

    def __init__(self, said: Sequence[str]) -> None:
        self.text = "\n".join(said)
        self.read: list[Mentions] = [mentions(part) for text in said for part in sentences(text)]
        self._plain = f" {' '.join(_WORD.findall(self.text.casefold()))} "
        self._numbers = [_digits(found) for found in _FIGURES.findall(self.text)]

    @property
    def stems(self) -> frozenset[str]:
        """Stems of the words that carry meaning."""
        return content_words(self.text)

    def hold(self, value: Json, *, cents: bool = False) -> bool:
        """Whether the value was said."""
        if isinstance(value, bool) or value is None:
            return False
        if isinstance(value, int | float):
            return self._hold_number(value, cents=cents)
        text = str(value)
        moment = moment_of(text)
        if moment is not None:
            return self._hold_moment(moment, with_time=len(text) > len("2025-01-24"))
        return self._hold_text(text)

    def _hold_number(self, value: float, *, cents: bool) -> bool:
        if cents:
            return any(value in found.cents for found in self.read)
        if any(value in found.numbers for found in self.read):
            return True
        return value in range(len(_SPELLED)) and f" {_SPELLED[int(value)]} " in self._plain

    def _hold_moment(self, moment: datetime, *, with_time: bool) -> bool:
        day = date(moment.year, moment.month, moment.day)
        if not any(found.is_day(day) for sentence in self.read for found in sentence.days):
            return False
        times = {time for sentence in self.read for time in sentence.times}
        return not with_time or (moment.hour, moment.minute) in times

    def _hold_text(self, text: str) -> bool:
        words = " ".join(_WORD.findall(text.casefold().replace("_", " ")))
        if words and f" {words} " in self._plain:
            return True
        digits = _digits(text)
        return len(digits) >= 6 and any(digits[-6:] == number[-6:] for number in self._numbers)


def _digits(text: str) -> str:
    return "".join(_DIGITS.findall(text))


def moment_of(text: str) -> datetime | None:
    """The date or time that a value is; None if it is none."""
    try:
        return datetime.fromisoformat(text) if text[4:5] == "-" else None
    except ValueError:
        return None


def answer(text: str) -> Literal["yes", "no"] | None:
    """What the user answers to a proposal; None where they say neither."""
    yes, no = _YES.search(text), _NO.search(text)
    if yes is None and no is None:
        return None
    if no is None or (yes is not None and yes.start() < no.start()):
        return "yes"
    return "no"


def is_enough(text: str) -> bool:
    """Whether the user wants nothing further; `that's all done now?` is a question."""
    return _ENOUGH.search(text) is not None and not text.rstrip().endswith("?")
