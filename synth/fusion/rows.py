"""The rows of a fused world: each domain's own, and one row for each person whom any of them knows.

Persons are joined by the population's map of keys, never by name. Shared attributes are taken from the domains' own
rows, which must agree.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Entity
from skillweave.schema.fused import FusedBlueprint, FusedEntity, Member
from skillweave.schema.record import Row
from skillweave.world import database
from synth.fusion.person import PERSON_KEY
from synth.history.generation import state_of


def fused_state(
    fused: FusedBlueprint, blueprints: Sequence[Blueprint], files: Mapping[str, Path], people: Sequence[Row]
) -> sqlite3.Connection:
    """The fused database in memory, made of the domains' files, by server. WorldError where they do not fit."""
    databases = {one.server: database.load(files[one.server], one) for one in blueprints}
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
    """Table -> rows. `databases` are by server; `people` has, for each person, a column a server with their key there.

    WorldError where the domains' rows do not agree on a person, or know somebody whom `people` does not tell of.
    """
    found: dict[str, list[Row]] = {}
    shared: dict[str, Row] = {}
    for member, view in zip(fused.members, fused.people, strict=True):
        whole = database.rows(databases[member.server], _as_before(view.entity))
        _add_persons(fused, member, whole, people, shared)
        for entity in [*fused.entities, *fused.relationships]:
            if entity.name == member.person:
                found[entity.table] = [_part(row, entity) for row in whole]
            elif entity.server == member.server:
                found[entity.table] = database.rows(databases[member.server], _as_before(entity))
    found[fused.core.table] = [_filled(shared[person], fused.core) for person in sorted(shared)]
    return found


def _add_persons(
    fused: FusedBlueprint, member: Member, rows: Sequence[Row], people: Sequence[Row], shared: dict[str, Row]
) -> None:
    """Add what a domain knows of its persons to `shared`, by person."""
    persons = {row[member.server]: str(row[PERSON_KEY]) for row in people if row.get(member.server) is not None}
    names = [one.name for one in fused.core.attributes if one.shared]
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
            _agree(known, name, row, f"{person} is {key!r} in {member.server}")


def _agree(known: Row, name: str, row: Row, who: str) -> None:
    if name not in row:
        return
    if name in known and known[name] != row[name]:
        raise WorldError(
            f"{who}, where {name!r} is {row[name]!r}; another domain has {known[name]!r} for the same person"
        )
    known[name] = row[name]


def _as_before(entity: FusedEntity) -> Entity:
    """The entity as its own domain has it."""
    return Entity(name=entity.origin, attributes=entity.attributes)


def _part(row: Row, entity: Entity) -> Row:
    return {one.name: row[one.name] for one in entity.attributes}


def _filled(row: Row, entity: Entity) -> Row:
    return {one.name: row.get(one.name) for one in entity.attributes}
