"""Result columns: where each column of a tool's result comes from, and which rows it tells of."""

from collections.abc import Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute, Entity
from synth.graph.results import Joined, Place, Schema, columns_of, tables_of


def origins(tool: Tool) -> dict[str, Place | None]:
    """Result column -> (table, column) that it shows as it is; None where it is computed."""
    return {column.name: column.origin for column in columns_of(tool.returns.select)}


def keys_shown(blueprint: Blueprint, tool: Tool) -> dict[str, set[str]]:
    """Entity -> columns of the tool's result that hold keys of its rows (its own, or references to it)."""
    found: dict[str, set[str]] = {}
    for column, entity, _ in _keys(blueprint, tool):
        found.setdefault(entity, set()).add(column)
    return found


def subject(blueprint: Blueprint, tool: Tool) -> str | None:
    """The entity that the rows of a tool's result are about: that of the first table read; None where none is."""
    tables = {joined.first for joined in tables_of(tool.returns.select)}
    return next((entity.name for entity in blueprint.tables if tables == {entity.table}), None)


def rows_told(blueprint: Blueprint, tool: Tool) -> dict[str, set[str]]:
    """Entity -> columns that hold the keys of the very rows that the result is about: one each, as it is now.

    These are the rows of the first table, and of tables joined to it that reference it. Where the result keeps to what
    is the caller's, it is about nothing else: a list of one's visits tells no free slots.
    """
    parts = [_about(blueprint, joined) for joined in tables_of(tool.returns.select)]
    found: dict[str, set[str]] = {}
    for column, entity, holders in _keys(blueprint, tool):
        is_other = any(holder == entity and not own for holder, own in holders)
        within = {holder for holder, _ in holders}
        if not is_other and parts and all(entity in part and part & within for part in parts):
            found.setdefault(entity, set()).add(column)
    return found


def unshown(blueprint: Blueprint) -> list[tuple[str, str]]:
    """Tool and parameter where no read tells which row to name: none lists such rows, or none that can be called."""
    told, people = set[str](), _people(blueprint)
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    for _ in reads:
        can = (read for read in reads if all(_target(one) in told - people for one in _naming(read) if one.required))
        told = told.union(*(rows_told(blueprint, read) for read in can))
    return [
        (tool.name, parameter.name)
        for tool in blueprint.tools
        if tool.kind != "auth"
        for parameter in _naming(tool)
        if _target(parameter) not in told
    ]


def is_own(blueprint: Blueprint, entity: Entity) -> bool:
    """Whether each row of an entity is some caller's: references that are never NULL lead to the person served."""
    people = _people(blueprint)
    seen, open_ = set[str](), [entity.name]
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        open_ += [_parent(one) for one in blueprint.entity(name).attributes if one.references and not one.nullable]
    return bool(seen & people) and entity.name not in people


def inserted_tables(blueprint: Blueprint) -> set[str]:
    """Tables that some tool inserts into."""
    trees = [sqlglot.parse_one(effect.sql, dialect="sqlite") for tool in blueprint.tools for effect in tool.effects]
    return {tree.find(exp.Table).name for tree in trees if isinstance(tree, exp.Insert) and tree.find(exp.Table)}  # type: ignore[union-attr]


def _people(blueprint: Blueprint) -> set[str]:
    """The person served, as the world and each domain know them."""
    return {blueprint.core_entity, *(role.own.name for role in blueprint.roles)}


def _naming(tool: Tool) -> list[Parameter]:
    """The parameters that name rows."""
    return [parameter for parameter in tool.parameters if parameter.refers_to]


def _target(parameter: Parameter) -> str:
    return (parameter.refers_to or "").partition(".")[0]


def _keys(blueprint: Blueprint, tool: Tool) -> Iterator[tuple[str, str, set[tuple[str, bool]]]]:
    """Columns that hold keys of one entity in every part of the query: with the entity, and the entities that hold
    them, each with whether the key is its own."""
    entities = {entity.table: entity for entity in blueprint.tables}
    for column in columns_of(tool.returns.select, _schema(blueprint)):
        places = [(entities.get(place[0]), place[1]) if place else (None, "") for place in column.origins]
        held = [(entity, *_named(entity, name)) for entity, name in places if entity is not None]
        targets = {target for _, target, _ in held}
        if len(held) == len(places) and len(targets) == 1 and (target := targets.pop()):
            yield column.name, target, {(entity.name, own) for entity, _, own in held}


def _named(entity: Entity, column: str) -> tuple[str | None, bool]:
    """The entity whose key a column holds, None if none's, and whether it is the row's own."""
    attribute = next((one for one in entity.attributes if one.name == column), None)
    if attribute is not None and attribute.name == entity.key:
        return entity.name, True
    return (_parent(attribute) if attribute is not None and attribute.references else None), False


def _about(blueprint: Blueprint, joined: Joined) -> set[str]:
    """The entities whose rows one part of a query is about.

    A list for one row that the call gives (the free seats of a performance) is about what it joins to that row, too.
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    tables = [*dict.fromkeys((joined.first, *joined.others))]
    left = [table for table in tables if table not in _same(entities, joined)]
    about = {one.name: one for some in (tables, left) for one in _referring(entities, some)}
    own = [entity for entity in about.values() if entity.table in left and is_own(blueprint, entity)]
    kept = own if any(entity.table in joined.always for entity in own) else about.values()
    return {entity.name for entity in kept}


def _referring(entities: Mapping[str, Entity], tables: Sequence[str]) -> list[Entity]:
    """The entity of the first table, and of those that refer to it, or to one that does."""
    about = [entities[table] for table in tables[:1] if table in entities]
    others = [entities[table] for table in tables[1:] if table in entities]
    for _ in others:
        names = {entity.name for entity in about}
        about += [one for one in others if one.name not in names and {*map(_parent, one.attributes)} & names]
    return about


def _same(entities: Mapping[str, Entity], joined: Joined) -> set[str]:
    """Tables of which all rows of a result have the same row: that of a key that the call gives, and its parents."""
    found = {table for table, column in joined.given if table in entities and entities[table].key == column}
    names = {_parent(one) for table in found for one in entities[table].attributes} - {""}
    return found | {table for table, entity in entities.items() if found and entity.name in names}


def _parent(attribute: Attribute) -> str:
    return (attribute.references or "").partition(".")[0]


def _schema(blueprint: Blueprint) -> Schema:
    return frozenset((entity.table, tuple(one.name for one in entity.attributes)) for entity in blueprint.tables)
