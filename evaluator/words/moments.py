"""Days and times in words, with the place where they stand.

A date in figures is read where only one reading is possible: 24/01/2025 is, 03/04/2025 is a day to some and a month to
others. A year or a weekday may be left out; one that is given has to be right.
"""

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = tuple(name[:3] for name in _MONTH_NAMES.split())
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTH_NAMES.split()).replace(
    "sep(?:tember)?", "sept?(?:ember)?"
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = "mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HOUR = "|".join([*_HOURS, r"1[0-2]|0?[1-9]"])
_PAST = {"half past": 30, "quarter past": 15, "quarter to": -15}
_NTH = "(?:st|nd|rd|th)?"
_YEAR = r"(?:,? (?P<year{}>\d{{4}})(?!\d))?"
_HALF = r"(?P<half{}>\s?[ap]\.?m\b\.?|\s(?:in the (?:morning|afternoon|evening)|at night|tonight)\b)"
_OCLOCK = r" o'?clock\b"
MOMENT_IN_FIGURES = (
    r"(?<!\d)(?P<iso>\d{4}[-/]\d\d[-/]\d\d)(?!\d)"
    r"|(?<![\d/.])(?P<numeric>\d{1,2}[/.]\d{1,2}[/.]\d{4})(?!\d)"
    rf"|(?<![\w.,:])(?P<day1>\d{{1,2}}){_NTH}(?: day)?(?: of)?[ -](?P<month1>{_MONTH})\b\.?{_YEAR.format(1)}"
    r"|(?<=\d)\+\d\d:\d\d(?!\d)"
    rf"|(?<![\d.:,])(?P<clock>\d{{1,2}}:\d\d)(?::\d\d(?:\.\d{{1,9}})?)?(?![\d:])(?:{_HALF.format(1)})?"
    rf"|(?<![\d.:,$€£])(?P<hour>\d{{1,2}}(?:\.\d\d)?)(?:{_HALF.format(2)})"
    rf"|(?<![\d.:,])(?P<oclock>1[0-2]|0?[1-9]){_OCLOCK}(?:{_HALF.format(3)})?"
)
"""Of texts in small letters; all begin with a digit or a plus."""
MOMENT_IN_WORDS = (
    rf"(?P<month2>{_MONTH})\b\.? (?:the )?(?P<day2>\d{{1,2}}){_NTH}(?![\d:]|\.\d){_YEAR.format(2)}"
    rf"|(?P<spoken>(?:half past|quarter past|quarter to) (?:{_HOUR})\b|(?:{'|'.join(_HOURS)}){_OCLOCK})"
    rf"(?:{_HALF.format(4)})?"
)
"""The same; all begin a word."""
_MOMENT = re.compile(
    rf"(?=[\d+])(?:{MOMENT_IN_FIGURES})|(?=[a-z])\b(?:{MOMENT_IN_WORDS}"
    r"|(?P<named>noon|midday|midnight)\b"
    r"|(?P<relative>today|tomorrow|yesterday|(?:the )?day after tomorrow)\b"
    r"|(?:at|from|until|till|by|to)\s(?P<dotted>\d{1,2}\.\d\d)(?!\d|\.\d|\s?(?:[%€£$]|eur\b|usd\b)))"
)
_BEFORE = re.compile(rf"\b({_WEEKDAY})\b[.,]?(?: the)? *$")
_AFTER = re.compile(rf",? ?\(({_WEEKDAY})\)")
_RELATIVE = {"yesterday": -1, "today": 0, "tomorrow": 1}


class Day(NamedTuple):
    """A day as it stands in a text."""

    month: int
    day: int
    year: int | None = None
    weekday: int | None = None

    def is_day(self, other: date) -> bool:
        """Whether it can be that day."""
        weekday = other.weekday() if self.weekday is None else self.weekday
        said = (self.month, self.day, self.year or other.year, weekday)
        return said == (other.month, other.day, other.year, other.weekday())


class Moment(NamedTuple):
    """A day, or times of one, as they stand in a text."""

    start: int
    end: int
    day: Day | None
    times: tuple[tuple[int, int], ...]
    """Hour and minute; of `half past two` both of a day."""
    inner: int = 0
    """Where the later of its day and time stands."""


def moments(text: str, today: date | None = None) -> list[Moment]:
    """The days and times of a text, in order. Without `today`, `tomorrow` is no day that could be known."""
    found = []
    text = text.lower()
    for match in _MOMENT.finditer(text):
        day, times = _day(match, text, today), _times(match)
        if day or times:
            found.append(Moment(*match.span(), day, tuple(times), match.start()))
    return found


def _day(match: re.Match[str], text: str, today: date | None) -> Day | None:
    day: Day | None = None
    if match["iso"]:
        year, month, number = map(int, re.split("[-/]", match["iso"]))
        day = Day(month, number, year)
    elif match["numeric"]:
        day = _of_figures(*map(int, re.split("[/.]", match["numeric"])))
    elif match["day1"] or match["day2"]:
        name, year_said = match["month1"] or match["month2"], match["year1"] or match["year2"]
        month = 1 + MONTHS.index(name[:3])
        day = Day(month, int(match["day1"] or match["day2"]), int(year_said) if year_said else None)
    elif match["relative"] and today is not None:
        there = today + timedelta(days=_RELATIVE.get(match["relative"], 2))
        day = Day(there.month, there.day, there.year)
    weekday = _BEFORE.search(text, max(0, match.start() - 16), match.start()) or _AFTER.match(text, match.end())
    return day._replace(weekday=_WEEKDAYS.index(weekday[1][:3])) if day and weekday else day


def _of_figures(first: int, second: int, year: int) -> Day | None:
    if first == second or second > 12:
        return Day(first, second, year)
    return Day(second, first, year) if first > 12 else None


def _times(match: re.Match[str]) -> list[tuple[int, int]]:
    if match["named"]:
        return [(0, 0) if match["named"] == "midnight" else (12, 0)]
    half = (match["half1"] or match["half2"] or match["half3"] or match["half4"] or "").strip()
    figures = match["clock"] or match["hour"] or match["dotted"]
    if figures:
        hour, _, minute = figures.replace(".", ":").partition(":")
        return _in_half(int(hour), int(minute or 0), half, is_exact=True)
    if match["oclock"]:
        return _in_half(int(match["oclock"]), 0, half, is_exact=False)
    if not match["spoken"]:
        return []
    words = match["spoken"].replace(" o'clock", "").replace(" oclock", "").split()
    hour_said = _HOURS.index(words[-1]) + 1 if words[-1] in _HOURS else int(words[-1])
    minutes = hour_said * 60 + _PAST.get(" ".join(words[:-1]), 0)
    return _in_half(minutes // 60 or 12, minutes % 60, half, is_exact=False)


def _in_half(hour: int, minute: int, half: str, *, is_exact: bool) -> list[tuple[int, int]]:
    if hour > 23 or minute > 59:
        return []
    if not half or hour > 12:
        return [(hour, minute)] if is_exact else sorted({(hour % 12, minute), (hour % 12 + 12, minute)})
    is_late = not half.startswith("a") and "morning" not in half
    if half.startswith("at night"):
        is_late = hour not in (12, 1, 2, 3, 4)
    return [(hour % 12 + (12 if is_late else 0), minute)]


def moment_of(text: str) -> datetime | None:
    """The day or time that a value is; None if it is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
