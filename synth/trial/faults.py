"""Faults of a blueprint that show without anybody living in it: tables that nothing fills, rows that no read shows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.world.sql import parse
from synth.graph.columns import keys_shown, origins, rows_told, subject, unshown
from synth.history.generation import filled_tables, has_rows
from synth.trial.generator import can_be_drawn

Part = Literal["table", "tool", "invariant", "event", "company"]


@dataclass(frozen=True)
class Fault:
    """Something wrong with a blueprint, in words for its author."""

    part: Part
    name: str
    """Of the part: an entity, a tool, an invariant; empty for the company as a whole."""
    says: str
    fatal: bool = True
    """False: its author hears of it, and the world lives with it where it is not mended."""
    tools: tuple[str, ...] = ()
    """Whose contracts bear on it."""


def tables_in(sql: str) -> set[str]:
    """The tables that a statement names."""
    return {table.name for table in parse(sql).tree.find_all(exp.Table)}


def unfilled(blueprint: Blueprint) -> Iterator[Fault]:
    """Tables whose first rows are drawn, and nothing says how, or that nothing fills."""
    drawn = filled_tables(blueprint)
    for entity in drawn:
        undrawn = [one.name for one in entity.attributes if not can_be_drawn(entity, one)]
        if not (entity.name == blueprint.core_entity or has_rows(entity)):
            says = (
                f"nothing fills the table {entity.table}: no tool inserts into it, and {entity.name} has no `rows`. "
                "Give it `rows`, and `generate` for its attributes, or a write that makes its rows"
            )
        elif undrawn:
            says = (
                f"rows of {entity.table} are drawn before anybody uses a tool, and nothing says how: give `generate` "
                f"or `initial` to {', '.join(undrawn)}"
            )
        elif early := _made_later(blueprint, entity, drawn):
            says = (
                f"the rows of {entity.table} are drawn before anybody uses a tool, and {', '.join(early)} "
                "names rows that tools make, of which there are none yet: let it be empty at first (nullable), or "
                f"let a write make the rows of {entity.table}"
            )
        else:
            continue
        yield Fault("table", entity.name, says)


def _made_later(blueprint: Blueprint, entity: Entity, drawn: Collection[Entity]) -> list[str]:
    """The columns of a drawn table that need rows which only tools make."""
    later = {one.name for one in blueprint.tables} - {one.name for one in drawn}
    return [
        f"{entity.name}.{one.name}"
        for one in entity.attributes
        if (one.references or "").partition(".")[0] in later
        and (not one.nullable or entity.rows.per == (one.references or "").partition(".")[0])
        and not (one.generate and one.generate.sql)
    ]


def hidden(blueprint: Blueprint) -> Iterator[Fault]:
    """Rows that a tool takes or changes, and that no read shows: nobody could ask for them."""
    reads = tuple(tool.name for tool in blueprint.tools if tool.kind == "read")
    for tool, parameter in unshown(blueprint):
        entity = blueprint.entity((blueprint.tool(tool).parameter(parameter).refers_to or "").partition(".")[0])
        says = (
            f"{tool}.{parameter} names a row of {entity.name}, and nobody can find one: {_unlisted(blueprint, entity)}"
            f". Let a read list rows of {entity.table}, one for each with its {entity.key} straight from the table, as "
            "they are when the tool can take them"
        )
        yield Fault("tool", tool, says, fatal=False, tools=reads)
    shown = {entity for read in reads for entity in keys_shown(blueprint, blueprint.tool(read))}
    for written in blueprint.tables:
        writers = [
            tool.name
            for tool in blueprint.tools
            if any(parse(effect.sql).target == written.table for effect in tool.effects)
        ]
        if writers and written.name not in {*shown, blueprint.core_entity}:
            says = (
                f"{', '.join(writers)} {'write' if len(writers) > 1 else 'writes'} rows of {written.table}, and no "
                f"read returns {written.name}.{written.key}: let a read show them"
            )
            yield Fault("table", written.name, says, fatal=False, tools=reads)


def _unlisted(blueprint: Blueprint, entity: Entity) -> str:
    """Why no read lists the rows of an entity: where else their key stands."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    found = [_elsewhere(blueprint, read, entity) for read in reads if entity.name in keys_shown(blueprint, read)]
    return "; ".join(found) or f"no read returns {entity.name}.{entity.key}"


def _elsewhere(blueprint: Blueprint, read: Tool, entity: Entity) -> str:
    """How a read shows the key of rows that it does not list."""
    if entity.name in rows_told(blueprint, read):
        return f"{read.name} lists them, and asks for a row that nobody can find"
    shown, places = keys_shown(blueprint, read)[entity.name], origins(read)
    references = [".".join(place) for name in sorted(shown) if (place := places.get(name)) and place[0] != entity.table]
    if len(references) == len(shown):
        return f"{read.name} shows them only as what other rows refer to ({', '.join(references)})"
    about = subject(blueprint, read)
    if about in (None, entity.name):
        return f"{read.name} shows them only where they are joined with what is the customer's own"
    return f"{read.name} shows them only beside rows of {about}, in a row for each of those"
