"""Row changes: how two states of a world differ, row by row."""

from typing import Literal

from skillweave.schema.record import Json, Record

NEW = "$new"
"""`{"$new": 3}`: the third id that the run minted, or a value derived from it."""
ANY = "$any"
"""`{"$any": true}`: a value that is not compared in this task."""

Cells = dict[str, Json]
"""Column to value; a value is a scalar, `{"$new": n}` or `{"$any": true}`."""


Op = Literal["insert", "update", "delete"]


class RowChange(Record):
    """Insert and delete give the whole row, update gives the changed columns before and after."""

    table: str
    """The table's name in SQL."""
    op: Op
    """What happened to the row."""
    key: Cells
    """The key column with its value."""
    before: Cells | None = None
    """None for an insert."""
    after: Cells | None = None
    """None for a delete."""
