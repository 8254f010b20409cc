"""The shared person of a fused world: who it is, and what its domains share of it."""

from collections.abc import Sequence

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Attribute, Comparison
from skillweave.schema.fused import FusedEntity, Member

PERSON_KEY = "person_id"
_STRICTEST_FIRST: tuple[Comparison, ...] = ("exact", "normalised", "free")


def person_of(blueprints: Sequence[Blueprint]) -> str:
    """The shared person whom all these domains serve. WorldError where they serve different ones."""
    servers = [blueprint.server for blueprint in blueprints]
    if len(set(servers)) < len(servers):
        raise WorldError(f"a domain can be in a fused world once; given were {', '.join(servers)}")
    if len(servers) < 2:
        raise WorldError(f"two domains or more make a fused world; given were {', '.join(servers) or 'none'}")
    roles = {blueprint.server: blueprint.core.role_of for blueprint in blueprints}
    found = set(roles.values())
    if len(found) > 1 or None in found:
        told = ", ".join(f"{server}'s is {role or 'nobody shared'}" for server, role in roles.items())
        raise WorldError(f"these domains do not serve one shared person: {told}")
    return str(roles[servers[0]])


def shared_person(blueprints: Sequence[Blueprint], members: Sequence[Member], person: str, key: str) -> FusedEntity:
    """The entity, under this name: the key in each domain, and every attribute that any of them shares."""
    role = person_of(blueprints)
    accounts = [
        Attribute(
            name=member.account,
            type="string",
            description=f"Their {member.key} with {member.title}.",
            nullable=True,
            unique=True,
        )
        for member in members
    ]
    names = dict.fromkeys(one.name for blueprint in blueprints for one in blueprint.core.attributes if one.shared)
    return FusedEntity(
        name=person,
        server=None,
        origin=role,
        description=f"Somebody who has dealings with {in_words([member.title for member in members])}.",
        person=True,
        role_of=role,
        # As the ids of the population begin.
        prefix=role.upper()[:3],
        attributes=[Attribute(name=key, type="string"), *accounts, *(_shared(name, blueprints) for name in names)],
    )


def _shared(name: str, blueprints: Sequence[Blueprint]) -> Attribute:
    """One attribute of the shared person, as all who have it declare it. WorldError where they do not agree."""
    found = {
        blueprint.server: one
        for blueprint in blueprints
        for one in blueprint.core.attributes
        if one.name == name and one.shared
    }
    keys = {blueprint.server: blueprint.core.key for blueprint in blueprints}
    server, first = next(iter(found.items()))
    for other, attribute in found.items():
        if attribute.references is not None or name == keys[other]:
            raise WorldError(f"{other} shares {name!r} of its person, which is a key; keys are each domain's own")
        for what in ("type", "enum", "unit"):
            if getattr(attribute, what) != getattr(first, what):
                raise WorldError(
                    f"{name!r} of the shared person has {what} {getattr(attribute, what)!r} in {other} and "
                    f"{getattr(first, what)!r} in {server}; domains must agree on what they share"
                )
    return first.model_copy(
        update={
            "nullable": len(found) < len(blueprints) or any(one.nullable for one in found.values()),
            "unique": any(one.unique for one in found.values()),
            "compare": min((one.compare for one in found.values()), key=_STRICTEST_FIRST.index),
            "generate": None,
        }
    )


def in_words(parts: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
