"""Edges that follow from contracts: who signs in, whose result is whose argument, whose effect changes whose guard."""

from collections.abc import Sequence
from functools import cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.tool_graph import ToolEdge
from skillweave.world.sql import parse
from synth.graph.columns import keys_shown


def auth_edges(blueprint: Blueprint) -> list[ToolEdge]:
    """From the tool that signs in to every other."""
    return [
        ToolEdge(source=auth.name, target=tool.name, kind="auth")
        for auth in blueprint.tools
        if auth.kind == "auth"
        for tool in blueprint.tools
        if tool.kind != "auth"
    ]


def data_edges(blueprint: Blueprint) -> list[ToolEdge]:
    """From each tool whose result shows a key to each parameter that names such a row."""
    shown = {tool.name: keys_shown(blueprint, tool) for tool in blueprint.tools}
    return [
        ToolEdge(source=source, target=target.name, kind="data", parameter=parameter.name, column=column)
        for target in blueprint.tools
        for parameter in target.parameters
        if parameter.refers_to
        for source in shown
        if source != target.name
        for column in sorted(shown[source].get(parameter.refers_to.partition(".")[0], set()))
    ]


def state_edges(blueprint: Blueprint) -> list[ToolEdge]:
    """From each write to each guard that reads a column which it writes (a candidate, until it is executed)."""
    written = {
        tool.name: columns_written([effect.sql for effect in tool.effects])
        for tool in blueprint.tools
        if tool.kind == "write"
    }
    found: dict[tuple[str, str, str], ToolEdge] = {}
    for target in blueprint.tools:
        for guard in target.guards:
            read = columns_read(guard.holds)
            for source, columns in written.items():
                if touches(columns, read):
                    edge = ToolEdge(source=source, target=target.name, kind="state", rule=guard.rule, proof="unproven")
                    found.setdefault((source, target.name, guard.rule), edge)
    return list(found.values())


Columns = frozenset[tuple[str, str | None]]
"""(table, column); a None column is the whole row."""


def touches(written: Columns, read: Columns) -> bool:
    """Whether what is written bears on what is read."""
    tables_written = {table for table, column in written if column is None}
    return bool(written & read) or any(table in tables_written for table, _ in read)


def columns_written(statements: Sequence[str]) -> Columns:
    """What statements write."""
    found: set[tuple[str, str | None]] = set()
    for statement in statements:
        tree = parse(statement).tree
        table = tree.find(exp.Table)
        if table is None:
            continue
        if isinstance(tree, exp.Update):
            found |= {(table.name, change.left.name) for change in tree.expressions if isinstance(change, exp.EQ)}
        else:
            found.add((table.name, None))
    return frozenset(found)


@cache
def columns_read(guard: str) -> Columns:
    """What a guard reads; a column counts for each table that it could be of."""
    tree = parse(f"SELECT (\n{guard}\n)").tree
    tables = {table.name for table in tree.find_all(exp.Table)}
    return frozenset((table, column.name) for column in tree.find_all(exp.Column) for table in tables)
