"""A planted error in the server of a whole service of the catalogue is found, for every guard that a case reaches."""

from dataclasses import replace
from functools import cache

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.world import database
from synth.offline.coding.server import write_server
from synth.servers.suite import DifferentialSuite, prepare_suite, run_suite
from synth.simulation.build import simulate_history
from synth.simulation.generation import state_of
from synth.simulation.history import HistoryPlan
from tests.servers.mutants import Mutant, mutants
from tests.simulation.worlds import NOW, a_blueprint, reference_rows

SERVICE = "DentalClinic"


@cache
def proved() -> DifferentialSuite:
    blueprint = a_blueprint(SERVICE)
    lived = simulate_history(blueprint, reference_rows(SERVICE), NOW, HistoryPlan(visits=400, days=60), "7")
    content = database.to_bytes(state_of(lived.rows, blueprint), blueprint)
    return prepare_suite(blueprint, content, NOW, "7")


def of_tool(proof: DifferentialSuite, tool: str) -> DifferentialSuite:
    """The proof with that tool's cases, to be quick."""
    whole = proof.expected
    pairs = [pair for pair in zip(whole.cases, whole.observed, strict=True) if pair[0].about.startswith(f"{tool},")]
    cases, observed = tuple(case for case, _ in pairs), tuple(seen for _, seen in pairs)
    return replace(proof, expected=replace(whole, cases=cases, observed=observed))


def alive(blueprint: Blueprint, *kinds: str) -> list[Mutant]:
    """Planted errors that no case tells from a right server."""
    parts = {tool.name: of_tool(proved(), tool.name) for tool in blueprint.tools}
    planted = mutants(write_server(blueprint, NOW), kinds)
    return [mutant for mutant in planted if not run_suite(parts[mutant.tool], mutant.source)]


@pytest.mark.long
def test_nearly_every_guard_of_a_whole_service_is_reached() -> None:
    proof = proved()
    assert proof.tools_unmet == ()
    assert len(proof.guards_unmet) <= 3


@pytest.mark.long
def test_a_dropped_refusal_of_a_whole_service_is_found_unless_no_case_reaches_its_guard() -> None:
    blueprint = a_blueprint(SERVICE)
    unseen = {(mutant.tool, mutant.line) for mutant in alive(blueprint, "dropped")}
    reached_by_none = {unmet.partition(" ")[0] for unmet in proved().guards_unmet}
    assert len(unseen) <= len(proved().guards_unmet)
    assert {tool for tool, _ in unseen} <= reached_by_none


@pytest.mark.long
def test_every_turned_comparison_of_a_plain_guard_is_found() -> None:
    blueprint = a_blueprint(SERVICE)
    unseen = [mutant for mutant in alive(blueprint, "turned") if mutant.was.startswith("if ")]
    assert [(mutant.tool, mutant.was) for mutant in unseen] == []
