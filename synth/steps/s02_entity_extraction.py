"""s02: find the entities that each domain keeps records of, the person whom it serves first.

Domains are asked about one at a time. Only what is marked shared joins domains later: the identity of the person that
a domain's core entity is a role of. Equal names alone join nothing.
"""

from collections.abc import Sequence

from pydantic import Field

from skillweave.llm.question import question
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from synth.artifacts import DOMAIN_TOPICS, ENTITIES
from synth.context import Context
from synth.history.population import SHARED
from synth.step import Params, step

EXTRACT = question("entities.extract", returns=list[Entity])


class EntityParams(Params):
    per_domain: int = Field(default=8, ge=2)
    """Entities to ask for in each domain, at most."""


@step(each=DOMAIN_TOPICS, reads=[DOMAIN_TOPICS], writes=[ENTITIES], params=EntityParams, questions=[EXTRACT])
async def entity_extraction(ctx: Context[EntityParams], key: str) -> None:
    domain = ctx.read(DOMAIN_TOPICS)
    found = await ctx.ask(
        EXTRACT, domain=domain, count=ctx.params.per_domain, check=lambda entities: faults(domain, entities)
    )
    ctx.count("entities", len(found))
    ctx.write(ENTITIES, key, found)


def faults(domain: Domain, entities: Sequence[Entity]) -> list[str]:
    """What is wrong with a domain's entities, in words for their author."""
    if not entities or not entities[0].person or entities[0].role_of != domain.person:
        return [f"the first entity must be the person served: person: true, role_of: {domain.person!r}"]
    found = [
        f"entity {e.name!r} comes twice" for n, e in enumerate(entities) if e.name in {o.name for o in entities[:n]}
    ]
    core = entities[0]
    shared = {attribute.name: attribute.type for attribute in core.attributes if attribute.shared}
    for name, kind in shared.items():
        if SHARED.get(name) != kind:
            found.append(f"{core.name}.{name} ({kind}) cannot be shared; shared attributes are {SHARED}")
    found += [f"{core.name} must have the shared attribute {name!r}" for name in ("full_name",) if name not in shared]
    for entity in entities:
        found += _key_faults(entity)
        for attribute in entity.attributes:
            if attribute.shared and entity is not core:
                found.append(f"{entity.name}.{attribute.name} is shared, but only {core.name} has a shared person")
            target = (attribute.references or "").partition(".")[0]
            if target and target not in {other.name for other in entities}:
                found.append(f"{entity.name}.{attribute.name} references {attribute.references!r}, which is no entity")
    return found


def _key_faults(entity: Entity) -> list[str]:
    key = entity.attributes[0]
    if key.type != "string" or key.generate or key.nullable:
        return [f"{entity.name}.{key.name}: the first attribute is the key: a string without `generate`, never null"]
    return []
