"""Telling a row apart: the fewest things that people say of a row which fit no other row of the list before them."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from skillweave.schema.record import Json

MOST = 3
"""Columns that a person names at most."""


def apart(rows: Sequence[Mapping[str, Json]], index: int, columns: Sequence[str]) -> dict[str, Json] | None:
    """Columns of `rows[index]`, with their values, that no other row shares; None where there are none."""
    row = rows[index]
    usable = [column for column in columns if row.get(column) is not None and not isinstance(row[column], bool)]
    for size in range(1, min(MOST, len(usable)) + 1):
        for chosen in combinations(usable, size):
            if sum(all(other.get(column) == row[column] for column in chosen) for other in rows) == 1:
                return {column: row[column] for column in chosen}
    return None
