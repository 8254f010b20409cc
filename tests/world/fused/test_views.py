"""Persons of a fused world, read and written through the view that a member has of them."""

import sqlite3

import pytest

from skillweave.world import database
from skillweave.world.contract.tools import StatementPreparer
from skillweave.world.forbidden_sql import refused_in
from skillweave.world.lineage import ColumnLineage
from skillweave.world.session import ContractSession
from tests.world.fused.domains import a_fused_blueprint, a_fused_database, a_fused_world

WORLD = a_fused_world()
ANA = "PAT-P001"
COPIED = "UPDATE Clinic__Patient__person SET note = email, email = email || '.uk'"


def seen(session: ContractSession) -> list[object]:
    """The address of the person, as each member's profile and the shared table tell it."""
    results = [session.call(f"{space}__my_profile", {}) for space in ("clinic", "gym", "insurer")]
    persons = {row["person_id"]: row["email"] for row in session.rows("Patient")}
    return [*(result.value["email"] for result in results if isinstance(result.value, dict)), persons[session.caller]]


@pytest.mark.parametrize("writer", ["clinic", "gym", "insurer"])
def test_a_shared_attribute_written_by_one_member_is_seen_by_all(writer: str) -> None:
    with WORLD.session(caller=ANA) as session:
        result = session.call(f"{writer}__change_email", {"email": "new@example.com"})
        assert (result.ok, result.changed) == (True, [1])
        assert seen(session) == ["new@example.com"] * 4
        assert [(change.table, change.op, change.after) for change in session.diff()] == [
            ("Patient", "update", {"email": "new@example.com"})
        ]


def test_own_and_shared_columns_change_at_once_from_the_row_as_it_was() -> None:
    with WORLD.session(caller=ANA) as session:
        result = session.call("gym__swap_note", {"email": "new@example.com"})
        assert isinstance(result.value, dict)
        assert (result.value["note"], result.value["email"]) == ("ana@example.com", "new@example.com")
        assert [(change.table, change.before, change.after) for change in session.diff()] == [
            ("Gym__Guest", {"note": None}, {"note": "ana@example.com"}),
            ("Patient", {"email": "ana@example.com"}, {"email": "new@example.com"}),
        ]


def test_every_row_that_is_updated_through_a_view_counts_even_if_it_stays_the_same() -> None:
    with WORLD.session() as session:
        assert session.execute(COPIED) == 3
        assert session.execute("WITH two AS (SELECT 2) UPDATE Gym__Guest__person SET note = 'x' WHERE is_vip") == 1
        assert session.execute("UPDATE Gym__Guest__person SET email = email, is_vip = is_vip") == 2
        assert session.execute("UPDATE Gym__Guest__person SET email = 'x' WHERE guest_id = 'nobody'") == 0
        assert session.execute("UPDATE Gym__Guest SET note = 'y'") == 2


def test_a_shared_value_that_another_person_has_is_refused_and_nothing_of_the_update_stays() -> None:
    with WORLD.session(caller=ANA) as session:
        result = session.call("clinic__swap_note", {"email": "ben@example.com"})
        assert result.error is not None
        assert result.error.code == "world_defect"
        assert session.diff() == []


def test_undoing_takes_both_parts_back() -> None:
    with WORLD.session(caller=ANA) as session:
        start = session.mark()
        session.call("clinic__swap_note", {"email": "first@example.com"})
        middle, before = session.mark(), session.diff()
        session.call("insurer__visit", {})
        session.call("gym__swap_note", {"email": "second@example.com"})
        assert len(session.diff()) == 4
        session.undo(middle)
        assert (session.diff(), seen(session)) == (before, ["first@example.com"] * 4)
        session.undo(start)
        assert (session.diff(), seen(session)) == ([], ["ana@example.com"] * 4)


def test_what_was_written_through_views_is_made_again_behind_a_runaway_statement() -> None:
    runaway = "SELECT COUNT(*) FROM " + ", ".join(f"Clinic__Visit AS v{place}" for place in range(18))
    with WORLD.session(caller=ANA) as session:
        session.call("clinic__swap_note", {"email": "new@example.com"})
        before = session.diff()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            session.execute(f"UPDATE Gym__Guest SET note = ({runaway})")
        assert session.diff() == before
        assert session.execute("UPDATE Gym__Guest__person SET email = email WHERE guest_id = 'GP-0001'") == 1


def test_files_hold_tables_and_no_views() -> None:
    blueprint = a_fused_blueprint()
    content = a_fused_database(blueprint)
    plain = sqlite3.connect(":memory:")
    plain.deserialize(content)
    kinds = plain.execute("SELECT DISTINCT type FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall()
    assert kinds == [("table",)]
    loaded = database.load(content, blueprint)
    assert database.to_bytes(loaded, blueprint) == content
    assert loaded.execute("SELECT COUNT(*) FROM Insurer__Member__person").fetchone() == (2,)


def test_accounts_that_nobody_has_are_refused() -> None:
    blueprint = a_fused_blueprint()
    loaded = database.load(a_fused_database(blueprint), blueprint)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        loaded.execute("INSERT INTO Gym__Guest VALUES ('GP-0099', NULL, 0)")


def test_a_statement_on_a_view_tells_the_columns_that_it_names() -> None:
    accesses = StatementPreparer(a_fused_blueprint())
    read = accesses.of("SELECT email FROM Clinic__Patient__person WHERE patient_id = :caller")
    assert (read.reads, read.updates) == ({"Clinic__Patient__person": {"email", "patient_id"}}, {})
    written = accesses.of("UPDATE Clinic__Patient__person SET email = note")
    assert written.updates == {"Clinic__Patient__person": {"email"}}
    assert written.reads == {"Clinic__Patient__person": {"note"}}


def test_columns_of_a_view_are_traced_to_attributes() -> None:
    tool = WORLD.blueprint.tool("clinic__my_profile")
    lineage = ColumnLineage(WORLD.blueprint)
    assert lineage.booleans(tool.returns.select, tool) == (False, False, False, False, True)
    assert lineage.columns("SELECT * FROM CLINIC__PATIENT__PERSON") == (
        "patient_id",
        "full_name",
        "email",
        "note",
        "is_vip",
    )


def test_contract_sql_reads_views_and_not_what_is_kept_about_them() -> None:
    lineage = ColumnLineage(WORLD.blueprint)
    assert refused_in("SELECT email FROM Gym__Guest__person", "query", lineage) == []
    assert "unknown table '_viewed_rows'" in refused_in("SELECT updated FROM _viewed_rows", "query", lineage)[0]
    with WORLD.session() as session, pytest.raises(sqlite3.DatabaseError, match="prohibited"):
        session.query("SELECT sql FROM sqlite_temp_schema")
