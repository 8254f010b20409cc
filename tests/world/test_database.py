import random
import sqlite3
from pathlib import Path

import pytest

from skillweave.base.errors import ArtifactError
from skillweave.world import database
from tests.world.clinic import ROWS, a_blueprint


def a_database(shuffled: bool = False) -> sqlite3.Connection:
    blueprint = a_blueprint()
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        rows = list(ROWS[entity.name])
        if shuffled:
            random.Random(7).shuffle(rows)
        database.insert(connection, entity, rows)
    return connection


def a_file(tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "clinic.sqlite"
    database.save(a_database(), a_blueprint(), path)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("appointment", "status", "lost"),
        ("appointment", "patient_id", "PAT-9999"),
        ("appointment", "booked_at", "2025-01-20T08:00"),
        ("appointment", "booked_at", None),
        ("patient", "date_of_birth", "1980-02-30"),
        ("patient", "wants_reminders", 2),
        ("patient", "email", "ben@example.com"),
        ("fee", "amount_cents", "much"),
    ],
)
def test_the_tables_refuse_what_the_blueprint_does_not_allow(table: str, column: str, value: object) -> None:
    connection = a_database()
    key = a_blueprint().entity(table.capitalize()).key
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} LIKE '%0001'", (value,))


def test_rows_come_sorted_by_key_with_true_and_false() -> None:
    found = database.rows(a_database(shuffled=True), a_blueprint().entity("Patient"))
    assert [row["patient_id"] for row in found] == ["PAT-0001", "PAT-0002", "PAT-0003"]
    assert [row["wants_reminders"] for row in found] == [True, True, False]
    assert all(isinstance(row["wants_reminders"], bool) for row in found)


def test_the_same_rows_give_the_same_bytes_and_digest_whatever_happened_before() -> None:
    plain, restless = a_database(), a_database(shuffled=True)
    restless.execute("DELETE FROM reminder")
    restless.execute("INSERT INTO reminder VALUES ('REM-0001', 'APT-0001', 'E-mail')")
    blueprint = a_blueprint()
    assert database.to_bytes(plain, blueprint) == database.to_bytes(restless, blueprint)
    assert database.digest(plain, blueprint) == database.digest(restless, blueprint)
    restless.execute("UPDATE fee SET amount_cents = amount_cents + 1")
    assert database.digest(plain, blueprint) != database.digest(restless, blueprint)


def test_a_saved_database_loads_with_the_same_rows(tmp_path: Path) -> None:
    loaded = database.load(a_file(tmp_path), a_blueprint())
    assert database.digest(loaded, a_blueprint()) == database.digest(a_database(), a_blueprint())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic.sqlite"]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON fee BEGIN DELETE FROM fee; END", "trigger 't'"),
        ("CREATE VIEW v AS SELECT 1", "view 'v'"),
        ("CREATE TABLE other (x)", "other tables"),
        ("DROP TABLE receipt", "other tables"),
        ("ALTER TABLE fee ADD COLUMN extra TEXT", "must have the columns"),
        ("ALTER TABLE fee ADD COLUMN extra TEXT AS ('x')", "must have the columns"),
    ],
)
def test_a_database_that_is_not_the_blueprints_is_refused(tmp_path: Path, statement: str, reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        database.load(a_file(tmp_path, statement), a_blueprint())


def test_rows_that_break_the_blueprints_constraints_are_refused(tmp_path: Path) -> None:
    path = a_file(tmp_path, "PRAGMA foreign_keys = OFF", "UPDATE fee SET patient_id = 'PAT-9999'")
    with pytest.raises(ArtifactError, match="breaks its own constraints"):
        database.load(path, a_blueprint())


@pytest.mark.parametrize("content", [b"", b"not a database at all", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_file_is_an_artifact_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "clinic.sqlite"
    path.write_bytes(content)
    with pytest.raises(ArtifactError):
        database.load(path, a_blueprint())
    with pytest.raises(ArtifactError, match="cannot be read"):
        database.load(tmp_path / "missing.sqlite", a_blueprint())
