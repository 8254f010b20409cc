import pytest

from skillweave.schema.entity import Attribute, Entity, Relation
from synth.offline import world_answers as world
from synth.offline.services import OfflineQuestion, built_in, domains_of
from synth.offline.world_answers import adapted_tool, match_entities

MADE = built_in().variant(7, "DentalClinic")
TABLES = [*MADE.rendered.entities, *MADE.rendered.relationships]
DOMAIN = next(domain for domain in domains_of(MADE.service, "dental clinic", 7, ()) if domain.name == "DentalClinic")


def asked(question: str, **variables: object) -> OfflineQuestion:
    return OfflineQuestion(name=question, key="DentalClinic", variables={"domain": DOMAIN, **variables}, seed=7)


def without(entity: str, attribute: str) -> list[Entity]:
    return [
        e.model_copy(update={"attributes": [a for a in e.attributes if a.name != attribute]}) if e.name == entity else e
        for e in TABLES
    ]


def renamed(old: str, new: str) -> list[Entity]:
    found = []
    for entity in TABLES:
        attributes = [
            a.model_copy(update={"references": a.references.replace(f"{old}.", f"{new}.")}) if a.references else a
            for a in entity.attributes
        ]
        update = {"attributes": attributes, "name": new if entity.name == old else entity.name}
        found.append(entity.model_copy(update=update))
    return found


def test_a_tool_on_its_own_entities_is_carried_as_it_is() -> None:
    on = match_entities(TABLES, TABLES)
    for tool in MADE.rendered.tools:
        assert adapted_tool(tool, on) == tool


def test_a_renamed_entity_is_followed_into_the_contracts() -> None:
    on = match_entities(TABLES, renamed("Dentist", "Practitioner"))
    assert on.renamed == {"Dentist": "Practitioner"}
    for tool in MADE.rendered.tools:
        carried = adapted_tool(tool, on)
        assert carried is not None
        texts = [carried.returns.select, *(g.holds for g in carried.guards), *(e.sql for e in carried.effects)]
        assert not [text for text in texts if " dentist " in text or " dentist." in text]
    reads = [adapted_tool(tool, on) for tool in MADE.rendered.tools if tool.kind == "read"]
    assert any(read and "practitioner" in read.returns.select for read in reads)


def test_a_dropped_attribute_takes_its_guards_and_result_columns_with_it() -> None:
    on = match_entities(TABLES, without("Patient", "account_status"))
    before = sum(len(tool.guards) for tool in MADE.rendered.tools)
    carried = [adapted_tool(tool, on) for tool in MADE.rendered.tools]
    after = sum(len(tool.guards) for tool in carried if tool)
    assert after < before
    assert all("account_status" not in tool.returns.select for tool in carried if tool)
    assert all("account_status" not in guard.holds for tool in carried if tool for guard in tool.guards)


def test_a_missing_relationship_takes_the_tools_that_write_it() -> None:
    left = [entity for entity in TABLES if entity.name != "Invoice"]
    book = world.book(asked("blueprint.book", tables=left))
    assert "pay_invoice" not in {tool.name for tool in book.tools}
    assert not [rule for rule in book.rules if "pay_invoice" in rule.tools]
    assert "list_treatments" in {tool.name for tool in book.tools}


def test_relationships_follow_the_edges_of_the_graph() -> None:
    entities = MADE.rendered.entities
    relations = world.relations(asked("graph.relate", entities=entities))
    whole = world.relationships(asked("blueprint.relationships", entities=entities, relations=relations))
    kept = [relation for relation in relations if relation.through != "Payment"]
    less = world.relationships(asked("blueprint.relationships", entities=entities, relations=kept))
    assert {e.name for e in whole} - {e.name for e in less} == {"Payment"}


def test_an_entity_unlike_any_other_is_no_renamed_one() -> None:
    stranger = Entity(name="Parrot", attributes=[Attribute(name="parrot_id", type="string")])
    left = [entity for entity in TABLES if entity.name != "Dentist"]
    assert match_entities(TABLES, [*left, stranger]).renamed == {}


@pytest.mark.parametrize("end", ["source", "target"])
def test_relations_name_only_what_is_there(end: str) -> None:
    relations: list[Relation] = world.relations(asked("graph.relate", entities=MADE.rendered.entities))
    names = {entity.name for entity in TABLES}
    assert {getattr(relation, end) for relation in relations} <= names
