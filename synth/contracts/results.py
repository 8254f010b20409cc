"""Read a SELECT statement: what each column of its result shows, and which tables its rows come from.

CTEs, subqueries in FROM and compound queries are followed. The scopes are sqlglot's.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, build_scope

from skillweave.base.errors import WorldError
from skillweave.world.sql import parse

TableColumn = tuple[str, str]
"""Table and column."""
TableSchema = frozenset[tuple[str, tuple[str, ...]]]
"""Tables with their columns."""


class ResultColumn(NamedTuple):
    """One column of a SELECT's result."""

    name: str
    origins: frozenset[TableColumn | None]
    """Columns that it shows unchanged, for each part of a compound query; None if it is computed there."""
    shows: frozenset[TableColumn]
    """Columns that it shows, or that it is computed from row by row (no aggregate, no subquery)."""

    @property
    def origin(self) -> TableColumn | None:
        """The column that it shows in every part; None if there is no such column."""
        return next(iter(self.origins)) if len(self.origins) == 1 else None


class JoinedTables(NamedTuple):
    """The tables that one part of a query joins."""

    first: str
    others: tuple[str, ...]
    always: frozenset[str]
    """Tables of which each row of the result has a row: all but those that are LEFT JOINed."""
    given: frozenset[TableColumn] = frozenset()
    """Columns that must equal an argument. If a key is among them, all rows of the result have the same row there."""


@lru_cache(maxsize=4096)
def result_columns(select: str, schema: TableSchema = frozenset()) -> tuple[ResultColumn, ...]:
    """The columns of a result; none if the SELECT cannot be parsed.

    Args:
        schema: The tables with their columns, to resolve columns that name no table, and `*`.
    """
    scope = _scope(select)
    return tuple(_SelectReader(dict(schema)).columns(scope)) if scope else ()


@lru_cache(maxsize=4096)
def joined_tables(select: str) -> tuple[JoinedTables, ...]:
    """The tables of each part of a query that reads any."""
    scope = _scope(select)
    return tuple(_joined(scope)) if scope else ()


def _scope(select: str) -> Scope | None:
    try:
        return build_scope(parse(select).tree)
    except WorldError:
        return None


class _SelectReader:
    def __init__(self, schema: dict[str, tuple[str, ...]]) -> None:
        self._schema = schema
        self._read: dict[int, list[ResultColumn]] = {}

    def columns(self, scope: Scope) -> list[ResultColumn]:
        if id(scope) not in self._read:
            parts = [self.columns(part) for part in scope.set_operation_scopes] or [list(self._selected(scope))]
            names = scope.outer_columns
            self._read[id(scope)] = [
                column._replace(name=names[place] if place < len(names) else column.name)
                for place, column in enumerate(_merged_columns(parts))
            ]
        return self._read[id(scope)]

    def _selected(self, scope: Scope) -> Iterator[ResultColumn]:
        for node in scope.expression.selects if isinstance(scope.expression, exp.Select) else ():
            value = node.unalias()
            if node.is_star:
                for name, source in _sources(scope):
                    if value.text("table").lower() in ("", name):
                        yield from self._all(source)
            elif isinstance(value, exp.Column):
                yield self._column(scope, value)._replace(name=node.alias_or_name)
            else:
                single = value.find(exp.Select, exp.AggFunc) is None
                read = [self._column(scope, column) for column in value.find_all(exp.Column)] if single else []
                yield ResultColumn(
                    node.alias_or_name, frozenset([None]), frozenset().union(*(one.shows for one in read))
                )

    def _all(self, source: exp.Expr | Scope) -> list[ResultColumn]:
        if isinstance(source, Scope):
            return self.columns(source)
        return [_shown(source.name, column) for column in self._schema.get(source.name, ())]

    def _column(self, scope: Scope, column: exp.Column) -> ResultColumn:
        """A column of the source that it names, or of the first source that has it."""
        sources = [source for name, source in _sources(scope) if column.table.lower() in ("", name)]
        tables = [source.name for source in sources if not isinstance(source, Scope)]
        for source in sources:
            result = next((one for one in self._all(source) if one.name.lower() == column.name.lower()), None)
            if result:
                return result
            if isinstance(source, Scope) and len(sources) == 1 and source.expression.is_star:
                return self._column(source, exp.column(column.name))
        if len(tables) == 1:
            return _shown(tables[0], column.name)
        return ResultColumn(column.name, frozenset([None]), frozenset((table, column.name) for table in tables))


def _shown(table: str, column: str) -> ResultColumn:
    return ResultColumn(column, frozenset([(table, column)]), frozenset([(table, column)]))


def _merged_columns(parts: list[list[ResultColumn]]) -> list[ResultColumn]:
    """The columns of a compound query, named as in its first part."""
    return [
        ResultColumn(
            same[0].name,
            frozenset().union(*(one.origins for one in same)),
            frozenset().union(*(one.shows for one in same)),
        )
        for same in zip(*parts, strict=False)
    ]


def _sources(scope: Scope) -> list[tuple[str, exp.Expr | Scope]]:
    """The sources in FROM and its joins, with the names that columns use for them."""
    return [(name.lower(), source) for name, (_, source) in scope.selected_sources.items()]


def _joined(scope: Scope) -> Iterator[JoinedTables]:
    if scope.set_operation_scopes:
        for one in scope.set_operation_scopes:
            yield from _joined(one)
        return
    query, sources = scope.expression, dict(_sources(scope))
    start = query.args.get("from_")
    if not isinstance(query, exp.Select) or start is None:
        return
    joins = [] if query.args.get("group") or query.args.get("distinct") else query.args.get("joins") or []
    others = [
        (part, join.side != "LEFT") for join in joins for part in _parts(sources.get(join.this.alias_or_name.lower()))
    ]
    more = [table for part, _ in others for table in (part.first, *part.others)]
    always = {table for part, is_sure in others if is_sure for table in part.always}
    for part in _parts(sources.get(start.this.alias_or_name.lower())):
        yield JoinedTables(part.first, (*part.others, *more), part.always | always, part.given | _given(query, sources))


def _given(query: exp.Select, sources: dict[str, exp.Expr | Scope]) -> frozenset[TableColumn]:
    """The columns that a WHERE sets equal to an argument."""
    where = query.args.get("where")
    if where is None:
        return frozenset()
    given = set[TableColumn]()
    for part in where.this.flatten() if isinstance(where.this, exp.And) else [where.this]:
        sides = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        columns = [side for side in sides if isinstance(side, exp.Column)]
        arguments = [side for side in sides if isinstance(side, exp.Placeholder) and side.name not in ("caller", "now")]
        if columns and arguments:
            name = columns[0].table.lower()
            source = sources.get(name) if name else next(iter(sources.values()))
            if isinstance(source, exp.Table) and (name or len(sources) == 1):
                given.add((source.name, columns[0].name))
    return frozenset(given)


def _parts(source: exp.Expr | Scope | None) -> list[JoinedTables]:
    if isinstance(source, Scope):
        return [*_joined(source)]
    return [JoinedTables(source.name, (), frozenset([source.name]))] if isinstance(source, exp.Table) else []
