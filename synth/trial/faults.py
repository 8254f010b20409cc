"""Faults of a blueprint that need no broken call: tables that nothing fills, rows that no read shows or tells apart.

A person describes a row by what the rows that hold its key have in common. If that also fits other rows, nobody
can say which one they mean.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row
from skillweave.schema.template import RowSource, ToolGraph
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.contracts.dependencies import data_edges, row_sources
from synth.contracts.results import joined_tables
from synth.contracts.visibility import column_origins, keys_shown, parameters_without_read, subject_entity, subject_keys
from synth.search.lookup import common_row
from synth.search.row_words import PERSONS, columns_without_ids, listed_rows, row_matches, sayable_columns
from synth.simulation.generation import filled_tables, has_rows
from synth.trial.generator import can_be_drawn

BlueprintPart = Literal["table", "tool", "invariant", "event", "company"]


@dataclass(frozen=True)
class BlueprintFault:
    """Something wrong with a blueprint, in words for its author."""

    part: BlueprintPart
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


def unfilled_tables(blueprint: Blueprint) -> Iterator[BlueprintFault]:
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
        yield BlueprintFault("table", entity.name, says)


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


def hidden_rows(blueprint: Blueprint) -> Iterator[BlueprintFault]:
    """Rows that a tool takes or changes, and that no read shows: nobody could ask for them."""
    reads = tuple(tool.name for tool in blueprint.tools if tool.kind == "read")
    for tool, parameter in parameters_without_read(blueprint):
        entity = blueprint.entity((blueprint.tool(tool).parameter(parameter).refers_to or "").partition(".")[0])
        says = (
            f"{tool}.{parameter} names a row of {entity.name}, and nobody can find one: {_unlisted(blueprint, entity)}"
            f". Let a read list rows of {entity.table}, one for each with its {entity.key} straight from the table, as "
            "they are when the tool can take them"
        )
        yield BlueprintFault("tool", tool, says, fatal=False, tools=reads)
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
            yield BlueprintFault("table", written.name, says, fatal=False, tools=reads)


def _unlisted(blueprint: Blueprint, entity: Entity) -> str:
    """Why no read lists the rows of an entity: where else their key stands."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    found = [_elsewhere(blueprint, read, entity) for read in reads if entity.name in keys_shown(blueprint, read)]
    return "; ".join(found) or f"no read returns {entity.name}.{entity.key}"


def _elsewhere(blueprint: Blueprint, read: Tool, entity: Entity) -> str:
    """How a read shows the key of rows that it does not list."""
    if entity.name in subject_keys(blueprint, read):
        return f"{read.name} lists them, and asks for a row that nobody can find"
    shown, places = keys_shown(blueprint, read)[entity.name], column_origins(read)
    references = [".".join(place) for name in sorted(shown) if (place := places.get(name)) and place[0] != entity.table]
    if len(references) == len(shown):
        return f"{read.name} shows them only as what other rows refer to ({', '.join(references)})"
    about = subject_entity(blueprint, read)
    if about in (None, entity.name):
        return f"{read.name} shows them only where they are joined with what is the customer's own"
    return f"{read.name} shows them only beside rows of {about}, in a row for each of those"


MOST = 60
"""Keys of one list that are looked at."""
SHARE = 0.5
"""Of the rows that a read lists: where more cannot be told apart, it is no way to find one."""


@dataclass
class _Looked:
    """What people can make of the rows that one read lists."""

    rows: int = 0
    lost: int = 0
    """Rows of which all that can be said fits others too."""
    example: str = ""
    times: int = 1
    """Rows of one list that hold the key of the example."""


def indistinguishable_rows(world: World) -> Iterator[BlueprintFault]:
    """The parameters for which each read that lists such rows leaves most of them alike to people."""
    blueprint = world.blueprint
    graph = ToolGraph(server=blueprint.server, tools=[], edges=data_edges(blueprint))
    looked: dict[tuple[str, str], _Looked] = {}
    with world.session() as session:
        for tool in blueprint.tools:
            for name, sources in row_sources(tool, blueprint, graph, []).items() if tool.kind != "auth" else ():
                entity = (tool.parameter(name).refers_to or "").partition(".")[0]
                for source in sources:
                    if (source.tool, source.column) not in looked:
                        looked[source.tool, source.column] = _look(session, source)
                found = [(source, looked[source.tool, source.column]) for source in sources]
                if found and all(one.lost > SHARE * one.rows for _, one in found):
                    why = "; ".join(_why(blueprint, source, one, entity) for source, one in found)
                    says = (
                        f"{tool.name}.{name} names a row of {entity}, and nobody can say which: {why}. Let a read list "
                        f"one row for each {entity}, with what people call it by"
                    )
                    yield BlueprintFault(
                        "tool", tool.name, says, fatal=False, tools=(*(source.tool for source, _ in found),)
                    )


def _look(session: ContractSession, source: RowSource) -> _Looked:
    """What some persons are listed, each for themselves."""
    world, found = session.world, _Looked()
    read, random = world.blueprint.tool(source.tool), Random(source.tool)
    columns = columns_without_ids(world.blueprint, read)
    callers = [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]
    for session.caller in random.sample(callers, min(PERSONS, len(callers))):
        for listed in listed_rows(session, read, random):
            _count(found, listed, source.column, columns)
    return found


def _count(found: _Looked, listed: list[Row], column: str, columns: list[str]) -> None:
    for key in [*dict.fromkeys(row[column] for row in listed if isinstance(row.get(column), str))][:MOST]:
        row, others = common_row(listed, column, key)
        words = sayable_columns(row, columns)
        found.rows += 1
        if not words or any(row_matches(other, words) for other in others):
            found.lost += 1
            times = len(listed) - len(others)
            if not found.example or times > found.times:
                found.example, found.times = str(key), times


def _why(blueprint: Blueprint, source: RowSource, looked: _Looked, entity: str) -> str:
    """Why people cannot tell the rows that a read lists apart."""
    of = f"of {looked.rows} rows of {entity} that {source.tool} lists, {looked.lost}"
    if looked.times == 1:
        return f"{of} are the same as others in all that people could say of them"
    own = blueprint.entity(entity)
    parents = {(one.references or "").partition(".")[0] for one in own.attributes}
    tables = {
        table
        for part in joined_tables(blueprint.tool(source.tool).returns.select)
        for table in (part.first, *part.others)
    }
    joined = sorted(one.table for one in blueprint.tables if one.table in tables and one.name not in {entity, *parents})
    return (
        f"{of} have nothing alike that tells them from others, since it joins each with "
        f"{', '.join(joined) or 'others'} ({source.column} {looked.example} stands in {looked.times} of its rows)"
    )
