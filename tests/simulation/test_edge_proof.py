"""Edges: those that follow from the clinic's contract, and what running them shows."""

from random import Random

from synth.contracts.dependencies import affects, auth_edges, columns_read, columns_written, data_edges, state_edges
from synth.simulation.edge_proof import EdgeProver
from tests.world.clinic import a_world


def test_an_update_touches_the_guards_that_read_its_column_only() -> None:
    written = columns_written(["UPDATE loan SET status = 'late' WHERE loan_id = :loan_id"])
    assert affects(written, columns_read("EXISTS (SELECT 1 FROM loan WHERE status = 'open')"))
    assert not affects(written, columns_read("EXISTS (SELECT 1 FROM loan WHERE due_on > :now)"))


def test_an_insert_touches_every_guard_that_reads_its_table() -> None:
    written = columns_written(["INSERT INTO loan (loan_id) VALUES (:new_id)"])
    assert affects(written, columns_read("(SELECT COUNT(*) FROM loan WHERE member_id = :caller) < 3"))
    assert not affects(written, columns_read("(SELECT COUNT(*) FROM fine WHERE member_id = :caller) < 3"))


def test_signing_in_comes_before_every_other_tool() -> None:
    blueprint = a_world().blueprint
    assert {edge.target for edge in auth_edges(blueprint)} == {t.name for t in blueprint.tools if t.kind != "auth"}


def test_running_edges_proves_some_changes_nothing_and_comes_out_the_same() -> None:
    world = a_world()
    with world.session() as session:
        callers = [str(row["patient_id"]) for row in session.rows("patient")]
        before = session.digest()
    edges = [*data_edges(world.blueprint), *state_edges(world.blueprint)]
    proven = EdgeProver(world, callers, Random(1)).proven(edges)
    assert [edge.model_copy(update={"proof": "static"}) for edge in proven] == [
        edge.model_copy(update={"proof": "static"}) for edge in edges
    ]
    assert {edge.kind for edge in proven if edge.proof == "executed"} == {"data", "state"}
    assert proven == EdgeProver(world, callers, Random(1)).proven(edges)
    with world.session() as session:
        assert session.digest() == before
