"""What the tools of a world write and read, found in their SQL as SQLite prepares it, whatever the arguments are.

Each answer is an upper bound: a tool never writes a table or column that is not listed here. Tools are joined by that.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Guard, RowChange, Tool
from skillweave.schema.template import RowSource, ToolEdge, ToolGraph
from skillweave.world.canonical import is_new, minted_by
from skillweave.world.contract.tools import StatementPreparer
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown, subject_entity, subject_keys

ROW = "*"
"""Stands for the row as such: it is inserted or deleted."""
KEPT = 8
"""Worlds whose statements are remembered."""


def written_columns(world: World, tool: Tool) -> dict[str, list[str]]:
    """Table -> columns that an effect of the tool may write, sorted; `*` where it makes or removes rows."""
    accesses = _accesses(world)
    written: dict[str, set[str]] = {}
    for effect in tool.effects:
        access = accesses.of(effect.sql)
        for table in access.inserts | access.deletes:
            written.setdefault(table, set()).add(ROW)
        for table, columns in access.updates.items():
            written.setdefault(table, set()).update(columns)
    return {table: sorted(columns) for table, columns in sorted(written.items())}


def written_pairs(world: World, tool: Tool) -> set[tuple[str, str]]:
    """The same as pairs of table and column."""
    return {(table, column) for table, columns in written_columns(world, tool).items() for column in columns}


def changed_pairs(changes: Sequence[RowChange]) -> set[tuple[str, str]]:
    """Tables and columns of row changes; `*` for a row that is made or removed."""
    return {
        (change.table, column)
        for change in changes
        for column in (change.after or {} if change.op == "update" else [ROW])
    }


@lru_cache(maxsize=KEPT)
def _accesses(world: World) -> StatementPreparer:
    return StatementPreparer(world.blueprint)


Column = tuple[str, str]
"""Table and column."""


@dataclass(frozen=True)
class ToolWrites:
    """What one tool writes."""

    updates: frozenset[Column]
    """Columns of rows that are there already."""
    inserts: dict[str, int | None]
    """Table -> rows that one call makes at most; None: any number."""
    deletes: frozenset[str]
    makes: frozenset[str]
    """Tables into which a call that succeeds has surely inserted."""
    flows: dict[str, frozenset[Column]]
    """Parameter -> columns of rows surely made that hold its value, trimmed or not, when they are made."""


@lru_cache(maxsize=8)
def writes_of(world: World) -> dict[str, ToolWrites]:
    """What each tool writes, by name."""
    return {tool.name: _writes(tool, world.blueprint, _accesses(world)) for tool in world.blueprint.tools}


@lru_cache(maxsize=8)
def tables_read(world: World) -> dict[str, frozenset[str]]:
    """The tables that each tool's result and guards are read from, by the tool's name."""
    return {
        tool.name: frozenset(
            table for table, _ in read_by(world, [tool.returns.select, *(f"SELECT ({g.holds})" for g in tool.guards)])
        )
        for tool in world.blueprint.tools
    }


def may_change_verdict(world: World, first: Tool, guards: Sequence[Guard]) -> bool:
    """Whether a call of a tool may change what one of these guards says of given arguments."""
    writes = writes_of(world)[first.name]
    read = read_by(world, [f"SELECT (\n{guard.holds}\n)" for guard in guards])
    return not read.isdisjoint(writes.updates) or any(t in writes.inserts or t in writes.deletes for t, _ in read)


def read_by(world: World, queries: Sequence[str]) -> set[Column]:
    """The columns that queries read; an empty name where they only count rows."""
    return {
        (table, column)
        for query in queries
        for name, columns in _accesses(world).of(query).reads.items()
        for table in _behind(world.blueprint, name)
        for column in columns
    }


def _behind(blueprint: Blueprint, table: str) -> tuple[str, ...]:
    """The tables behind a name: itself, or those that a person's view joins."""
    for view in blueprint.views:
        if view.entity.table == table:
            return view.own, view.shared
    return (table,)


def _writes(tool: Tool, blueprint: Blueprint, accesses: StatementPreparer) -> ToolWrites:
    accessed = [accesses.of(effect.sql) for effect in tool.effects]
    keyed = Counter(entity.table for entity in minted_by(tool, blueprint).values()) if tool.effects else Counter()
    statements = Counter(table for access in accessed for table in access.inserts)
    return ToolWrites(
        updates=frozenset(
            (behind, column)
            for access in accessed
            for table, columns in access.updates.items()
            for behind in _behind(blueprint, table)
            for column in columns
        ),
        inserts={table: count if keyed[table] == count else None for table, count in statements.items()},
        deletes=frozenset(table for access in accessed for table in access.deletes),
        makes=(makes := _made(tool, blueprint)),
        flows=_flows(tool, makes),
    )


def _made(tool: Tool, blueprint: Blueprint) -> frozenset[str]:
    tree = parse(tool.returns.select).tree
    if tool.returns.rows != "one" or not isinstance(tree, exp.Select) or not tool.effects or _gathers(tree):
        return frozenset()
    keyed = minted_by(tool, blueprint)
    tables = {table.alias_or_name: table.name for table in tree.find_all(exp.Table) if table.parent_select is tree}
    minted_tables = set()
    for column, binding in equal_pairs(tree.args.get("where")):
        entity = keyed.get(binding)
        table = tables.get(column.table) if column.table else next(iter(tables.values()), None)
        if entity is not None and (table, column.name) == (entity.table, entity.key):
            minted_tables.add(entity.table)
    return frozenset(minted_tables)


def _gathers(tree: exp.Select) -> bool:
    """Whether the query gives a row even where it finds none."""
    return any(node.parent_select is tree for node in tree.find_all(exp.AggFunc)) and not tree.args.get("group")


def _flows(tool: Tool, makes: Collection[str]) -> dict[str, frozenset[Column]]:
    flows: dict[str, set[Column]] = {}
    for effect in tool.effects:
        statement = parse(effect.sql)
        table = statement.target
        if table not in makes or table is None:
            continue
        source = statement.tree.args.get("expression")
        equal = dict(_bound(source)) if isinstance(source, exp.Select) else {}
        for column, value in statement.inserted:
            inner = value.this if isinstance(value, exp.Trim) and not value.expression else value
            binding = str(inner.this) if isinstance(inner, exp.Placeholder) else None
            if isinstance(value, exp.Column):
                binding = equal.get((value.table, value.name))
            if binding is not None and column is not None and not is_new(binding):
                flows.setdefault(binding, set()).add((table, column))
    return {name: frozenset(columns) for name, columns in flows.items()}


def _bound(select: exp.Select) -> Iterator[tuple[tuple[str, str], str]]:
    """Columns of a query that equal a binding in each of its rows."""
    for column, binding in equal_pairs(select.args.get("where")):
        yield (column.table, column.name), binding
    for join in select.args.get("joins") or []:
        if not join.side:
            for column, binding in equal_pairs(join.args.get("on")):
                yield (column.table, column.name), binding


def equal_pairs(condition: exp.Expr | None) -> Iterator[tuple[exp.Column, str]]:
    """Pairs of a column and the binding that it has to equal."""
    inner = condition.this if isinstance(condition, (exp.Where, exp.Paren)) else condition
    if isinstance(inner, exp.And):
        yield from equal_pairs(inner.left)
        yield from equal_pairs(inner.right)
    elif isinstance(inner, exp.EQ):
        for one, other in ((inner.left, inner.right), (inner.right, inner.left)):
            if isinstance(one, exp.Column) and isinstance(other, exp.Placeholder):
                yield one, str(other.this)


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
    tree = parse(sql).tree
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
