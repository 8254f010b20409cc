"""Row changes: read them from a session, apply them to a database, and subtract them from each other.

Triggers tell the touched rows. The difference compares them with the same rows at the start.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Cells, Op, RowChange
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row, Value
from skillweave.world import database
from skillweave.world.sql import LOG_FUNCTION

_ORDER = {"delete": 0, "update": 1, "insert": 2}
"""Deletions come first, because other rows may take their unique values."""


Place = tuple[str, str]
"""Table and key of a row."""

TouchedRow = tuple[Any, ...]
"""Table, key and cells of a row after a change; table and key alone if it is gone."""


def log_touched(connection: sqlite3.Connection, blueprint: Blueprint) -> list[TouchedRow]:
    """Create triggers that log the row of each insert, update and delete.

    Returns:
        The log, which grows with each change; of a row touched several times the last entry counts. A row may stand in
        it that is as it was. Who undoes changes may shorten it.
    """
    log: list[TouchedRow] = []
    connection.create_function(LOG_FUNCTION, -1, lambda *row: log.append(row))
    for entity in blueprint.tables:
        key, cells = entity.key, ", ".join(f"NEW.{attribute.name}" for attribute in entity.attributes)
        there, gone = f"NEW.{key}, {cells}", f"OLD.{key}"
        moved = f"UPDATE OF {key} ON main.{entity.table} WHEN OLD.{key} IS NOT NEW.{key}"
        events = [(f"{event} ON main.{entity.table}", there) for event in ("INSERT", "UPDATE")]
        for number, (event, row) in enumerate([*events, (moved, gone), (f"DELETE ON main.{entity.table}", gone)]):
            connection.execute(
                f"CREATE TEMP TRIGGER {entity.table}_{number}__log AFTER {event} "
                f"BEGIN SELECT {LOG_FUNCTION}('{entity.table}', {row}); END"
            )
    return log


def snapshot(connection: sqlite3.Connection, blueprint: Blueprint) -> dict[str, dict[str, Row]]:
    """All rows by table and key."""
    return {
        entity.table: {str(row[entity.key]): row for row in database.rows(connection, entity)}
        for entity in blueprint.tables
    }


class RowReader(NamedTuple):
    """How to read the rows of one table."""

    table: str
    key: str
    names: tuple[str, ...]
    booleans: tuple[int, ...]
    """Positions of columns that are true or false."""
    by_key: str
    """The query for the row of one key."""


def reader_of(entity: Entity) -> RowReader:
    """How to read the rows of an entity's table."""
    names = tuple(attribute.name for attribute in entity.attributes)
    booleans = tuple(index for index, attribute in enumerate(entity.attributes) if attribute.type == "boolean")
    query = f"SELECT {', '.join(names)} FROM {entity.table} WHERE {entity.key} = ?"
    return RowReader(entity.table, entity.key, names, booleans, query)


def read_row(connection: sqlite3.Connection, reader: RowReader, key: str) -> Row | None:
    """The row of that key, or None."""
    return row_with(reader, connection.execute(reader.by_key, (key,)).fetchone())


def row_with(reader: RowReader, cells: tuple[Value, ...] | None) -> Row | None:
    """The row with these cells; None without cells."""
    if not cells:
        return None
    return dict(
        zip(reader.names, database.with_booleans(cells, reader.booleans) if reader.booleans else cells, strict=True)
    )


def change_between(reader: RowReader, key: str, before: Row | None, after: Row | None) -> RowChange | None:
    """How one row changed.

    Args:
        reader: The reader of the row's table.
        key: The row's key.
        before: The row at the start; None if there was none.
        after: The row now; None if there is none.

    Returns:
        The change; None if the row is the same.
    """
    if before == after:
        return None
    cells: Cells = {reader.key: key}
    if before is None or after is None:
        return RowChange.model_construct(
            table=reader.table,
            op="insert" if before is None else "delete",
            key=cells,
            before=None if before is None else {**before},
            after=None if after is None else {**after},
        )
    changed = [name for name in before if before[name] != after[name]]
    return RowChange.model_construct(
        table=reader.table,
        op="update",
        key=cells,
        before={name: before[name] for name in changed},
        after={name: after[name] for name in changed},
    )


def apply(connection: sqlite3.Connection, blueprint: Blueprint, changes: Sequence[RowChange]) -> None:
    """Make these changes inside the caller's transaction, in an order that the constraints allow.

    SQLite checks references after each change. Only if changes refer to later ones, the whole database is checked, at
    the end.

    Args:
        connection: The database.
        blueprint: Its contract.
        changes: Row changes, in any order.

    Raises:
        WorldError: A change names no table, column or row of the database, or leaves a broken reference.
        sqlite3.IntegrityError: A row breaks another constraint.
    """
    connection.execute("SAVEPOINT patch")
    try:
        _make(connection, blueprint, changes)
    except sqlite3.IntegrityError:
        connection.execute("ROLLBACK TO patch")
        connection.execute("PRAGMA defer_foreign_keys = ON")
        _make(connection, blueprint, changes)
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        connection.execute("PRAGMA defer_foreign_keys = OFF")
        if broken is not None:
            raise WorldError(
                f"row changes leave a reference from {broken[0]!r} to {broken[2]!r} that names no row"
            ) from None
    connection.execute("RELEASE patch")


def _make(connection: sqlite3.Connection, blueprint: Blueprint, changes: Sequence[RowChange]) -> None:
    entities = {entity.table: entity for entity in blueprint.tables}
    for change in sorted(changes, key=lambda change: _ORDER[change.op]):
        entity = entities.get(change.table)
        if entity is None:
            raise WorldError(f"row change of the unknown table {change.table!r}; tables are {', '.join(entities)}")
        _check_columns(entity, [*change.key, *(change.after or {}), *(change.before or {})])
        statement, bindings = _statement(entity, change)
        if connection.execute(statement, bindings).rowcount != 1:
            raise WorldError(f"row change {change.op} of {change.table!r} {change.key!r} finds no such row")


def _statement(entity: Entity, change: RowChange) -> tuple[str, list[object]]:
    where = " AND ".join(f"{name} = ?" for name in change.key)
    after = change.after or {}
    if change.op == "insert":
        marks = ", ".join("?" * len(after))
        return f"INSERT INTO {entity.table} ({', '.join(after)}) VALUES ({marks})", [*after.values()]
    if change.op == "delete":
        return f"DELETE FROM {entity.table} WHERE {where}", [*change.key.values()]
    sets = ", ".join(f"{name} = ?" for name in after)
    return f"UPDATE {entity.table} SET {sets} WHERE {where}", [*after.values(), *change.key.values()]


def _check_columns(entity: Entity, names: Iterable[str]) -> None:
    known = {attribute.name for attribute in entity.attributes}
    unknown = sorted(set(names) - known)
    if unknown:
        raise WorldError(f"table {entity.table!r} has no column {unknown[0]!r}; it has {', '.join(sorted(known))}")


_Place = tuple[str, tuple[object, ...]]
_REVERSED: dict[Op, Op] = {"insert": "delete", "delete": "insert", "update": "update"}


def delta(before: Sequence[RowChange], after: Sequence[RowChange]) -> list[RowChange]:
    """Row changes between two states, each given by its difference from the same start.

    Args:
        before: Changes from the start to the first state.
        after: Changes from the start to the second state.
    """
    if not before:
        return [*after]
    old = {_place(change): change for change in before}
    new = {_place(change): change for change in after}
    places = [*new, *(place for place in old if place not in new)]
    changes = [_between(old.get(place), new.get(place)) for place in places if old.get(place) != new.get(place)]
    return [change for change in changes if change is not None]


def _place(change: RowChange) -> _Place:
    return change.table, tuple(change.key.values())


def _between(old: RowChange | None, new: RowChange | None) -> RowChange | None:
    """The change from the row after `old` to the row after `new`; None stands for no change since the start."""
    if old is None or new is None:
        return new if old is None else _reversed(old)
    was, now = _left(old, new), _left(new, old)
    if was is None or now is None:
        return _made(new, "insert" if was is None else "delete", was, now) if was is not now else None
    changed = [name for name in now if was.get(name) != now[name]]
    picked = {name: was.get(name) for name in changed}, {name: now[name] for name in changed}
    return _made(new, "update", *picked) if changed else None


def _left(change: RowChange, other: RowChange) -> Cells | None:
    """The row after a change, in the columns that either change has; None if the row is deleted."""
    if change.op == "delete":
        return None
    return {**_start(other), **_start(change), **(change.after or {})}


def _start(change: RowChange) -> Cells:
    return {} if change.op == "insert" else {**(change.before or {})}


def _reversed(change: RowChange) -> RowChange:
    return _made(change, _REVERSED[change.op], change.after, change.before)


def _made(change: RowChange, op: Op, before: Cells | None, after: Cells | None) -> RowChange:
    return RowChange.model_construct(table=change.table, op=op, key=change.key, before=before, after=after)
