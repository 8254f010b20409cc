"""Bounds: the comparisons that a clause makes, each a comparator with a quantity."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth.policy.quantity import Found, Quantity, quantities

Compare = Callable[[Fraction, Fraction], bool]

_BEFORE: tuple[tuple[str, Compare], ...] = (
    (r"not at least", operator.lt),
    (r"not at most", operator.gt),
    (r"not less than|no less than|no fewer than|at least|not under|from", operator.ge),
    (
        r"not more than|no more than|at most|within(?: the (?:last|next))?|(?:in|during) the last|no later than",
        operator.le,
    ),
    (r"less than|fewer than|below|under|before the age of|younger than", operator.lt),
    (r"more than|over|above|older than|exceeds?|exceeding", operator.gt),
)
_UNTIL = r"until|up to|till"
_PAST = re.compile(r"\b(?:ago|last|old|age|after|since|of (?:what|being|the|its)|run for|held .* for)\b")
_AHEAD = re.compile(r"\b(?:before|ahead|away|left|from now|from today|later|to go|in advance|due in)\b")


@dataclass(frozen=True)
class Bound:
    compare: Compare
    found: Found
    past: bool
    """Whether the clause counts back from now."""
    aged: bool = False
    """Whether the clause speaks of an age, or of how long something has been held."""
    counts_itself: bool = False
    """Whether what is asked for counts itself: `at most 3, the new one included`."""

    def quantity(self, like: Quantity, noun: str = "") -> Quantity | None:
        """Its quantity in the unit of another; None if it has none such. `noun` may say that a number counts days."""
        readings = [reading for reading in self.found.readings if reading.unit == like.unit]
        if readings:
            return readings[0]
        counted = re.fullmatch(r"(\d+)[ -](\w+?)s?", self.found.text)
        if like.unit == "plain" and counted and counted[2] in _spans(noun):
            return Quantity(Fraction(counted[1]), "plain")
        return None if like.value or not _is_time(like) else next(filter(_is_time, self.found.readings), None)


_NOW: tuple[tuple[str, Compare], ...] = (
    (r"not past\b|for today or a later day", operator.ge),
    (r"(?:before|earlier than) today|in the past|after the (?:day|time) (?:on|by) which", operator.lt),
    (r"by today", operator.le),
    (r"later than today|in the future|has not (?:left|begun|started)|not begun yet|before (?:it|its \w+) "
     r"(?:opens|starts|leaves|begins)", operator.gt),
    (r"already (?:left|begun|started)|has (?:left|begun|started)", operator.le),
)  # fmt: skip


def against_now(clause: str) -> Compare | None:
    """How a clause compares a time with the present, where it names no span: `must lie in the future`."""
    for pattern, compare in _NOW:
        if re.search(rf"\b(?:{pattern})", clause, re.IGNORECASE):
            return compare
    return None


def bounds_of(clause: str) -> list[Bound]:
    """The bounds of a clause, in order."""
    found = [one for one in quantities(clause) if one.firm or one.text.lower() in ("two", "twice")]
    bounds = []
    inherited: Compare | None = None
    for number, one in enumerate(found):
        start = found[number - 1].end if number else 0
        end = found[number + 1].start if number + 1 < len(found) else len(clause)
        before, after = clause[start : one.start].lower(), clause[one.end : end].lower()
        compare = _compare(before, after) or (inherited if _continues(before) else None)
        if compare is not None:
            inherited = compare
            past = bool(_PAST.search(before[-25:] + " " + after[:25])) and not _AHEAD.search(after[:14])
            counts_itself = "new one included" in clause or (compare is operator.le and after.startswith(" time"))
            aged = re.search(r"\b(?:old|age|held)\b", clause) is not None
            bounds.append(Bound(compare, one, past, aged, counts_itself))
    return bounds


def _compare(before: str, after: str) -> Compare | None:
    near = before[-40:]
    if re.match(r"\s*(?:or|and) (?:more|over|older|later)", after):
        return operator.ge
    if re.match(r"\s*or (?:less|fewer|younger)", after):
        return operator.le
    best: tuple[int, Compare] | None = None
    for pattern, compare in _BEFORE:
        for match in re.finditer(rf"\b(?:{pattern})\b", near):
            if best is None or match.end() > best[0]:
                best = (match.end(), compare)
    for match in re.finditer(rf"\b(?:{_UNTIL})\b", near):
        if best is None or match.end() > best[0]:
            best = (match.end(), operator.ge if re.match(r"\s*before\b", after) else operator.le)
    return best[1] if best and len(near) - best[0] <= 8 else None


def _continues(before: str) -> bool:
    """Whether a number goes on with the comparator of the one before: `less than 3 for classic, 4 for silver`."""
    return re.search(r"(?:,|\bor|\band)\s*(?:for |in |on )?(?:the )?(?:\w+ ){0,2}$", before) is not None


def chosen(
    bounds: Sequence[Bound], like: Quantity, noun: str, spot: int | None, numbers_first: bool
) -> list[Bound] | None:
    """The bounds that speak of a quantity; where several do, those beside `spot`. None where that is not clear."""
    fitting = [bound for bound in bounds if bound.quantity(like, noun) is not None]
    if len(fitting) <= 1 or len({(bound.compare, bound.quantity(like)) for bound in fitting}) == 1:
        return fitting
    if spot is not None:
        sided = [bound for bound in fitting if (bound.found.start < spot) is numbers_first]
        ordered = sorted(sided, key=lambda bound: abs(bound.found.start - spot))
        return ordered[:1] or None
    if {bound.compare for bound in fitting} == {operator.ge, operator.le} and len(fitting) == 2:
        return fitting
    return None


def _spans(noun: str) -> set[str]:
    words = {word.removesuffix("s") for word in re.findall(r"[a-z]+", noun)}
    return words | ({"year"} if "age" in words else set()) | ({"day"} if "night" in words else set())


def _is_time(quantity: Quantity) -> bool:
    return quantity.unit in ("minutes", "months")
