"""Compares two lists of row changes: the expected ones with those that happened.

Matching rows pair the numbers of `{"$new": n}`, so the two sides may number differently. `{"$any": true}` and
`free` columns are not compared; `normalised` columns are compared without case, space and punctuation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from skillweave.schema.contract import ANY, NEW, Cells, RowChange
from skillweave.schema.entity import ColumnComparison
from skillweave.schema.record import Json

ComparisonLookup = Callable[[str, str], ColumnComparison]
"""From table and column to the way to compare the column."""

MAX_TRIES = 20_000
"""Most pairs of rows to try; after these the best pairing so far counts."""

_IGNORED = re.compile(r"[\W_]+")


class RowChangeDifference(NamedTuple):
    """How two lists of row changes differ."""

    missing: list[RowChange]
    """Expected changes that did not happen."""
    unexpected: list[RowChange]
    """Changes that happened but are not expected."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is missing and nothing is unexpected."""
        return not self.missing and not self.unexpected


def compare(
    expected: Sequence[RowChange], actual: Sequence[RowChange], comparison: ComparisonLookup
) -> RowChangeDifference:
    """Pair as many expected changes with actual ones as possible.

    Args:
        expected: Changes that should have happened, in canonical form.
        actual: Changes that happened, in canonical form.
        comparison: How columns are compared.

    Returns:
        The unpaired changes of either side. An update whose values are all `{"$any": true}` need not happen.
    """
    if len(expected) == len(actual) and all(map(_is_identical, expected, actual)):
        return RowChangeDifference([], [])  # Each row pairs with the same row, and each number with itself.
    search = _Search(expected, actual, comparison)
    search.pair(0, {}, {}, {})
    chosen = search.best
    missing = [row for place, row in enumerate(expected) if place not in chosen and not _is_optional(row)]
    taken = set(chosen.values())
    return RowChangeDifference(missing, [row for place, row in enumerate(actual) if place not in taken])


def _is_identical(left: RowChange, right: RowChange) -> bool:
    """Whether two changes are the same to the types of their cells and the order of their columns."""
    if left is right:
        return True
    parts = ((left.key, right.key), (left.before, right.before), (left.after, right.after))
    return left.table == right.table and left.op == right.op and all(starmap(_are_identical, parts))


def _are_identical(left: Cells | None, right: Cells | None) -> bool:
    if not left or not right:
        return left == right
    are_equal = left == right and [*left] == [*right]
    return are_equal and [*map(type, left.values())] == [*map(type, right.values())]


def normalise(text: str) -> str:
    """Text without case, space and punctuation."""
    return _IGNORED.sub("", text.casefold())


class _Search:
    """Pairs expected rows with actual ones, so that each number on one side stands for one number on the other."""

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
        """Pair the rows from `depth` on, by backtracking.

        Args:
            depth: How many expected rows are decided.
            chosen: Place of an expected row -> place of the actual row that it is paired with.
            there: Number on the expected side -> number on the actual side.
            back: The reverse.

        Returns:
            True if no pairing can be better.
        """
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
        """Places of the actual rows that match this one, each with the numbers to pair."""
        pairs = {
            place: self._numbers_between(row, other)
            for place, other in enumerate(actual)
            if (row.table, row.op) == (other.table, other.op)
        }
        return {place: numbers for place, numbers in pairs.items() if numbers is not None}

    def _numbers_between(self, expected: RowChange, actual: RowChange) -> list[tuple[int, int]] | None:
        """Numbers to pair so that two rows of one table and operation are the same; None if they cannot be."""
        pairs: list[tuple[int, int]] = []
        parts = ((expected.key, actual.key), (expected.before, actual.before), (expected.after, actual.after))
        for left, right in parts:
            numbers = self._numbers_in(expected, left or {}, right or {})
            if numbers is None or (left is None) != (right is None):
                return None
            pairs.extend(numbers)
        return pairs

    def _numbers_in(self, row: RowChange, left: Cells, right: Cells) -> list[tuple[int, int]] | None:
        """The same for one part of the rows: key, before or after."""
        pairs: list[tuple[int, int]] = []
        for name in left.keys() | right.keys():
            if name in left and name in right and _is_plainly_same(left[name], right[name]):
                continue
            how = self._comparison(row.table, name)
            if how == "free" or _is_any(left.get(name)) or _is_any((row.after or {}).get(name)):
                continue
            if name not in left or name not in right:
                return None
            numbers = _numbers_of(left[name], right[name], how)
            if numbers is None:
                return None
            pairs.extend(numbers)
        return pairs


def _numbers_of(left: Json, right: Json, how: ColumnComparison) -> list[tuple[int, int]] | None:
    """Numbers to pair so that two cells are the same; None if they cannot be."""
    if isinstance(left, dict) and isinstance(right, dict) and NEW in left and NEW in right:
        return _new_numbers(left, right)
    if how == "normalised" and isinstance(left, str) and isinstance(right, str):
        return [] if normalise(left) == normalise(right) else None
    return [] if _is_same(left, right) else None


def _is_plainly_same(left: Json, right: Json) -> bool:
    """Whether two cells are equal in any comparison and contain no number to pair."""
    return type(left) is type(right) and left == right and not isinstance(left, dict)


def _is_same(left: Json, right: Json) -> bool:
    """Whether two cells are equal: 5 equals 5.0, and 1 does not equal true."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


_INNER = re.compile(r"\{(\d+)\}")


def _new_numbers(left: Mapping[str, Json], right: Mapping[str, Json]) -> list[tuple[int, int]] | None:
    texts = [str(left.get("text", "")), str(right.get("text", ""))]
    if _INNER.sub("{}", texts[0]) != _INNER.sub("{}", texts[1]):
        return None
    pairs = [(left[NEW], right[NEW]), *zip(*(map(int, _INNER.findall(text)) for text in texts), strict=True)]
    return [(first, second) for first, second in pairs if isinstance(first, int) and isinstance(second, int)]


def _paired(
    pairs: list[tuple[int, int]], there: dict[int, int], back: dict[int, int]
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Both directions of the pairing with these pairs added; None if a pair contradicts the pairing."""
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
    """Whether a change need not happen, because it is an update without a compared value."""
    return row.op == "update" and bool(row.after) and all(map(_is_any, (row.after or {}).values()))
