"""Row changes: read from what a session touched, and applied to a database.

Triggers log the keys of touched rows; the difference is the touched rows now, against the same rows at the start.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.change import Cells, RowChange
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.authorizer import LOG_TABLE

_ORDER = {"delete": 0, "update": 1, "insert": 2}
"""Rows go before others may take their unique values."""


def log_touched(connection: sqlite3.Connection, blueprint: Blueprint) -> None:
    """Have the connection log the key of each row that a statement inserts, updates or deletes."""
    connection.execute(f"CREATE TEMP TABLE {LOG_TABLE} (tbl TEXT, id TEXT, PRIMARY KEY (tbl, id)) WITHOUT ROWID")
    for entity in blueprint.tables:
        for event, sides in (("INSERT", ("NEW",)), ("UPDATE", ("OLD", "NEW")), ("DELETE", ("OLD",))):
            values = ", ".join(f"('{entity.table}', {side}.{entity.key})" for side in sides)
            connection.execute(
                f"CREATE TEMP TRIGGER {entity.table}_{event.lower()}__log AFTER {event} ON main.{entity.table} "
                f"BEGIN INSERT OR IGNORE INTO {LOG_TABLE} VALUES {values}; END"
            )


def touched(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(table, key) of each touched row, sorted."""
    return connection.execute(f"SELECT tbl, id FROM {LOG_TABLE} ORDER BY tbl, id").fetchall()


def snapshot(connection: sqlite3.Connection, blueprint: Blueprint) -> dict[str, dict[str, Row]]:
    """All rows by table and key."""
    return {
        entity.table: {str(row[entity.key]): row for row in database.rows(connection, entity)}
        for entity in blueprint.tables
    }


class Reader(NamedTuple):
    """How the rows of one table are read."""

    table: str
    key: str
    names: tuple[str, ...]
    booleans: tuple[int, ...]
    """Positions of columns that are true or false."""
    by_key: str
    """The query for the row of one key."""


def reader_of(entity: Entity) -> Reader:
    """How the rows of an entity's table are read."""
    names = tuple(attribute.name for attribute in entity.attributes)
    booleans = tuple(index for index, attribute in enumerate(entity.attributes) if attribute.type == "boolean")
    query = f"SELECT {', '.join(names)} FROM {entity.table} WHERE {entity.key} = ?"
    return Reader(entity.table, entity.key, names, booleans, query)


def read_row(connection: sqlite3.Connection, reader: Reader, key: str) -> Row | None:
    """The row of that key, or None."""
    found = connection.execute(reader.by_key, (key,)).fetchone()
    return found and dict(zip(reader.names, database.with_booleans(found, reader.booleans), strict=True))


def change_between(reader: Reader, key: str, before: Row | None, after: Row | None) -> RowChange | None:
    """How one row differs; None where it does not."""
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
    """Make these changes, in whatever order fits, inside the caller's transaction.

    WorldError where a row is not there, or references are broken in the end; sqlite3.IntegrityError for the rest.
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for change in sorted(changes, key=lambda change: _ORDER[change.op]):
        entity = entities.get(change.table)
        if entity is None:
            raise WorldError(f"row change of the unknown table {change.table!r}; tables are {', '.join(entities)}")
        _check_columns(entity, [*change.key, *(change.after or {}), *(change.before or {})])
        statement, bindings = _statement(entity, change)
        if connection.execute(statement, bindings).rowcount != 1:
            raise WorldError(f"row change {change.op} of {change.table!r} {change.key!r} finds no such row")
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    connection.execute("PRAGMA defer_foreign_keys = OFF")
    if broken is not None:
        raise WorldError(f"row changes leave a reference from {broken[0]!r} to {broken[2]!r} that names no row")


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
