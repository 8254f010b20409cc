"""Telling a row apart: the fewest things that people say of a row which fit no other row of the list before them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from random import Random

from skillweave.schema.record import Json

MOST = 3
"""Columns that a person names at most, beside those that they always name and one that they add for clearness."""


def apart(
    rows: Sequence[Mapping[str, Json]], index: int, columns: Sequence[str], random: Random, always: Sequence[str] = ()
) -> dict[str, Json] | None:
    """Columns of `rows[index]`, with their values, that no other row shares; None where there are none.

    Often people say a little more than they must: half of the time one more column is added.
    """
    row = rows[index]
    usable = [*sayable(row, columns)]
    base = [column for column in usable if column in always]
    others = [column for column in usable if column not in base]
    for size in range(0 if base else 1, min(MOST, len(others)) + 1):
        for more in combinations(others, size):
            chosen = {*base, *more}
            if sum(agrees(other, {column: row[column] for column in chosen}) for other in rows) == 1:
                extra = [column for column in others if column not in chosen][:1] if random.random() < 0.5 else []
                return {column: row[column] for column in usable if column in {*chosen, *extra}}
    return None


def sayable(row: Mapping[str, Json], columns: Iterable[str]) -> dict[str, Json]:
    """Those of the columns, with their values, that can be said of a row."""
    found = {column: row.get(column) for column in columns}
    return {column: value for column, value in found.items() if value is not None and not isinstance(value, bool)}


def agrees(row: Mapping[str, Json], words: Mapping[str, Json]) -> bool:
    """Whether the words fit a row."""
    return all(row.get(column) == value for column, value in words.items())
