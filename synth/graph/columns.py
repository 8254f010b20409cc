"""Result columns: where each column of a tool's result comes from."""

from functools import cache

import sqlglot
from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool


def origins(tool: Tool) -> dict[str, tuple[str, str] | None]:
    """Result column -> (table, column) that it shows as it is; None where it is computed."""
    return dict(_origins(tool.returns.select))


def keys_shown(blueprint: Blueprint, tool: Tool) -> dict[str, set[str]]:
    """Entity -> columns of the tool's result that hold keys of its rows (its own, or references to it)."""
    entities = {entity.table: entity for entity in blueprint.tables}
    found: dict[str, set[str]] = {}
    for column, origin in origins(tool).items():
        entity = entities.get(origin[0]) if origin else None
        if origin is None or entity is None:
            continue
        attribute = next((a for a in entity.attributes if a.name == origin[1]), None)
        if attribute is None:
            continue
        if attribute.name == entity.key:
            found.setdefault(entity.name, set()).add(column)
        elif attribute.references:
            found.setdefault(attribute.references.partition(".")[0], set()).add(column)
    return found


@cache
def _origins(select: str) -> tuple[tuple[str, tuple[str, str] | None], ...]:
    tree = sqlglot.parse_one(select, dialect="sqlite")
    while isinstance(tree, exp.Union):
        tree = tree.left
    if not isinstance(tree, exp.Select):
        return ()
    tables = {
        table.alias_or_name: table.name for table in tree.find_all(exp.Table) if table.find_ancestor(exp.Select) is tree
    }
    found = []
    for projection in tree.expressions:
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        origin = None
        if isinstance(inner, exp.Column):
            table = tables.get(inner.table) if inner.table else next(iter(tables.values()), None)
            origin = (table, inner.name) if table and (inner.table or len(tables) == 1) else None
        found.append((projection.alias_or_name, origin))
    return tuple(found)


def subject(blueprint: Blueprint, tool: Tool) -> str | None:
    """The entity that the rows of a tool's result are about: that of the first table read; None where none is."""
    table = _first_table(tool.returns.select)
    return next((entity.name for entity in blueprint.tables if entity.table == table), None)


def inserted_tables(blueprint: Blueprint) -> set[str]:
    """Tables that some tool inserts into."""
    trees = [sqlglot.parse_one(effect.sql, dialect="sqlite") for tool in blueprint.tools for effect in tool.effects]
    return {tree.find(exp.Table).name for tree in trees if isinstance(tree, exp.Insert) and tree.find(exp.Table)}  # type: ignore[union-attr]


@cache
def _first_table(select: str) -> str | None:
    tree = sqlglot.parse_one(select, dialect="sqlite")
    while isinstance(tree, exp.Union):
        tree = tree.left
    source = tree.args.get("from_") or tree.args.get("from")
    table = source.this if source is not None else None
    return table.name if isinstance(table, exp.Table) else None
