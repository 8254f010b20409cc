"""Faults of a blueprint that show without anybody living in it: tables that nothing fills, rows that no read shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.world.sql import parse
from synth.graph.columns import inserted_tables, keys_shown
from synth.trial.generator import can_be_drawn

Part = Literal["table", "tool", "invariant", "company"]


@dataclass(frozen=True)
class Fault:
    """Something wrong with a blueprint, in words for its author."""

    part: Part
    name: str
    """Of the part: an entity, a tool, an invariant; empty for the company as a whole."""
    says: str
    fatal: bool = True
    """False: its author hears of it, and the world lives with it where it is not mended."""


def tables_in(sql: str) -> set[str]:
    """The tables that a statement names."""
    return {table.name for table in parse(sql).tree.find_all(exp.Table)}


def unfilled(blueprint: Blueprint) -> Iterator[Fault]:
    """Tables that no tool inserts into, and of which nothing says how their first rows are drawn."""
    inserted = inserted_tables(blueprint)
    for entity in blueprint.tables:
        if entity.table in inserted:
            continue
        rows = entity.rows
        if not (entity.name == blueprint.core_entity or rows.count or rows.per or rows.literal):
            yield Fault(
                "table",
                entity.name,
                f"nothing fills the table {entity.table}: no tool inserts into it, and {entity.name} has no `rows`. Give it `rows`, "
                "and `generate` for its attributes, or a write that makes its rows, or drop it",
            )
            continue
        undrawn = [one.name for one in entity.attributes if not can_be_drawn(entity, one)]
        if undrawn:
            yield Fault(
                "table",
                entity.name,
                f"no tool inserts into {entity.table}, so its rows are drawn, and nothing says how {', '.join(undrawn)} "
                f"{'is' if len(undrawn) == 1 else 'are'}: give {'it' if len(undrawn) == 1 else 'each'} `generate` or `initial`",
            )


def unshown(blueprint: Blueprint) -> Iterator[Fault]:
    """Rows that a tool takes or changes, and that no read shows: nobody could ask for them."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    shown = {entity for read in reads for entity in keys_shown(blueprint, read)}
    for tool in blueprint.tools:
        for parameter in tool.parameters:
            entity = (parameter.refers_to or "").partition(".")[0]
            if entity and entity not in shown and parameter.required:
                yield Fault(
                    "tool",
                    tool.name,
                    f"{tool.name}.{parameter.name} names a row of {entity}, and no read returns {parameter.refers_to} as a column "
                    "of its own, so nobody can find such a row: let a read return it",
                    fatal=False,
                )
        changed = {table for effect in tool.effects for table in [parse(effect.sql).target] if table}
        for entity_of in blueprint.tables:
            if entity_of.table in changed and entity_of.name not in shown:
                yield Fault(
                    "tool",
                    tool.name,
                    f"{tool.name} writes rows of {entity_of.table}, and no read returns {entity_of.name}.{entity_of.key}: let a "
                    "read show them",
                    fatal=False,
                )
