"""Rows that a tool takes, that some read lists, and that people could still not ask for: tried on data lived in.

A person says of a row what the rows that hold its key have alike. Where that fits other rows too, nobody can say which
one they mean: rows that look the same, or a list that joins each with so much that nothing is left of it alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.schema.template import Source
from skillweave.schema.tool_graph import ToolGraph
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.graph.edges import data_edges
from synth.graph.results import tables_of
from synth.tasks.apart import agrees, sayable
from synth.tasks.lookup import alike
from synth.tasks.referring import PERSONS, columns_without_ids, lists_of
from synth.tasks.templates import sources_of
from synth.trial.faults import Fault

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


def alike_to_people(world: World) -> Iterator[Fault]:
    """The parameters for which each read that lists such rows leaves most of them alike to people."""
    blueprint = world.blueprint
    graph = ToolGraph(server=blueprint.server, tools=[], edges=data_edges(blueprint))
    looked: dict[tuple[str, str], _Looked] = {}
    with world.session() as session:
        for tool in blueprint.tools:
            for name, sources in sources_of(tool, blueprint, graph, []).items() if tool.kind != "auth" else ():
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
                    yield Fault("tool", tool.name, says, fatal=False, tools=(*(source.tool for source, _ in found),))


def _look(session: ContractSession, source: Source) -> _Looked:
    """What some persons are listed, each for themselves."""
    world, found = session.world, _Looked()
    read, random = world.blueprint.tool(source.tool), Random(source.tool)
    columns = columns_without_ids(world.blueprint, read)
    callers = [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]
    for session.caller in random.sample(callers, min(PERSONS, len(callers))):
        for listed in lists_of(session, read, random):
            _count(found, listed, source.column, columns)
    return found


def _count(found: _Looked, listed: list[Row], column: str, columns: list[str]) -> None:
    for key in [*dict.fromkeys(row[column] for row in listed if isinstance(row.get(column), str))][:MOST]:
        row, others = alike(listed, column, key)
        words = sayable(row, columns)
        found.rows += 1
        if not words or any(agrees(other, words) for other in others):
            found.lost += 1
            times = len(listed) - len(others)
            if not found.example or times > found.times:
                found.example, found.times = str(key), times


def _why(blueprint: Blueprint, source: Source, looked: _Looked, entity: str) -> str:
    """Why people cannot tell the rows that a read lists apart."""
    of = f"of {looked.rows} rows of {entity} that {source.tool} lists, {looked.lost}"
    if looked.times == 1:
        return f"{of} are the same as others in all that people could say of them"
    own = blueprint.entity(entity)
    parents = {(one.references or "").partition(".")[0] for one in own.attributes}
    tables = {
        table for part in tables_of(blueprint.tool(source.tool).returns.select) for table in (part.first, *part.others)
    }
    joined = sorted(one.table for one in blueprint.tables if one.table in tables and one.name not in {entity, *parents})
    return (
        f"{of} have nothing alike that tells them from others, since it joins each with "
        f"{', '.join(joined) or 'others'} ({source.column} {looked.example} stands in {looked.times} of its rows)"
    )
