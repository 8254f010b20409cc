"""What the tools of a world write and read, found in their SQL as SQLite prepares it, whatever the arguments are.

Each answer is an upper bound: a tool never writes a table or column that is not listed here.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import RowChange
from skillweave.schema.contract import Tool
from skillweave.world.contract.statements import StatementPreparer
from skillweave.world.ids import is_new, minted_by
from skillweave.world.sql import parse
from skillweave.world.world import World

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
    accesses = StatementPreparer(world.blueprint)
    try:
        return {tool.name: _writes(tool, world.blueprint, accesses) for tool in world.blueprint.tools}
    finally:
        accesses.close()


@lru_cache(maxsize=8)
def tables_read(world: World) -> dict[str, frozenset[str]]:
    """The tables that each tool's result and guards are read from, by the tool's name."""
    accesses = StatementPreparer(world.blueprint)
    try:
        return {
            tool.name: frozenset(
                table
                for text in [tool.returns.select, *(f"SELECT ({guard.holds})" for guard in tool.guards)]
                for name in accesses.of(text).reads
                for table in _behind(world.blueprint, name)
            )
            for tool in world.blueprint.tools
        }
    finally:
        accesses.close()


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
    for column, binding in _equal(tree.args.get("where")):
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
    for column, binding in _equal(select.args.get("where")):
        yield (column.table, column.name), binding
    for join in select.args.get("joins") or []:
        if not join.side:
            for column, binding in _equal(join.args.get("on")):
                yield (column.table, column.name), binding


def _equal(condition: exp.Expr | None) -> Iterator[tuple[exp.Column, str]]:
    """Pairs of a column and the binding that it has to equal."""
    inner = condition.this if isinstance(condition, (exp.Where, exp.Paren)) else condition
    if isinstance(inner, exp.And):
        yield from _equal(inner.left)
        yield from _equal(inner.right)
    elif isinstance(inner, exp.EQ):
        for one, other in ((inner.left, inner.right), (inner.right, inner.left)):
            if isinstance(one, exp.Column) and isinstance(other, exp.Placeholder):
                yield one, str(other.this)
