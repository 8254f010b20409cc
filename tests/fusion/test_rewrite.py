"""Rewritten statements: the same results and the same state as in the domain's own world, the text else untouched."""

import sqlite3
from collections.abc import Iterator

import pytest

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedEntity
from skillweave.schema.record import Row
from skillweave.world import database
from synth.fusion.blueprint import fuse
from synth.fusion.persons import fused_rows
from synth.fusion.rewriting import prove_rewrites, rewrite_tables
from synth.simulation.generation import state_of
from tests.fusion.awkward import READS, WRITES
from tests.fusion.libraries import counts, databases, library, people, rows_of

AWKWARD = library("Library", reads=READS, writes=WRITES)
TWIN = library("Archive")
BOTH = [AWKWARD, TWIN]


@pytest.fixture(scope="module")
def fused() -> FusedBlueprint:
    return fuse(BOTH)


@pytest.fixture
def apart() -> Iterator[sqlite3.Connection]:
    connection = state_of(rows_of(AWKWARD, counts(BOTH)["Library"]), AWKWARD)
    yield connection
    connection.close()


@pytest.fixture
def together(fused: FusedBlueprint) -> Iterator[sqlite3.Connection]:
    connection = state_of(fused_rows(fused, databases(BOTH), people(BOTH)), fused)
    yield connection
    connection.close()


def _statement(fused: FusedBlueprint, sql: str) -> str:
    """What has become of a statement of the library."""
    number = [*READS, *WRITES].index(sql)
    name = f"{'write' if sql in WRITES else 'read'}_{number}"
    tool = fused.tool(fused.member("Library").tools[name])
    return tool.effects[0].sql if sql in WRITES else tool.returns.select


def _left(connection: sqlite3.Connection, fused: FusedBlueprint, server: str) -> dict[str, list[Row]]:
    """All rows of one domain of the fused world, by its own tables."""
    member = fused.member(server)
    view = next(view.entity for view in fused.people if view.own == member.person)
    back = {new: old for old, new in member.tables.items()}
    entities: list[FusedEntity] = [*fused.entities, *fused.relationships]
    found = {back[one.table]: database.rows(connection, one) for one in entities if one.server == server}
    return {**found, back[member.person]: database.rows(connection, view)}


def _alone(connection: sqlite3.Connection, blueprint: Blueprint) -> dict[str, list[Row]]:
    return {entity.table: database.rows(connection, entity) for entity in blueprint.tables}


@pytest.mark.parametrize("sql", READS)
def test_a_read_returns_the_same(
    sql: str, fused: FusedBlueprint, apart: sqlite3.Connection, together: sqlite3.Connection
) -> None:
    expected, got = apart.execute(sql), together.execute(_statement(fused, sql))
    assert [column[0] for column in got.description] == [column[0] for column in expected.description]
    rows = expected.fetchall()
    assert rows
    assert got.fetchall() == rows


@pytest.mark.parametrize("sql", WRITES)
def test_a_write_leaves_the_same(
    sql: str, fused: FusedBlueprint, apart: sqlite3.Connection, together: sqlite3.Connection
) -> None:
    before, other = _alone(apart, AWKWARD), _left(together, fused, "Archive")
    assert _left(together, fused, "Library") == before
    apart.execute(sql)
    together.execute(_statement(fused, sql))
    assert _alone(apart, AWKWARD) != before
    assert _left(together, fused, "Library") == _alone(apart, AWKWARD)
    shared = {"full_name", "email", "phone"}
    kept = [{name: cell for name, cell in row.items() if name not in shared} for row in other["member"]]
    now = _left(together, fused, "Archive")
    assert [{name: cell for name, cell in row.items() if name not in shared} for row in now["member"]] == kept
    assert {**now, "member": []} == {**other, "member": []}


def test_every_awkward_statement_is_proven(fused: FusedBlueprint) -> None:
    found = prove_rewrites(BOTH, fused)
    assert {rewrite.author for rewrite in found} >= {*READS, *WRITES}
    assert {rewrite.proof for rewrite in found} == {"same code", "same code, columns apart", "through the view"}


TABLES = {"copy": "L__Copy", "loan": "L__Loan", "member": "L__Member"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 'copy', copy.x FROM copy -- copy", "SELECT 'copy', copy.x FROM L__Copy AS copy -- copy"),
        ('SELECT "Copy".x FROM "Copy"', 'SELECT "Copy".x FROM L__Copy AS "Copy"'),
        ("SELECT c.x FROM copy c", "SELECT c.x FROM L__Copy c"),
        ("UPDATE copy SET x = 1 WHERE copy.y = 2", "UPDATE L__Copy SET x = 1 WHERE L__Copy.y = 2"),
        ("UPDATE copy AS c SET x = 1 WHERE c.y = 2", "UPDATE L__Copy AS c SET x = 1 WHERE c.y = 2"),
        ("UPDATE member AS m SET x = 1 WHERE m.y = 2", "UPDATE L__Member SET x = 1 WHERE L__Member.y = 2"),
        (
            "UPDATE copy SET x = 1 RETURNING copy.x",
            "UPDATE L__Copy SET x = 1 RETURNING L__Copy.x",
        ),
        (
            "INSERT INTO copy (x) VALUES (1) ON CONFLICT (x) DO UPDATE SET y = copy.y + excluded.y",
            "INSERT INTO L__Copy (x) VALUES (1) ON CONFLICT (x) DO UPDATE SET y = L__Copy.y + excluded.y",
        ),
        ("SELECT x FROM other", "SELECT x FROM other"),
        (":copy IS NULL OR :copy = 'loan'", ":copy IS NULL OR :copy = 'loan'"),
    ],
)
def test_only_names_of_tables_are_touched(text: str, expected: str) -> None:
    assert rewrite_tables(text, TABLES, ["L__Member"]) == expected


def test_a_table_in_the_place_of_a_list_is_refused() -> None:
    with pytest.raises(WorldError, match="IN table"):
        rewrite_tables("SELECT 1 WHERE 'a' IN copy", TABLES)
