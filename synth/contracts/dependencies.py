"""How tools depend on one another by their SQL: what a statement reads and writes, and the edges that follow."""

from collections.abc import Collection, Sequence
from functools import cache

import sqlglot
from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.template import RowSource, ToolEdge, ToolGraph
from skillweave.world.sql import parse
from synth.contracts.visibility import keys_shown, subject_entity, subject_keys


def auth_edges(blueprint: Blueprint) -> list[ToolEdge]:
    """Edges from the tools that sign in to all others."""
    return [
        ToolEdge(source=auth.name, target=tool.name, kind="auth")
        for auth in blueprint.tools
        if auth.kind == "auth"
        for tool in blueprint.tools
        if tool.kind != "auth"
    ]


def data_edges(blueprint: Blueprint) -> list[ToolEdge]:
    """Edges from each tool whose result shows a key to each parameter that names such a row."""
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
    """Edges from each write to each guard that reads a column which it writes. They are candidates until executed."""
    written = {
        tool.name: columns_written([effect.sql for effect in tool.effects])
        for tool in blueprint.tools
        if tool.kind == "write"
    }
    edges: dict[tuple[str, str, str], ToolEdge] = {}
    for target in blueprint.tools:
        for guard in target.guards:
            read = columns_read(guard.holds)
            for source, columns in written.items():
                if affects(columns, read):
                    edge = ToolEdge(source=source, target=target.name, kind="state", rule=guard.rule, proof="unproven")
                    edges.setdefault((source, target.name, guard.rule), edge)
    return list(edges.values())


def lookup_sources(blueprint: Blueprint, graph: ToolGraph) -> dict[str, dict[str, list[RowSource]]]:
    """Read -> parameter that names a row -> the reads that show such rows."""
    reads = [tool for tool in blueprint.tools if tool.kind == "read"]
    return {tool.name: sources for tool in reads if (sources := row_sources(tool, blueprint, graph, []))}


def row_sources(
    tool: Tool, blueprint: Blueprint, graph: ToolGraph, given: Collection[str]
) -> dict[str, list[RowSource]]:
    """The reads by which a row can be found that a tool's parameter names.

    Args:
        given: Parameters that need no look-up.

    Returns:
        Parameter -> the reads that list such rows, or else those whose rows hold their keys.
    """
    own: dict[str, list[RowSource]] = {}
    others: dict[str, list[RowSource]] = {}
    for edge in graph.edges:
        if edge.kind != "data" or edge.target != tool.name or edge.parameter in given or not edge.parameter:
            continue
        entity = (tool.parameter(edge.parameter).refers_to or "").partition(".")[0]
        source = blueprint.tool(edge.source)
        if source.kind == "read" and edge.column in subject_keys(blueprint, source).get(entity, ()):
            sources = own if subject_entity(blueprint, source) == entity else others
            sources.setdefault(edge.parameter, []).append(RowSource(tool=edge.source, column=edge.column))
    return {**others, **own}


AccessedColumns = frozenset[tuple[str, str | None]]
"""(table, column) pairs; a column None stands for the whole row."""


def affects(written: AccessedColumns, read: AccessedColumns) -> bool:
    """Whether a write to some columns can change a read of others."""
    tables_written = {table for table, column in written if column is None}
    return bool(written & read) or any(table in tables_written for table, _ in read)


def columns_written(statements: Sequence[str]) -> AccessedColumns:
    """The columns that statements write."""
    columns: set[tuple[str, str | None]] = set()
    for statement in statements:
        tree = parse(statement).tree
        table = tree.find(exp.Table)
        if table is None:
            continue
        if isinstance(tree, exp.Update):
            columns |= {(table.name, change.left.name) for change in tree.expressions if isinstance(change, exp.EQ)}
        else:
            columns.add((table.name, None))
    return frozenset(columns)


@cache
def columns_read(guard: str) -> AccessedColumns:
    """The columns that a guard reads. A column counts for each table that it could belong to."""
    tree = parse(f"SELECT (\n{guard}\n)").tree
    tables = {table.name for table in tree.find_all(exp.Table)}
    return frozenset((table, column.name) for column in tree.find_all(exp.Column) for table in tables)


def columns_filled_by(tool: Tool, parameter: str) -> dict[str, list[str]] | None:
    """The columns that an argument is written into unchanged.

    Returns:
        Table -> columns; None if the argument does more than that, or nothing.
    """
    filled: dict[str, list[str]] = {}
    for effect in tool.effects:
        columns = _filled(effect.sql, parameter)
        if columns is None:
            return None
        for table, column in columns:
            filled.setdefault(table, []).append(column)
    return filled or None


@cache
def _filled(sql: str, parameter: str) -> tuple[tuple[str, str], ...] | None:
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    places = [node for node in tree.find_all(exp.Placeholder) if node.name == parameter]
    columns = []
    for node in places:
        column = _column_filled(tree, node)
        if column is None:
            return None
        columns.append(column)
    return tuple(columns)


def _column_filled(tree: exp.Expr, node: exp.Expr) -> tuple[str, str] | None:
    value = node
    while isinstance(value.parent, (exp.Coalesce, exp.Paren, exp.Alias, exp.Trim)):
        value = value.parent
    if isinstance(tree, exp.Update) and isinstance(value.parent, exp.EQ) and value.parent.parent is tree:
        return tree.this.name, value.parent.left.name
    if isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Schema):
        names = [identifier.name for identifier in tree.this.expressions]
        row = value.parent
        if isinstance(row, exp.Tuple) or (isinstance(row, exp.Select) and row is tree.expression):
            place = next((n for n, expression in enumerate(row.expressions) if expression is value), None)
            if place is not None and place < len(names):
                return tree.this.this.name, names[place]
    return None
