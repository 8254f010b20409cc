"""The database of a world: create it from a blueprint, fill it, save it, and load it with checks.

The same rows give the same bytes. This module never opens a foreign database file in place: it copies the rows into its
own tables. A fused world has a view for each member's persons, with the member's own columns and the shared ones. Views
belong to a connection and never to a file. An update through a view changes both tables.
"""

import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

from skillweave.base.errors import ArtifactError
from skillweave.schema.blueprint import Blueprint, PersonView
from skillweave.schema.entity import Attribute, AttributeType, Entity
from skillweave.schema.record import Row, Value
from skillweave.world.sql import VIEWED_TABLE, trigger_of

SQL_TYPES: dict[AttributeType, str] = {
    "string": "TEXT",
    "integer": "INTEGER",
    "number": "REAL",
    "boolean": "INTEGER",
    "date": "TEXT",
    "datetime": "TEXT",
}

SOUND = frozenset({str, int, bool, type(None)})
"""Types all of whose values are JSON values."""
KEPT = 32
"""Contents of databases that a process keeps, of those that it has checked."""
_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""


def connect() -> sqlite3.Connection:
    """An empty database in memory. The caller begins transactions; any thread may use it, one at a time."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, cached_statements=1024)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def create(blueprint: Blueprint) -> sqlite3.Connection:
    """The blueprint's tables without rows, and its views, in memory."""
    connection = connect()
    connection.execute("PRAGMA page_size = 4096")
    tables = {entity.name: entity.table for entity in blueprint.tables}
    for entity in blueprint.tables:
        connection.execute(_table_sql(entity, tables))
    create_views(connection, blueprint)
    return connection


def _table_sql(entity: Entity, tables: Mapping[str, str]) -> str:
    """The CREATE TABLE statement. SQLite stores the rows in the order of their keys."""
    columns = [_column(attribute, attribute.name == entity.key, tables) for attribute in entity.attributes]
    return f"CREATE TABLE {entity.table} (\n  " + ",\n  ".join(columns) + "\n) STRICT, WITHOUT ROWID"


def _column(attribute: Attribute, is_key: bool, tables: Mapping[str, str]) -> str:
    name = attribute.name
    parts = [name, SQL_TYPES[attribute.type]]
    if is_key:
        parts.append("PRIMARY KEY")
    if is_key or not attribute.nullable:
        parts.append("NOT NULL")
    if attribute.unique and not is_key:
        parts.append("UNIQUE")
    if attribute.enum is not None:
        allowed = ", ".join("'" + value.replace("'", "''") + "'" for value in attribute.enum)
        parts.append(f"CHECK ({name} IN ({allowed}))")
    if attribute.type == "boolean":
        parts.append(f"CHECK ({name} IN (0, 1))")
    if attribute.type in ("date", "datetime"):
        # SQLite turns 30 February into 1 March only with a modifier; without one this check would accept it.
        parts.append(f"CHECK ({name} IS {attribute.type}({name}, '+0 days'))")
    if attribute.references is not None:
        target, _, column = attribute.references.partition(".")
        parts.append(f"REFERENCES {tables.get(target, target)} ({column})")
    return " ".join(parts)


def insert(connection: sqlite3.Connection, entity: Entity, rows: Iterable[Mapping[str, Value]]) -> None:
    """Add rows to an entity's table.

    Args:
        connection: The database.
        entity: The entity.
        rows: Column -> value. Missing columns are NULL.

    Raises:
        sqlite3.IntegrityError: A row breaks a constraint.
    """
    names = [attribute.name for attribute in entity.attributes]
    marks = ", ".join("?" * len(names))
    statement = f"INSERT INTO {entity.table} ({', '.join(names)}) VALUES ({marks})"
    connection.executemany(statement, [[row.get(name) for name in names] for row in rows])


def rows(connection: sqlite3.Connection, entity: Entity) -> list[Row]:
    """All rows of an entity's table, sorted by key; booleans as true and false."""
    names = [attribute.name for attribute in entity.attributes]
    cells = connection.execute(f"SELECT {', '.join(names)} FROM {entity.table} ORDER BY {entity.key}").fetchall()
    booleans = [index for index, attribute in enumerate(entity.attributes) if attribute.type == "boolean"]
    found = named(names, cells)
    for index in booleans:
        make_boolean(found, names[index])
    return found


def named(names: Sequence[str], cells: Iterable[tuple[Value, ...]]) -> list[Any]:
    """Rows of a query as dicts by the names of its columns."""
    return [*map(dict, map(zip, repeat(names), cells))]


def make_boolean(rows: Iterable[dict[str, Any]], name: str) -> None:
    """Turn 0 and 1 in a column into false and true; NULL stays."""
    for row in rows:
        if row[name] is not None:
            row[name] = bool(row[name])


def with_booleans(row: tuple[Value, ...], positions: Iterable[int]) -> tuple[Value, ...]:
    """The row with 0 and 1 at these positions (from 0) turned into false and true; NULL stays."""
    cells = list(row)
    for position in positions:
        if cells[position] is not None:
            cells[position] = bool(cells[position])
    return tuple(cells)


def digest(connection: sqlite3.Connection, blueprint: Blueprint) -> str:
    """sha256 of `{table: [row, ...]}` as compact JSON: tables and columns sorted by name, rows by key."""
    return digest_of({entity.table: text_of(rows(connection, entity)) for entity in blueprint.tables})


def digest_of(texts: Mapping[str, str]) -> str:
    """The digest of a database, from the text of each table's rows."""
    state = ",".join(f"{text_of(table)}:{text}" for table, text in sorted(texts.items()))
    return hashlib.sha256(f"{{{state}}}".encode()).hexdigest()


def text_of(value: Sequence[Row] | str) -> str:
    """The text of a table's rows, or of its name, in a digest."""
    return _COMPACT.encode(value)


def to_bytes(connection: sqlite3.Connection, blueprint: Blueprint) -> bytes:
    """The database as a file's content. The same rows give the same bytes."""
    fresh = create(blueprint)
    try:
        fresh.execute("BEGIN")
        fresh.execute("PRAGMA defer_foreign_keys = ON")
        for entity in blueprint.tables:
            insert(fresh, entity, rows(connection, entity))
        fresh.execute("COMMIT")
        return fresh.serialize()
    finally:
        fresh.close()


def save(connection: sqlite3.Connection, blueprint: Blueprint, path: Path) -> None:
    """Write the database to a file, atomically. Makes the folder if it is missing.

    Args:
        connection: The database.
        blueprint: Its contract.
        path: The file. The same rows give the same bytes.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    partial.write_bytes(to_bytes(connection, blueprint))
    partial.replace(path)


def load(source: Path | bytes, blueprint: Blueprint) -> sqlite3.Connection:
    """Copy the rows of a database file into new tables.

    Args:
        source: The file, or its content.
        blueprint: The contract that the file has to fit.

    Returns:
        A connection to a database in memory.

    Raises:
        ArtifactError: The file cannot be read, is damaged, or has other tables or columns than the blueprint.
    """
    own = connect()
    with closing(sqlite3.connect(":memory:")) as sound:
        sound.deserialize(content_of(source, blueprint))
        sound.backup(own)
    create_views(own, blueprint)
    return own


def content_of(source: Path | bytes, blueprint: Blueprint) -> bytes:
    """What a file with these rows in new tables holds: `load` says what is checked, which is done once for a content.

    Raises:
        ArtifactError: As `load`.
    """
    label = repr(source.name) if isinstance(source, Path) else "given as bytes"
    try:
        content = source.read_bytes() if isinstance(source, Path) else source
    except OSError as error:
        raise ArtifactError(f"database {label} cannot be read: {error.strerror}") from error
    if not content.startswith(_MAGIC):
        raise ArtifactError(f"database {label} is no SQLite database")
    return _checked(_Foreign(content, schema_of(blueprint), blueprint, label))


def schema_of(blueprint: Blueprint) -> str:
    """The tables and views of a blueprint, as a text that differs if anything of them does."""
    return "\n".join(part.model_dump_json() for part in [*blueprint.tables, *blueprint.views])


@dataclass(frozen=True)
class _Foreign:
    """A database file that is to be checked, known by its content and by the tables that it has to fit."""

    content: bytes
    schema: str
    blueprint: Blueprint = field(compare=False)
    label: str = field(compare=False)


@lru_cache(maxsize=KEPT)
def _checked(source: _Foreign) -> bytes:
    foreign, content = connect(), source.content
    try:
        # The header of a file in write-ahead mode prevents opening it in memory.
        foreign.deserialize(content[:18] + b"\1\1" + content[20:])
        foreign.execute("PRAGMA cell_size_check = ON")
        _refuse_foreign(foreign, source.blueprint, source.label)
        with closing(_copied(foreign, source.blueprint, source.label)) as own:
            return own.serialize()
    except sqlite3.Error as error:
        raise ArtifactError(f"database {source.label} is damaged or breaks its own constraints: {error}") from error
    finally:
        foreign.close()


def _refuse_foreign(foreign: sqlite3.Connection, blueprint: Blueprint, label: str) -> None:
    expected = {entity.table: [attribute.name for attribute in entity.attributes] for entity in blueprint.tables}
    objects = foreign.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
    for kind, name, sql in objects:
        if kind in ("trigger", "view") or (kind == "table" and str(sql).upper().startswith("CREATE VIRTUAL")):
            raise ArtifactError(f"database {label} holds the {kind} {name!r}; only plain tables are allowed")
    tables = {str(name) for kind, name, _ in objects if kind == "table"}
    if tables != set(expected):
        unexpected = sorted(tables ^ set(expected))
        raise ArtifactError(
            f"database {label} has other tables than {blueprint.server!r}: {', '.join(map(repr, unexpected))}"
        )
    for table, columns in expected.items():
        described = foreign.execute(f"PRAGMA table_xinfo({table})").fetchall()
        if [row[1] for row in described] != columns or any(row[6] for row in described):
            raise ArtifactError(f"database {label}: table {table!r} must have the columns {', '.join(columns)}")


def _copied(foreign: sqlite3.Connection, blueprint: Blueprint, label: str) -> sqlite3.Connection:
    own = create(blueprint)
    own.execute("BEGIN")
    own.execute("PRAGMA defer_foreign_keys = ON")
    for entity in blueprint.tables:
        copied = rows(foreign, entity)
        for row in copied:
            if not SOUND.issuperset(map(type, row.values())):
                for column, value in row.items():
                    _check_cell(value, f"database {label}: {entity.table}.{column}")
        insert(own, entity, copied)
    own.execute("COMMIT")
    return own


def _check_cell(value: object, where: str) -> None:
    if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        raise ArtifactError(f"{where} holds {value!r}; only text, finite numbers and NULL are allowed")


def create_indices(connection: sqlite3.Connection, blueprint: Blueprint) -> None:
    """Index the columns that name other rows: guards and searches follow them. No file has these indices."""
    for entity in blueprint.tables:
        for attribute in entity.attributes:
            if attribute.references and attribute.name != entity.key and not attribute.unique:
                name = f"{entity.table}__by_{attribute.name}"
                connection.execute(f"CREATE INDEX {name} ON {entity.table} ({attribute.name})")


def create_views(connection: sqlite3.Connection, blueprint: Blueprint) -> None:
    """Create the views of a fused blueprint. A blueprint of one domain has none."""
    if not blueprint.views:
        return
    connection.execute(f"CREATE TEMP TABLE {VIEWED_TABLE} (updated INTEGER)")
    for view in blueprint.views:
        own = {attribute.name for attribute in blueprint.entity(view.own).attributes}
        connection.execute(_view_sql(view, own))
        connection.execute(_trigger_sql(view, own))


def updated_through_views(connection: sqlite3.Connection) -> int:
    """Count the rows that were updated through views since the last count. SQLite itself does not count them."""
    updated = int(connection.execute(f"SELECT COUNT(*) FROM {VIEWED_TABLE}").fetchone()[0])
    connection.execute(f"DELETE FROM {VIEWED_TABLE}")
    return updated


def _view_sql(view: PersonView, own: set[str]) -> str:
    columns = [f"{'own' if name in own else 'person'}.{name}" for name in _names(view)]
    both = f"main.{view.own} AS own JOIN main.{view.shared} AS person"
    return (
        f"CREATE TEMP VIEW {view.entity.table} AS SELECT {', '.join(columns)} "
        f"FROM {both} ON person.{view.account} = own.{view.entity.key}"
    )


def _trigger_sql(view: PersonView, own: set[str]) -> str:
    sides = (
        (view.own, view.entity.key, [name for name in _names(view) if name in own]),
        (view.shared, view.account, [name for name in _names(view) if name not in own]),
    )
    # The member's own columns always include the key, so a row counts as changed even if its values stay the same.
    updates = [
        f"UPDATE {table} SET {', '.join(f'{name} = NEW.{name}' for name in names)} WHERE {key} = OLD.{view.entity.key};"
        for table, key, names in sides
        if names
    ]
    return (
        f"CREATE TEMP TRIGGER {trigger_of(view.entity.table)} INSTEAD OF UPDATE ON {view.entity.table} "
        f"BEGIN {' '.join(updates)} INSERT INTO {VIEWED_TABLE} VALUES (1); END"
    )


def _names(view: PersonView) -> list[str]:
    return [attribute.name for attribute in view.entity.attributes]
