"""Coverage of the small clinic, counted by hand from its contract and rows."""

from random import Random

from synth.simulation.coverage import CoverageSurvey
from synth.simulation.history import History
from tests.world.clinic import a_world


def test_coverage_counts_what_the_contract_holds_and_names_what_it_lacks() -> None:
    world = a_world()
    with world.session() as session:
        callers = [str(row["patient_id"]) for row in session.rows("patient")]
    coverage = CoverageSurvey(world, callers, Random(1), History()).run()
    tools = world.blueprint.tools
    assert coverage.tools == len(tools)
    assert coverage.guards == sum(len(tool.guards) for tool in tools)
    assert coverage.tools_succeeding == coverage.tools - len(coverage.failing_tools)
    assert coverage.guards_first_broken == coverage.guards - len(coverage.unmet)
    known = {(tool.name, guard.rule) for tool in tools for guard in tool.guards}
    assert {(unmet.tool, unmet.rule) for unmet in coverage.unmet} <= known
    assert coverage.unsound == []


def test_a_tool_that_once_succeeded_does_not_fail() -> None:
    world = a_world()
    nobody = CoverageSurvey(world, [], Random(1), History())
    writes = [tool.name for tool in world.blueprint.tools if tool.kind == "write"]
    assert set(writes) <= set(nobody.run().failing_tools)
    once = CoverageSurvey(world, [], Random(1), History(succeeded={writes[0]: 1}))
    assert writes[0] not in once.run().failing_tools
