"""Agent rules of the catalogue: whichever of them an agent breaks, the data stay whole."""

from itertools import islice
from random import Random

import pytest

from skillweave.schema.contract import STRUCTURAL
from skillweave.world.world import World
from synth.search.arguments import ArgumentSearch
from synth.simulation.build import simulate_history
from synth.simulation.events import InvariantMonitor
from synth.simulation.generation import state_of
from synth.simulation.history import HistoryPlan
from tests.simulation.worlds import NOW, a_blueprint, reference_rows


@pytest.mark.parametrize(
    "domain", ["DentalClinic", *(pytest.param(name, marks=pytest.mark.long) for name in ("HealthPlan", "CarRental"))]
)
def test_a_breach_of_an_agent_rule_breaks_no_invariant(domain: str) -> None:
    built = simulate_history(a_blueprint(domain), reference_rows(domain), NOW, HistoryPlan(visits=150, days=20), "7/a")
    blueprint = a_blueprint(domain, soft_rules="agent")
    world, watch, random = (
        World(blueprint, state_of(built.rows, blueprint), now=NOW),
        InvariantMonitor(blueprint),
        Random(1),
    )
    people = [str(row[blueprint.core.key]) for row in built.rows[blueprint.core.table]]
    breaches = 0
    with world.session() as session:
        for tool in blueprint.tools:
            for guard in tool.guards:
                if tool.kind != "write" or guard.concern in STRUCTURAL:
                    continue
                for caller in random.sample(people, 4):
                    session.caller = caller
                    search = ArgumentSearch(blueprint, tool, session, caller, NOW, random, nodes=60)
                    for arguments in islice(search.breaking(guard.rule), 1):
                        mark = session.mark()
                        result = session.call(tool.name, arguments)
                        assert result.ok or (result.error and result.error.code != "world_defect"), (tool, guard)
                        if result.ok:
                            breaches += 1
                            assert guard.rule in result.violations
                            assert watch.broken(session, [effect.sql for effect in tool.effects]) is None
                        session.forget(mark)
    assert breaches > 10
