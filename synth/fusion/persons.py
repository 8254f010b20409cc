"""The persons of a fused world: their shared attributes, and the rows of the fused database.

The population's map of keys joins persons, never their names. Shared attributes come from the domains' own
rows, which must agree.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedEntity, FusedMember
from skillweave.schema.entity import Attribute, ColumnComparison, Entity
from skillweave.schema.record import Row
from skillweave.world import database
from synth.simulation.generation import state_of

PERSON_KEY = "person_id"
"""The key of the shared person's table, unless an attribute has that name."""
_STRICTEST_FIRST: tuple[ColumnComparison, ...] = ("exact", "normalised", "free")


def person_of(blueprints: Sequence[Blueprint]) -> str:
    """The kind of shared person whom all these domains serve.

    Raises:
        WorldError: They serve different persons, or are not two domains or more, each once.
    """
    servers = [blueprint.server for blueprint in blueprints]
    if len(set(servers)) < len(servers):
        raise WorldError(f"a domain can be in a fused world once; given were {', '.join(servers)}")
    if len(servers) < 2:
        raise WorldError(f"two domains or more make a fused world; given were {', '.join(servers) or 'none'}")
    roles = {blueprint.server: blueprint.core.role_of for blueprint in blueprints}
    persons = set(roles.values())
    if len(persons) > 1 or None in persons:
        served = ", ".join(f"{server}'s is {role or 'nobody shared'}" for server, role in roles.items())
        raise WorldError(f"these domains do not serve one shared person: {served}")
    return str(roles[servers[0]])


def shared_person(
    blueprints: Sequence[Blueprint], members: Sequence[FusedMember], person: str, key: str
) -> FusedEntity:
    """The entity of the shared person: a column for the key in each domain, and every attribute that any shares.

    Args:
        blueprints: The contracts of the domains.
        members: The domains as members of the fused world.
        person: The entity's name.
        key: The name of its key.
    """
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
    names = dict.fromkeys(
        attribute.name for blueprint in blueprints for attribute in blueprint.core.attributes if attribute.shared
    )
    return FusedEntity(
        name=person,
        server=None,
        origin=role,
        description=f"Somebody who has dealings with {in_words([member.title for member in members])}.",
        person=True,
        role_of=role,
        # The ids of the population begin like this.
        prefix=role.upper()[:3],
        attributes=[
            Attribute(name=key, type="string"),
            *accounts,
            *(_shared_attribute(name, blueprints) for name in names),
        ],
    )


def _shared_attribute(name: str, blueprints: Sequence[Blueprint]) -> Attribute:
    """One attribute of the shared person, as all domains declare it. WorldError if they do not agree."""
    declared = {
        blueprint.server: attribute
        for blueprint in blueprints
        for attribute in blueprint.core.attributes
        if attribute.name == name and attribute.shared
    }
    keys = {blueprint.server: blueprint.core.key for blueprint in blueprints}
    server, first = next(iter(declared.items()))
    for other, attribute in declared.items():
        if attribute.references is not None or name == keys[other]:
            raise WorldError(f"{other} shares {name!r} of its person, which is a key; keys are each domain's own")
        for field in ("type", "enum", "unit"):
            if getattr(attribute, field) != getattr(first, field):
                raise WorldError(
                    f"{name!r} of the shared person has {field} {getattr(attribute, field)!r} in {other} and "
                    f"{getattr(first, field)!r} in {server}; domains must agree on what they share"
                )
    return first.model_copy(
        update={
            "nullable": len(declared) < len(blueprints)
            or any(declaration.nullable for declaration in declared.values()),
            "unique": any(declaration.unique for declaration in declared.values()),
            "compare": min((declaration.compare for declaration in declared.values()), key=_STRICTEST_FIRST.index),
            "generate": None,
        }
    )


def in_words(parts: Sequence[str]) -> str:
    """Join names to text: `A`, `A and B`, `A, B and C`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def fused_state(
    fused: FusedBlueprint, blueprints: Sequence[Blueprint], files: Mapping[str, Path], people: Sequence[Row]
) -> sqlite3.Connection:
    """Join the domains' databases in memory.

    Args:
        fused: The contract of the fused world.
        blueprints: The contracts of the domains.
        files: Their databases, by server.
        people: The shared persons, each with a column a server for their key there.

    Raises:
        WorldError: The domains' rows do not agree, or break a constraint of the fused tables.
    """
    databases = {blueprint.server: database.load(files[blueprint.server], blueprint) for blueprint in blueprints}
    try:
        return state_of(fused_rows(fused, databases, people), fused)
    except sqlite3.Error as error:
        raise WorldError(f"the rows of {fused.server} break a constraint of their tables: {error}") from error
    finally:
        for connection in databases.values():
            connection.close()


def fused_rows(
    fused: FusedBlueprint, databases: Mapping[str, sqlite3.Connection], people: Sequence[Row]
) -> dict[str, list[Row]]:
    """The rows of a fused world, by table.

    Args:
        fused: The contract of the fused world.
        databases: Of the domains, by server.
        people: The shared persons, each with a column a server for their key there.

    Raises:
        WorldError: The domains' rows do not agree on a person, or have a person who is not in `people`.
    """
    rows_by_table: dict[str, list[Row]] = {}
    shared: dict[str, Row] = {}
    for member, view in zip(fused.members, fused.people, strict=True):
        person_rows = database.rows(databases[member.server], _own_entity(view.entity))
        _add_persons(fused, member, person_rows, people, shared)
        for entity in [*fused.entities, *fused.relationships]:
            if entity.name == member.person:
                rows_by_table[entity.table] = [_cells_of(row, entity) for row in person_rows]
            elif entity.server == member.server:
                rows_by_table[entity.table] = database.rows(databases[member.server], _own_entity(entity))
    rows_by_table[fused.core.table] = [_with_missing(shared[person], fused.core) for person in sorted(shared)]
    return rows_by_table


def _add_persons(
    fused: FusedBlueprint, member: FusedMember, rows: Sequence[Row], people: Sequence[Row], shared: dict[str, Row]
) -> None:
    """Add what a domain knows of its persons to `shared`: person -> row of the shared table."""
    persons = {row[member.server]: str(row[PERSON_KEY]) for row in people if row.get(member.server) is not None}
    names = [attribute.name for attribute in fused.core.attributes if attribute.shared]
    for row in rows:
        key = row[member.key]
        person = persons.get(key)
        if person is None:
            raise WorldError(f"the people of this run tell of nobody who is {key!r} in {member.server}")
        known = shared.setdefault(person, {fused.core.key: person})
        if known.get(member.account) is not None:
            raise WorldError(f"{person} is both {known[member.account]!r} and {key!r} in {member.server}")
        known[member.account] = key
        for name in names:
            _merge_cell(known, name, row, f"{person} is {key!r} in {member.server}")


def _merge_cell(known: Row, name: str, row: Row, who: str) -> None:
    if name not in row:
        return
    if name in known and known[name] != row[name]:
        raise WorldError(
            f"{who}, where {name!r} is {row[name]!r}; another domain has {known[name]!r} for the same person"
        )
    known[name] = row[name]


def _own_entity(entity: FusedEntity) -> Entity:
    """The entity as its own domain declares it."""
    return Entity(name=entity.origin, attributes=entity.attributes)


def _cells_of(row: Row, entity: Entity) -> Row:
    return {attribute.name: row[attribute.name] for attribute in entity.attributes}


def _with_missing(row: Row, entity: Entity) -> Row:
    return {attribute.name: row.get(attribute.name) for attribute in entity.attributes}
