"""Answers about worlds: domains, entities, relations, relationships, tools and rules (s01-s04)."""

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from skillweave.schema.graph import Relation
from synth.contracting.book import book_of, contract_of
from synth.offline.adapt import (
    Ground,
    carried_events,
    carried_invariants,
    carried_relationship,
    carried_tool,
    ground,
)
from synth.offline.answers.asked import Asked
from synth.offline.variation import Variant, domains_of, services_for
from synth.questions.types import Contract, Mended, RuleBook, Rules


def expand(asked: Asked) -> list[Domain]:
    """Domains near a seed that are not known yet."""
    known = set(asked.many("known", str))
    topic = asked.get("seed", str)
    found = [domain for service in services_for(topic) for domain in domains_of(service, topic)]
    return [domain for domain in found if domain.name not in known][: asked.get("count", int)]


def entities(asked: Asked) -> list[Entity]:
    """The entities of a domain, its core person first."""
    rendered = asked.variant(asked.get("domain", Domain).name).rendered
    ordered = sorted(rendered.entities, key=lambda entity: entity.name != rendered.core_entity)
    return ordered[: asked.get("count", int)]


def relations(asked: Asked) -> list[Relation]:
    """Which of the given entities are related: by a reference, or through a relationship that names both."""
    made = asked.variant(asked.get("domain", Domain).name)
    given = asked.many("entities", Entity)
    on = ground(made.rendered.entities, given)
    core = on.renamed.get(made.rendered.core_entity, made.rendered.core_entity)
    names = {entity.name for entity in given}
    found = [
        Relation(source=target, target=entity.name, cardinality="one_to_many", label="has")
        for entity in given
        for target in _targets(entity, on)
        if target in names
    ]
    names |= {relationship.name for relationship in made.rendered.relationships}
    for relationship in made.rendered.relationships:
        targets = [target for target in dict.fromkeys(_targets(relationship, on)) if target in names]
        others = [target for target in targets if target != core]
        if core in targets and others:
            found += [
                Relation(source=core, target=other, cardinality="many_to_many", through=relationship.name, label="has")
                for other in others
            ]
        else:
            found += [
                Relation(source=end, target=relationship.name, cardinality="one_to_many", through=relationship.name)
                for end in targets
            ]
    return found


def book(asked: Asked) -> RuleBook:
    """The company, its tools and rules, as far as the tables at hand carry them."""
    made, on = _on(asked, asked.many("tables", Entity))
    tools = [carried for tool in made.rendered.tools if (carried := carried_tool(tool, on))]
    return book_of(made.setting.title, tools)


def relationships(asked: Asked) -> list[Entity]:
    """The relationships that the graph's relations go through."""
    made = asked.variant(asked.get("domain", Domain).name)
    given = asked.many("entities", Entity)
    wanted = {relation.through for relation in asked.many("relations", Relation) if relation.through}
    kept = [entity for entity in made.rendered.relationships if entity.name in wanted]
    on = ground([*made.rendered.entities, *kept], [*given, *kept])
    return [carried_relationship(entity, on) for entity in kept]


def contracts(asked: Asked) -> list[Contract]:
    """The contracts of some tools."""
    draft = asked.get("draft", Blueprint)
    made, on = _on(asked, draft.tables)
    wanted = asked.many("asked", str)
    found = (carried_tool(tool, on) for tool in made.rendered.tools if tool.name in wanted)
    return [contract_of(tool) for tool in found if tool]


def rules(asked: Asked) -> Rules:
    """What is never true of the data, and what the back office does."""
    made, on = _on(asked, asked.many("tables", Entity))
    return Rules(
        invariants=carried_invariants(made.rendered.invariants, on), events=carried_events(made.rendered.events, on)
    )


def mend(asked: Asked) -> Mended:
    """Nothing: the catalogue has no other parts than those that were given."""
    return Mended()


def _on(asked: Asked, tables: list[Entity]) -> tuple[Variant, Ground]:
    made = asked.variant(asked.get("domain", Domain).name)
    return made, ground([*made.rendered.entities, *made.rendered.relationships], tables)


def _targets(entity: Entity, on: Ground) -> list[str]:
    references = [attribute.references.partition(".")[0] for attribute in entity.attributes if attribute.references]
    return [on.renamed.get(name, name) for name in references]
