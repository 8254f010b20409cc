"""Answers about worlds: domains, entities, relations, relationships, tools and rules (s01-s04)."""

from skillweave.schema.contract import Tool
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from skillweave.schema.graph import Relation
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
from synth.questions.types import Outline, Relationships, Rules, ToolOutline


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


def outline(asked: Asked) -> Outline:
    """The company, and its tools in a line each, as far as the entities at hand carry them."""
    made, on, _ = _on(asked)
    tools = [tool for tool in made.rendered.tools if carried_tool(tool, on)]
    return Outline(
        title=made.setting.title,
        tools=[ToolOutline(name=tool.name, kind=tool.kind, description=tool.description) for tool in tools],
    )


def relationships(asked: Asked) -> Relationships:
    """The relationships that the graph's relations go through."""
    made = asked.variant(asked.get("domain", Domain).name)
    given = asked.many("entities", Entity)
    wanted = {relation.through for relation in asked.many("relations", Relation) if relation.through}
    kept = [entity for entity in made.rendered.relationships if entity.name in wanted]
    on = ground([*made.rendered.entities, *kept], [*given, *kept])
    return Relationships(relationships=[carried_relationship(entity, on) for entity in kept])


def tool(asked: Asked) -> Tool | None:
    """The contract of one tool."""
    made, on, _ = _on(asked)
    wanted = asked.get("outline", ToolOutline)
    found = next((tool for tool in made.rendered.tools if tool.name == wanted.name), None)
    return carried_tool(found, on) if found else None


def rules(asked: Asked) -> Rules:
    """What is never true of the data, and what the back office does."""
    made, on, _ = _on(asked)
    return Rules(
        invariants=carried_invariants(made.rendered.invariants, on), events=carried_events(made.rendered.events, on)
    )


def _on(asked: Asked) -> tuple[Variant, Ground, list[Entity]]:
    made = asked.variant(asked.get("domain", Domain).name)
    tables = [*asked.many("entities", Entity), *asked.many("relationships", Entity)]
    return made, ground([*made.rendered.entities, *made.rendered.relationships], tables), tables


def _targets(entity: Entity, on: Ground) -> list[str]:
    references = [attribute.references.partition(".")[0] for attribute in entity.attributes if attribute.references]
    return [on.renamed.get(name, name) for name in references]
