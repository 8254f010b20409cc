"""What tools write: tables and columns of their effects, as SQLite prepares them, whatever a call's arguments are."""

from collections.abc import Sequence
from functools import lru_cache

from skillweave.schema.change import RowChange
from skillweave.schema.contract import Tool
from skillweave.world.access import Accesses
from skillweave.world.world import World

ROW = "*"
"""Stands for the row as such: it is inserted or deleted."""
KEPT = 8
"""Worlds whose statements are remembered."""


def written(world: World, tool: Tool) -> dict[str, list[str]]:
    """Table -> columns that an effect of the tool may write, sorted; `*` where it makes or removes rows."""
    accesses = _accesses(world)
    found: dict[str, set[str]] = {}
    for effect in tool.effects:
        access = accesses.of(effect.sql)
        for table in access.inserts | access.deletes:
            found.setdefault(table, set()).add(ROW)
        for table, columns in access.updates.items():
            found.setdefault(table, set()).update(columns)
    return {table: sorted(columns) for table, columns in sorted(found.items())}


def places_written(world: World, tool: Tool) -> set[tuple[str, str]]:
    """The same as pairs of table and column."""
    return {(table, column) for table, columns in written(world, tool).items() for column in columns}


def changed_in(changes: Sequence[RowChange]) -> set[tuple[str, str]]:
    """Tables and columns of row changes; `*` for a row that is made or removed."""
    return {
        (change.table, column)
        for change in changes
        for column in (change.after or {} if change.op == "update" else [ROW])
    }


@lru_cache(maxsize=KEPT)
def _accesses(world: World) -> Accesses:
    return Accesses(world.blueprint)
