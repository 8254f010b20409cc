"""Deciding facts: what a guard reads of rows, and which reads show it. Who sees it can know that a rule is broken."""

from collections.abc import Collection
from functools import cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Guard, Parameter, Tool
from skillweave.schema.fused import FusedBlueprint
from skillweave.world.sql import parse
from synth.graph.results import Place, columns_of


def decided_by(blueprint: Blueprint, guard: Guard) -> set[Place]:
    """Columns that decide a guard; keys and references, which only say which row is meant, left out."""
    told = {
        (entity.table, attribute.name)
        for entity in blueprint.tables
        for attribute in entity.attributes
        if attribute.name != entity.key and attribute.references is None
    }
    if isinstance(blueprint, FusedBlueprint):
        told -= {(view.shared, view.account) for view in blueprint.people}
    return told & _columns(f"SELECT (\n{guard.holds}\n)")


def shown_by(tool: Tool) -> frozenset[Place]:
    """Columns that a tool's result shows as they are, or that one of its figures is reckoned from."""
    return frozenset().union(*(column.shows for column in columns_of(tool.returns.select)))


def unseen(blueprint: Blueprint) -> list[tuple[str, str, str]]:
    """Tool, rule and `table.column` where a rule that an agent may have to hold turns on what no read shows."""
    shown = frozenset().union(*(shown_by(tool) for tool in blueprint.tools if tool.kind == "read"))
    return [
        (tool.name, guard.rule, f"{table}.{column}")
        for tool in blueprint.tools
        for guard in tool.guards
        if guard.concern not in STRUCTURAL
        for table, column in sorted(decided_by(blueprint, guard) - shown)
    ]


@cache
def _columns(sql: str) -> frozenset[Place]:
    tree = parse(sql).tree
    return frozenset(place for column in tree.find_all(exp.Column) for place in _places(column))


def _places(column: exp.Column) -> set[Place]:
    """Where a column may stand: in the table that it names, or in those of the innermost SELECT around it."""
    around = column.parent_select
    while around is not None:
        tables = [table for table in around.find_all(exp.Table) if table.parent_select is around]
        found = {(table.name, column.name) for table in tables if column.table in ("", table.alias_or_name)}
        if found:
            return found
        around = around.parent_select
    return set()


def unknown(blueprint: Blueprint, tool: Tool, rule: str) -> frozenset[Place]:
    """What an agent has to see to know whether a call keeps a rule: nothing where the tool itself tells."""
    guard = next(guard for guard in tool.guards if guard.rule == rule)
    return frozenset(decided_by(blueprint, guard)) if guard.enforced_by == "agent" else frozenset()


def seen_in(blueprint: Blueprint, asked: Tool, read: Tool, arguments: Collection[str]) -> set[Place]:
    """What a read has shown: of a list that was narrowed down, only what it says of rows that the request names."""
    named = {blueprint.target(parameter.refers_to)[0].table for parameter in asked.parameters if parameter.refers_to}
    is_whole = {*arguments} <= {parameter.name for parameter in needed(read)}
    return {place for place in shown_by(read) if is_whole or place[0] in named}


def reads_that_show(blueprint: Blueprint, wanted: Collection[Place], rows: Collection[str | None]) -> list[Tool] | None:
    """Few reads that together show these columns, given rows of some kinds; None where they cannot be seen."""
    reads = [read for read in blueprint.tools if read.kind == "read" and all(p.refers_to in rows for p in needed(read))]
    missing, found = set(wanted), list[Tool]()
    while missing:
        best = max(reads, key=lambda read: len(shown_by(read) & missing), default=None)
        if best is None or not shown_by(best) & missing:
            return None
        found.append(best)
        missing -= shown_by(best)
    return found


def needed(tool: Tool) -> list[Parameter]:
    """The parameters that a call has to give."""
    return [parameter for parameter in tool.parameters if parameter.required]
