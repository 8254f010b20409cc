from random import Random

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL
from skillweave.schema.entity import Relation
from synth.offline.services import built_in, domains_of
from synth.steps import s02_entity_extraction as s02
from synth.steps import s03_entity_graph as s03
from synth.steps.s01_domain_expansion import likeness
from synth.trial.draft import formulate, rule_numbers, server_initials
from synth.trial.trial import with_enforcers

MADE = built_in().variant(7, "DentalClinic")
DOMAINS = [*domains_of(MADE.service, "dental clinic", 7, ())]


def a_blueprint() -> Blueprint:
    rendered = MADE.rendered
    return Blueprint(
        server="DentalClinic",
        domain="dental clinic appointments",
        title="Clinic",
        core_entity=rendered.core_entity,
        entities=rendered.entities,
        relationships=rendered.relationships,
        tools=rendered.tools,
        invariants=rendered.invariants,
    )


def test_the_same_words_make_a_near_duplicate_and_other_words_do_not() -> None:
    first, second, *_ = DOMAINS
    assert likeness(first, first.model_copy(update={"name": "DENTALCLINIC"})) == 1
    assert likeness(first, first.model_copy(update={"name": "ClinicDental"})) == 1
    assert likeness(first, second) < 0.8


def test_a_domain_needs_the_person_it_serves_first() -> None:
    ordered = sorted(MADE.rendered.entities, key=lambda entity: entity.name != MADE.rendered.core_entity)
    assert s02.faults(DOMAINS[0], ordered) == []
    assert "first entity must be the person" in s02.faults(DOMAINS[0], ordered[::-1])[0]
    other = DOMAINS[0].model_copy(update={"person": "Traveller"})
    assert s02.faults(other, ordered)


def test_an_entity_that_nothing_connects_is_named() -> None:
    entities = sorted(MADE.rendered.entities, key=lambda entity: entity.name != MADE.rendered.core_entity)
    names = [entity.name for entity in entities]
    chain = [
        Relation(source=names[0], target=name, cardinality="many_to_many", through=f"Link{n}")
        for n, name in enumerate(names[1:-1])
    ]
    assert s03.faults(entities, chain) == [f"{names[-1]} is not connected with {names[0]}"]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_share_of_the_business_rules_is_the_agents_and_no_structural_one(share: float) -> None:
    tools = with_enforcers(a_blueprint(), share, Random(3).shuffle).tools
    held: dict[str, set[str]] = {}
    for tool in tools:
        for guard in tool.guards:
            held.setdefault(guard.rule, set()).add(guard.enforced_by)
            assert guard.enforced_by == "tool" or guard.concern not in STRUCTURAL
    assert all(len(enforcers) == 1 for enforcers in held.values())
    structural = {g.rule for t in MADE.rendered.tools for g in t.guards if g.concern in STRUCTURAL}
    soft = held.keys() - structural
    agents = {rule for rule, enforcers in held.items() if enforcers == {"agent"}}
    assert len(agents) == round(len(soft) * share)


def test_rules_are_numbered_once_each_in_the_order_of_the_tools_with_gaps() -> None:
    blueprint = a_blueprint()
    numbers = [int(number.removeprefix("R")) for number in rule_numbers(blueprint).values()]
    assert numbers == sorted({*numbers})
    assert len(numbers) * 1.5 < numbers[-1] < len(numbers) * 3
    done = formulate(blueprint, "DC")
    sentences: dict[str, set[str]] = {}
    for tool in done.tools:
        for guard in tool.guards:
            sentences.setdefault(guard.rule, set()).add(guard.says)
    assert all(len(found) == 1 for found in sentences.values())


def test_prefixes_are_unique_over_all_servers() -> None:
    names = ["DentalClinic", "DentalCare", "Hotel", "Hostel", "DC"]
    initials = server_initials(names)
    assert len(set(initials.values())) == len(names)
    prefixes = [entity.prefix for entity in formulate(a_blueprint(), initials["DentalClinic"]).tables]
    assert len(set(prefixes)) == len(prefixes)
    assert all(prefix.startswith(initials["DentalClinic"]) for prefix in prefixes)


def test_server_initials_stay_when_another_server_comes() -> None:
    few, more = server_initials(["DentalClinic", "Hotel"]), server_initials(["DentalClinic", "Hotel", "Pharmacy"])
    assert {name: more[name] for name in few} == few
