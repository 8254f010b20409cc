"""Worlds of the catalogue for tests of the planner, of histories and of graphs: reference rows, not yet lived in."""

from functools import cache

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL
from skillweave.schema.record import Row
from synth.offline.services import built_in
from synth.simulation.generation import filled_tables, run_generator
from synth.trial.draft import formulate
from synth.trial.generator import write_generator

NOW = "2025-03-17 09:00:00"


@cache
def a_blueprint(domain: str, *, soft_rules: str = "tool") -> Blueprint:
    """The blueprint of a domain; `soft_rules` says who holds every rule that an agent could be trusted with."""
    made = built_in().variant(7, domain)
    rendered = made.rendered
    draft = Blueprint(
        server=domain,
        domain=made.setting.topic,
        title=made.setting.title,
        core_entity=rendered.core_entity,
        entities=rendered.entities,
        relationships=rendered.relationships,
        tools=[
            tool.model_copy(
                update={
                    "guards": [
                        guard.model_copy(update={"enforced_by": "tool" if guard.concern in STRUCTURAL else soft_rules})
                        for guard in tool.guards
                    ]
                }
            )
            for tool in rendered.tools
        ],
        invariants=rendered.invariants,
        events=rendered.events,
    )
    return formulate(draft, "ZZ")


@cache
def reference_rows(domain: str) -> dict[str, list[Row]]:
    """What a generator draws for the domain."""
    blueprint = a_blueprint(domain)
    script = write_generator(domain, blueprint.core_entity, filled_tables(blueprint), blueprint.tables)
    rows, faults = run_generator(script, blueprint, 7, NOW)
    assert not faults
    return rows
