"""Compares two lists of row changes: what one demands against what happened.

Numbers of `{"$new": n}` are paired by matching rows, so it does not matter how either side numbered. `{"$any": true}`
and `free` columns are not compared; `normalised` ones without case, space and punctuation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from skillweave.schema.call import ANY, NEW, Cells, RowChange
from skillweave.schema.entity import ColumnComparison
from skillweave.schema.record import Json

ComparisonLookup = Callable[[str, str], ColumnComparison]
"""Table and column to how they are compared."""

MAX_TRIES = 20_000
"""Pairs of rows that are tried before the best pairing so far counts."""

_NOISE = re.compile(r"[\W_]+")


class RowChangeDifference(NamedTuple):
    missing: list[RowChange]
    unexpected: list[RowChange]

    @property
    def none(self) -> bool:
        """Whether nothing is missing and nothing unexpected."""
        return not self.missing and not self.unexpected


def compare(
    expected: Sequence[RowChange], actual: Sequence[RowChange], comparison: ComparisonLookup
) -> RowChangeDifference:
    """What `expected` demands and `actual` has not, and the reverse."""
    search = _Search(expected, actual, comparison)
    search.pair(0, {}, {}, {})
    chosen = search.best
    missing = [row for place, row in enumerate(expected) if place not in chosen and not _is_optional(row)]
    taken = set(chosen.values())
    return RowChangeDifference(missing, [row for place, row in enumerate(actual) if place not in taken])


def normalise(text: str) -> str:
    """Text without case, space and punctuation."""
    return _NOISE.sub("", text.casefold())


class _Search:
    """Pairs expected rows with actual ones, keeping one number on one side to one number on the other."""

    def __init__(
        self, expected: Sequence[RowChange], actual: Sequence[RowChange], comparison: ComparisonLookup
    ) -> None:
        self._comparison = comparison
        self._tries = 0
        self.best: dict[int, int] = {}
        self._most = min(len(expected), len(actual))
        self._options = [self._options_of(row, actual) for row in expected]
        self._order = sorted(range(len(expected)), key=lambda place: (len(self._options[place]), place))

    def pair(self, depth: int, chosen: dict[int, int], there: dict[int, int], back: dict[int, int]) -> bool:
        """Pair the rows from `depth` on; True once no pairing can be better."""
        if len(chosen) > len(self.best):
            self.best = dict(chosen)
        if len(self.best) == self._most or self._tries > MAX_TRIES:
            return True
        if len(chosen) + len(self._order) - depth <= len(self.best):
            return False
        place = self._order[depth]
        taken = set(chosen.values())
        for option, pairs in self._options[place].items():
            self._tries += 1
            numbers = _paired(pairs, there, back) if option not in taken else None
            if numbers is not None and self.pair(depth + 1, {**chosen, place: option}, *numbers):
                return True
        return self.pair(depth + 1, chosen, there, back)

    def _options_of(self, row: RowChange, actual: Sequence[RowChange]) -> dict[int, list[tuple[int, int]]]:
        """Places of the actual rows that this can be, each with the numbers that would be paired."""
        found = {
            place: self._numbers_between(row, other)
            for place, other in enumerate(actual)
            if (row.table, row.op) == (other.table, other.op)
        }
        return {place: numbers for place, numbers in found.items() if numbers is not None}

    def _numbers_between(self, expected: RowChange, actual: RowChange) -> list[tuple[int, int]] | None:
        """Pairs of numbers that two rows of one table and operation ask for; None where they cannot be the same."""
        found: list[tuple[int, int]] = []
        parts = ((expected.key, actual.key), (expected.before, actual.before), (expected.after, actual.after))
        for one, other in parts:
            numbers = self._numbers_in(expected, one or {}, other or {})
            if numbers is None or (one is None) != (other is None):
                return None
            found.extend(numbers)
        return found

    def _numbers_in(self, row: RowChange, one: Cells, other: Cells) -> list[tuple[int, int]] | None:
        """The same of one part of the rows: key, before or after."""
        found: list[tuple[int, int]] = []
        for name in one.keys() | other.keys():
            if name in one and name in other and _is_plainly_same(one[name], other[name]):
                continue
            how = self._comparison(row.table, name)
            if how == "free" or _is_any(one.get(name)) or _is_any((row.after or {}).get(name)):
                continue
            if name not in one or name not in other:
                return None
            numbers = _numbers_of(one[name], other[name], how)
            if numbers is None:
                return None
            found.extend(numbers)
        return found


def _numbers_of(one: Json, other: Json, how: ColumnComparison) -> list[tuple[int, int]] | None:
    if isinstance(one, dict) and isinstance(other, dict) and NEW in one and NEW in other:
        return _new_numbers(one, other)
    if how == "normalised" and isinstance(one, str) and isinstance(other, str):
        return [] if normalise(one) == normalise(other) else None
    return [] if _is_same(one, other) else None


def _is_plainly_same(one: Json, other: Json) -> bool:
    """Equal however they are compared, and no number to be paired."""
    return type(one) is type(other) and one == other and not isinstance(one, dict)


def _is_same(one: Json, other: Json) -> bool:
    """Equal, where 5 is 5.0 and 1 is not true."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


_INNER = re.compile(r"\{(\d+)\}")


def _new_numbers(one: Mapping[str, Json], other: Mapping[str, Json]) -> list[tuple[int, int]] | None:
    texts = [str(one.get("text", "")), str(other.get("text", ""))]
    if _INNER.sub("{}", texts[0]) != _INNER.sub("{}", texts[1]):
        return None
    pairs = [(one[NEW], other[NEW]), *zip(*(map(int, _INNER.findall(text)) for text in texts), strict=True)]
    return [(left, right) for left, right in pairs if isinstance(left, int) and isinstance(right, int)]


def _paired(
    pairs: list[tuple[int, int]], there: dict[int, int], back: dict[int, int]
) -> tuple[dict[int, int], dict[int, int]] | None:
    if not pairs:
        return there, back
    there, back = dict(there), dict(back)
    for left, right in pairs:
        if there.setdefault(left, right) != right or back.setdefault(right, left) != left:
            return None
    return there, back


def _is_any(cell: Json) -> bool:
    return isinstance(cell, dict) and ANY in cell


def _is_optional(row: RowChange) -> bool:
    """An update all of whose values are not compared need not happen."""
    return row.op == "update" and bool(row.after) and all(map(_is_any, (row.after or {}).values()))
