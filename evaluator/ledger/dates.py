"""Days in a text: in figures, in words, as ranges. Figures that two countries read differently have both readings."""

import re
from collections.abc import Iterator
from datetime import date

_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS).replace("sep(?:tember)?", "sept?(?:ember)?")
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_YEAR = r"(?:,? (?P<year>\d{4}|'?\d\d)(?![\w:.,]\d|\w|%))?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"

_IN_FIGURES = [
    re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d|-)"),
    re.compile(r"(?<![\w./-])(?P<one>\d{1,2})(?P<mark>[/.-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d\d)(?![\w/-])"),
    re.compile(r"(?<![\w./-])(?!24/7|50/50|10/10)(?P<one>\d{1,2})/(?P<two>\d{1,2})(?![\w/]|[.-]\d)"),
]
_BY_NAME = [
    re.compile(rf"(?<![\w.:]){_DAY}(?: of)?(?: |-)?(?P<name>{MONTH})\b\.?{_YEAR}", re.I),
    re.compile(rf"\b(?P<name>{MONTH})\.?,? (?:the )?{_DAY}(?![\w:]|[.,]\d){_YEAR}", re.I),
]
_SHORT_MONTHS = [month[:3] for month in _MONTHS]
_JOINED = re.compile(r"\d[/.-]\d")
_BEFORE = re.compile(
    rf"(?<![\w.:]){_DAY}(?= ?(?:-|to|until|till|and|or|through) ?(?:the )?(?:{'|'.join(WEEKDAYS)})?,? ?(?:the )?"
    rf"[0-3]?\d(?:st|nd|rd|th)?(?: of)? (?P<name>{MONTH})\b)",
    re.I,
)
_AFTER = re.compile(
    rf"\b(?P<name>{MONTH})\.? (?:the )?[0-3]?\d(?:st|nd|rd|th)? ?(?:-|to|until|till|and|or|through) ?(?:the )?"
    r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?![:.]\d| ?[ap]m)",
    re.I,
)


class Day:
    """A day as it was said; what was left out fits everything."""

    __slots__ = ("day", "month", "year")

    def __init__(self, day: int, month: int | None = None, year: int | None = None) -> None:
        self.day, self.month, self.year = day, month, year

    def fits(self, other: "Day") -> bool:
        """Whether both can be the same day."""
        return self.day == other.day and _same(self.month, other.month) and _same(self.year, other.year)

    def on(self, year: int) -> date | None:
        """The date; in that year, where none was said."""
        if self.month is None:
            return None
        try:
            return date(self.year or year, self.month, self.day)
        except ValueError:
            return None


def days_in(text: str) -> Iterator[tuple[int, int, tuple[Day, ...]]]:
    """Start, end and readings of each day with a month; they may overlap, the first is the one to take."""
    lowered = text.lower()
    is_named = any(month in lowered for month in _SHORT_MONTHS)
    patterns = [*(_IN_FIGURES if _JOINED.search(text) else ()), *((*_BY_NAME, _BEFORE) if is_named else ())]
    for pattern in patterns:
        for match in pattern.finditer(text):
            days = _readings(match.groupdict())
            if days:
                yield match.start(), match.end(), days
    for match in _AFTER.finditer(text) if is_named else ():
        days = _readings(match.groupdict())
        if days:
            yield match.start("day"), match.end(), days


def _readings(groups: dict[str, str | None]) -> tuple[Day, ...]:
    year = groups.get("year")
    if groups.get("one"):
        one, two = int(groups["one"] or 0), int(groups["two"] or 0)
        pairs = [(one, two), (two, one)] if one != two else [(one, two)]
    elif groups.get("name"):
        pairs = [(int(groups["day"] or 0), _month(groups["name"] or ""))]
    else:
        pairs = [(int(groups["day"] or 0), int(groups["month"] or 0))]
    return tuple(Day(day, month, full) for day, month in pairs if _is_day(day, month) for full in _years(year))


def _years(year: str | None) -> list[int | None]:
    if year is None:
        return [None]
    figures = year.lstrip("'")
    return [int(figures)] if len(figures) == 4 else [1900 + int(figures), 2000 + int(figures)]


def _month(name: str) -> int:
    return 1 + _SHORT_MONTHS.index(name[:3].lower())


def _is_day(day: int, month: int) -> bool:
    try:
        date(2024, month, day)
    except ValueError:
        return False
    return True


def _same(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other
