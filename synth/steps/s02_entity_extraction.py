"""s02: find the entities that each domain keeps records of, the person whom it serves first.

Each domain is one question, and its author hears at once what is wrong with the tables. Later steps join domains only
by attributes marked shared: the identity of the person whose role a domain's core entity is. Equal names alone join
nothing.
"""

from collections.abc import Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.elements import ElementCheck
from skillweave.llm.question import question
from skillweave.schema.entity import Domain, Entity
from synth.artifacts import DOMAIN_TOPICS, ENTITIES
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.simulation.generation import SHARED_ATTRIBUTES
from synth.trial.draft import draft_of, faults_by_table, table_faults

EXTRACT = question("entities.extract", returns=list[Entity], most=32, under="entities")


class EntityParams(Params):
    per_domain: int = Field(default=8, ge=2)
    """Entities to ask for in each domain, at most."""


@step(each=DOMAIN_TOPICS, reads=[DOMAIN_TOPICS], writes=[ENTITIES], params=EntityParams, questions=[EXTRACT])
async def entity_extraction(ctx: Context[EntityParams], key: str) -> None:
    domain = ctx.read(DOMAIN_TOPICS)
    parts: ElementCheck[list[Entity]] = ElementCheck(
        lambda answer: faults_by_table(faults(domain, answer), answer) if answer else [], lambda entity: entity.name
    )
    entities = await ctx.ask(
        EXTRACT,
        domain=domain,
        count=ctx.params.per_domain,
        now=ctx.now,
        check=parts,
    )
    if not entities:
        raise AuthorError(f"there is no entity in {key}; the first must be the person served")
    ctx.count("entities", len(entities))
    ctx.write(ENTITIES, key, entities)


def faults(domain: Domain, entities: Sequence[Entity]) -> list[str]:
    """What is wrong with a domain's entities, in words for their author."""
    core = entities[0]
    if not core.person or core.role_of != domain.person:
        is_so = f"it is {core.name!r} with person: {str(core.person).lower()}, role_of: {core.role_of!r}"
        return [f"the first entity must be the person served: person: true, role_of: {domain.person!r}; {is_so}"]
    complaints = [*_person_faults(core), *(fault for entity in entities for fault in _key_faults(entity))]
    for entity in entities[1:]:
        complaints += [
            f"{entity.name}.{attribute.name} is shared, but only {core.name} has a shared person"
            for attribute in entity.attributes
            if attribute.shared
        ]
    return complaints or table_faults(draft_of(domain, entities))


def _person_faults(core: Entity) -> list[str]:
    shared = {attribute.name: attribute.type for attribute in core.attributes if attribute.shared}
    known = ", ".join(f"{name} ({type_})" for name, type_ in SHARED_ATTRIBUTES.items())
    complaints = [
        f"{core.name}.{name} ({type_}) cannot be shared; what may be is {known}"
        for name, type_ in shared.items()
        if SHARED_ATTRIBUTES.get(name) != type_
    ]
    if "full_name" not in shared:
        complaints.append(f"{core.name} must have the shared attribute 'full_name' (string)")
    return complaints


def _key_faults(entity: Entity) -> list[str]:
    key = entity.attributes[0]
    if key.type != "string" or key.generate or key.nullable:
        return [f"{entity.name}.{key.name}: the first attribute is the key: type string, no generate, not nullable"]
    return []
