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
from synth.contracts.results import joined_tables
from synth.contracts.visibility import column_origins, keys_shown, parameters_without_read, subject_entity, subject_keys
from synth.contracts.writes import data_edges, row_sources
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
    """Of the part: an entity, a tool, an invariant, an event. Empty for the company as a whole."""
    says: str
    fatal: bool = True
    """False: its author hears of it, but the world can do without a repair."""
    tools: tuple[str, ...] = ()
    """The tools whose contracts the author should see with it."""


def tables_in(sql: str) -> set[str]:
    """The tables that a statement names."""
    return {table.name for table in parse(sql).tree.find_all(exp.Table)}


def unfilled_tables(blueprint: Blueprint) -> Iterator[BlueprintFault]:
    """Tables that nothing fills, or whose first rows are drawn although nothing says how."""
    drawn = filled_tables(blueprint)
    for entity in drawn:
        undrawn = [attribute.name for attribute in entity.attributes if not can_be_drawn(entity, attribute)]
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
        elif early := _columns_needing_later_rows(blueprint, entity, drawn):
            says = (
                f"the rows of {entity.table} are drawn before anybody uses a tool, and {', '.join(early)} "
                "names rows that tools make, of which there are none yet: let it be empty at first (nullable), or "
                f"let a write make the rows of {entity.table}"
            )
        else:
            continue
        yield BlueprintFault("table", entity.name, says)


def _columns_needing_later_rows(blueprint: Blueprint, entity: Entity, drawn: Collection[Entity]) -> list[str]:
    """The columns of a drawn table that refer to rows which only tools make."""
    tool_made = {entity.name for entity in blueprint.tables} - {one.name for one in drawn}
    return [
        f"{entity.name}.{attribute.name}"
        for attribute in entity.attributes
        if (attribute.references or "").partition(".")[0] in tool_made
        and (not attribute.nullable or entity.rows.per == (attribute.references or "").partition(".")[0])
        and not (attribute.generate and attribute.generate.sql)
    ]


def hidden_rows(blueprint: Blueprint) -> Iterator[BlueprintFault]:
    """Rows that a tool takes or changes, and that no read shows, so that nobody could ask for them."""
    reads = tuple(tool.name for tool in blueprint.tools if tool.kind == "read")
    for tool, parameter in parameters_without_read(blueprint):
        entity = blueprint.entity((blueprint.tool(tool).parameter(parameter).refers_to or "").partition(".")[0])
        why = _why_unlisted(blueprint, entity)
        says = (
            f"{tool}.{parameter} names a row of {entity.name}, and nobody can find one: {why}. Let a read list rows of "
            f"{entity.table}, one for each with its {entity.key} straight from the table, as they are when the tool "
            "can take them"
        )
        yield BlueprintFault("tool", tool, says, fatal=False, tools=reads)
    entities_shown = {entity for read in reads for entity in keys_shown(blueprint, blueprint.tool(read))}
    for written in blueprint.tables:
        writers = [
            tool.name
            for tool in blueprint.tools
            if any(parse(effect.sql).target == written.table for effect in tool.effects)
        ]
        if writers and written.name not in {*entities_shown, blueprint.core_entity}:
            says = (
                f"{', '.join(writers)} {'write' if len(writers) > 1 else 'writes'} rows of {written.table}, and no "
                f"read returns {written.name}.{written.key}: let a read show them"
            )
            yield BlueprintFault("table", written.name, says, fatal=False, tools=reads)


def _why_unlisted(blueprint: Blueprint, entity: Entity) -> str:
    """Why no read lists the rows of an entity, and where else their key is shown."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    places = [_where_shown(blueprint, read, entity) for read in reads if entity.name in keys_shown(blueprint, read)]
    return "; ".join(places) or f"no read returns {entity.name}.{entity.key}"


def _where_shown(blueprint: Blueprint, read: Tool, entity: Entity) -> str:
    """How a read shows the key of rows that it does not list itself."""
    if entity.name in subject_keys(blueprint, read):
        return f"{read.name} lists them, and asks for a row that nobody can find"
    shown, places = keys_shown(blueprint, read)[entity.name], column_origins(read)
    references = [".".join(place) for name in sorted(shown) if (place := places.get(name)) and place[0] != entity.table]
    if len(references) == len(shown):
        return f"{read.name} shows them only as what other rows refer to ({', '.join(references)})"
    subject = subject_entity(blueprint, read)
    if subject in (None, entity.name):
        return f"{read.name} shows them only where they are joined with what is the customer's own"
    return f"{read.name} shows them only beside rows of {subject}, in a row for each of those"


MOST_KEYS = 60
"""Keys of one list that are considered."""
MOST_LOST = 0.5
"""Share of a read's rows that cannot be told apart, above which the read is no way to find one."""


@dataclass
class _ListedRows:
    """How well people can tell the rows apart that one read lists."""

    rows: int = 0
    lost: int = 0
    """Rows whose description fits other rows too."""
    example: str = ""
    """The key of one lost row."""
    times: int = 1
    """Rows of one list that hold the key of the example."""


def indistinguishable_rows(world: World) -> Iterator[BlueprintFault]:
    """Parameters whose rows people cannot tell apart in any read that lists them."""
    blueprint = world.blueprint
    graph = ToolGraph(server=blueprint.server, tools=[], edges=data_edges(blueprint))
    by_source: dict[tuple[str, str], _ListedRows] = {}
    with world.session() as session:
        for tool in blueprint.tools:
            for name, sources in row_sources(tool, blueprint, graph, []).items() if tool.kind != "auth" else ():
                entity = (tool.parameter(name).refers_to or "").partition(".")[0]
                for source in sources:
                    if (source.tool, source.column) not in by_source:
                        by_source[source.tool, source.column] = _listed_rows(session, source)
                lists = [(source, by_source[source.tool, source.column]) for source in sources]
                if lists and all(listed.lost > MOST_LOST * listed.rows for _, listed in lists):
                    why = "; ".join(_why(blueprint, source, listed, entity) for source, listed in lists)
                    says = (
                        f"{tool.name}.{name} names a row of {entity}, and nobody can say which: {why}. Let a read list "
                        f"one row for each {entity}, with what people call it by"
                    )
                    yield BlueprintFault(
                        "tool", tool.name, says, fatal=False, tools=(*(source.tool for source, _ in lists),)
                    )


def _listed_rows(session: ContractSession, source: RowSource) -> _ListedRows:
    """The rows that a read lists to some persons."""
    world, rows = session.world, _ListedRows()
    read, random = world.blueprint.tool(source.tool), Random(source.tool)
    columns = columns_without_ids(world.blueprint, read)
    callers = [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]
    for session.caller in random.sample(callers, min(PERSONS, len(callers))):
        for listed in listed_rows(session, read, random):
            _count(rows, listed, source.column, columns)
    return rows


def _count(rows: _ListedRows, listed: list[Row], column: str, columns: list[str]) -> None:
    for key in [*dict.fromkeys(common[column] for common in listed if isinstance(common.get(column), str))][:MOST_KEYS]:
        common, others = common_row(listed, column, key)
        words = sayable_columns(common, columns)
        rows.rows += 1
        if not words or any(row_matches(other, words) for other in others):
            rows.lost += 1
            times = len(listed) - len(others)
            if not rows.example or times > rows.times:
                rows.example, rows.times = str(key), times


def _why(blueprint: Blueprint, source: RowSource, listed: _ListedRows, entity: str) -> str:
    """Why people cannot tell the rows apart that a read lists, in words for the author."""
    start = f"of {listed.rows} rows of {entity} that {source.tool} lists, {listed.lost}"
    if listed.times == 1:
        return f"{start} are the same as others in all that people could say of them"
    its_entity = blueprint.entity(entity)
    parents = {(attribute.references or "").partition(".")[0] for attribute in its_entity.attributes}
    tables = {
        table
        for part in joined_tables(blueprint.tool(source.tool).returns.select)
        for table in (part.first, *part.others)
    }
    joined = sorted(one.table for one in blueprint.tables if one.table in tables and one.name not in {entity, *parents})
    return (
        f"{start} have nothing alike that tells them from others, since it joins each with "
        f"{', '.join(joined) or 'others'} ({source.column} {listed.example} stands in {listed.times} of its rows)"
    )
