"""Column lineage: the table and column from which a value comes, through aliases, subqueries and CTEs.

sqlglot's own lineage rewrites the tree and needs qualified names; this module reads the author's text unchanged.
"""

from collections.abc import Iterable, Iterator

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.world.sql import parse

ColumnOrigin = Attribute | exp.Expr
"""The origin of a value: an attribute, or the expression that computes it."""

_PREDICATES = (exp.Predicate, exp.Not, exp.And, exp.Or, exp.Boolean, exp.Between, exp.In, exp.Exists)

_NUMBERS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs, exp.Round, exp.Count, exp.Sum, exp.Avg)
_NO_TEXT = (*_PREDICATES, *_NUMBERS, exp.Date, exp.Length, exp.Null)
_TIMES = ("date", "datetime", "time", "julianday", "unixepoch", "total")


class ColumnLineage:
    """Resolves columns against the tables and views of one blueprint. Names are compared without case, as in SQL."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Index the tables and views of a blueprint."""
        known = [*blueprint.tables, *(view.entity for view in blueprint.views)]
        self._entities = {entity.table.lower(): entity for entity in known}

    @property
    def tables(self) -> list[str]:
        """The tables and views of the blueprint."""
        return [entity.table for entity in self._entities.values()]

    def has_table(self, name: str) -> bool:
        """Whether the blueprint has a table or view of that name."""
        return name.lower() in self._entities

    def knows(self, column: exp.Column) -> bool:
        """Whether a column that is written without its table belongs to a source around it."""
        return any(
            self._in_source(source, column.name) is not None for scope in _scopes(column) for source in _sources(scope)
        )

    def attribute(self, column: exp.Column) -> Attribute | None:
        """The attribute that a column stands for, through subqueries and CTEs; None for a computed column."""
        origins = self.origins(column)
        return origins[0] if len(origins) == 1 and isinstance(origins[0], Attribute) else None

    def origins(self, column: exp.Column) -> list[ColumnOrigin]:
        """The origins of a column: one for each part of a compound query; empty if unknown."""
        for scope in _scopes(column):
            for source in _sources(scope):
                if not column.table or source.alias_or_name.lower() == column.table.lower():
                    origins = self._in_source(source, column.name)
                    if origins is not None:
                        return origins
        return []

    def booleans(self, select: str, tool: Tool) -> tuple[bool, ...]:
        """Which result columns are boolean by construction.

        These are boolean columns, boolean parameters and predicates, also through subqueries, CTEs, CASE and COALESCE.
        In a compound query each part must be boolean. NULL counts as boolean.

        Args:
            select: The query.
            tool: The tool of the query, which gives the types of parameters.

        Returns:
            A flag for each result column, in order.
        """
        flags = {parameter.name for parameter in tool.parameters if parameter.type == "boolean"}
        parts = [[node for _, node in self.projections(part)] for part in _parts(parse(select).tree)]
        return tuple(self._are_boolean(nodes, flags) for nodes in zip(*parts, strict=False))

    def columns(self, select: str) -> tuple[str, ...]:
        """The names of a query's result columns, in order; empty for a computed one without a name."""
        return tuple(name for name, _ in self.projections(parse(select).tree))

    def times(self, select: str) -> frozenset[str]:
        """Names of the result columns that cannot be free text: dates, datetimes, numbers and booleans."""
        return frozenset(name for name, node in self.projections(parse(select).tree) if self._is_no_text(node))

    def values(self, query: exp.Expr) -> list[exp.Expr]:
        """The result expressions of a query, for a compound query those of each part."""
        return [node for part in _parts(query) for _, node in self.projections(part)]

    def projections(self, query: exp.Expr) -> list[tuple[str, exp.Expr]]:
        """Names and expressions of the result columns, `*` expanded; for a compound query those of its first part."""
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Select):
            return []
        projected: list[tuple[str, exp.Expr]] = []
        for node in query.expressions:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                projected.extend(self._star(query, node.table if isinstance(node, exp.Column) else ""))
            else:
                name = node.alias or (node.name if isinstance(node, exp.Column) else "")
                projected.append((name, node.this if isinstance(node, exp.Alias) else node))
        return projected

    def _star(self, query: exp.Select, qualifier: str) -> Iterator[tuple[str, exp.Expr]]:
        for source in _sources(query):
            if qualifier and source.alias_or_name.lower() != qualifier.lower():
                continue
            entity = self._entity(source)
            if entity is not None:
                for attribute in entity.attributes:
                    column = exp.column(attribute.name, table=source.alias_or_name)
                    column.parent = query
                    yield attribute.name, column
            else:
                yield from self._renamed(source, self.projections(_body(source)))

    def _entity(self, source: exp.Expr) -> Entity | None:
        if isinstance(source, exp.Table) and cte_of(source) is None:
            return self._entities.get(source.name.lower())
        return None

    def _in_source(self, source: exp.Expr, name: str) -> list[ColumnOrigin] | None:
        """The origins of a source's column; None if the source has no such column."""
        entity = self._entity(source)
        if entity is not None:
            matches: list[ColumnOrigin] = [
                attribute for attribute in entity.attributes if attribute.name.lower() == name.lower()
            ]
            return matches or None
        parts = [self.projections(part) for part in _parts(_body(source))]
        names = [projected.lower() for projected, _ in self._renamed(source, parts[0])] if parts else []
        if name.lower() not in names:
            return None
        nodes = [part[names.index(name.lower())][1] for part in parts if len(part) == len(names)]
        return [origin for node in nodes for origin in (self.origins(node) if isinstance(node, exp.Column) else [node])]

    def _renamed(self, source: exp.Expr, projected: list[tuple[str, exp.Expr]]) -> list[tuple[str, exp.Expr]]:
        """Result columns under the names that `c (x, y)` gives them, if it does."""
        named = cte_of(source) if isinstance(source, exp.Table) else source
        alias = named.args.get("alias") if named is not None else None
        names = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
        return [(names[place] if place < len(names) else name, node) for place, (name, node) in enumerate(projected)]

    def _is_no_text(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            origins = self.origins(node)
            return bool(origins) and all(
                origin.type != "string" if isinstance(origin, Attribute) else self._is_no_text(origin)
                for origin in origins
            )
        if isinstance(node, exp.Literal):
            return not node.is_string
        if isinstance(node, exp.Case):
            chosen = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            return all(self._is_no_text(origin) for origin in chosen if isinstance(origin, exp.Expr))
        if isinstance(node, exp.Subquery):
            return all(map(self._is_no_text, self.values(node)))
        if isinstance(node, exp.Paren | exp.Min | exp.Max):
            return self._is_no_text(node.this)
        if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
            return all(map(self._is_no_text, [node.this, *node.expressions]))
        return isinstance(node, _NO_TEXT) or (isinstance(node, exp.Anonymous) and str(node.this).lower() in _TIMES)

    def _are_boolean(self, nodes: Iterable[ColumnOrigin], flags: set[str]) -> bool:
        """Whether each of the values that a column may have is boolean or NULL, and not all are NULL."""
        values = [node for node in nodes if not isinstance(node, exp.Null)]
        return bool(values) and all(self._is_boolean(node, flags) for node in values)

    def _is_boolean(self, node: ColumnOrigin, flags: set[str]) -> bool:
        if isinstance(node, Attribute):
            return node.type == "boolean"
        if isinstance(node, exp.Paren):
            return self._is_boolean(node.this, flags)
        if isinstance(node, exp.Placeholder):
            return str(node.this) in flags
        if isinstance(node, exp.Column):
            return self._are_boolean(self.origins(node), flags)
        if isinstance(node, exp.Subquery):
            return self._are_boolean(self.values(node), flags)
        if isinstance(node, exp.Case):
            chosen = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
            return self._are_boolean([part for part in chosen if part is not None], flags)
        if isinstance(node, exp.If):
            return self._are_boolean([part for part in (node.args["true"], node.args.get("false")) if part], flags)
        if isinstance(node, exp.Coalesce):
            return self._are_boolean([node.this, *node.expressions], flags)
        return isinstance(node, _PREDICATES)


def _parts(query: exp.Expr) -> list[exp.Expr]:
    """The SELECTs of a compound query, or the one of a plain query."""
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if isinstance(query, exp.Subquery):
        return _parts(query.this)
    return [query] if isinstance(query, exp.Select) else []


def _scopes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The statements around a node, the innermost first."""
    current: exp.Expr | None = node
    while current is not None:
        if isinstance(current, exp.Select | exp.Update | exp.Delete):
            yield current
        current = current.parent


def _sources(scope: exp.Expr) -> Iterator[exp.Expr]:
    """Tables and subqueries that a statement reads from or writes to."""
    if isinstance(scope, exp.Update | exp.Delete) and isinstance(scope.this, exp.Table):
        yield scope.this
    start = scope.args.get("from_")
    if isinstance(start, exp.From):
        yield start.this
        yield from (join.this for join in start.this.args.get("joins") or [])
    yield from (join.this for join in scope.args.get("joins") or [])


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The common table expression that a table name stands for; None if it names a real table."""
    current: exp.Expr | None = table.parent
    while current is not None:
        clause = current.args.get("with_")
        for cte in clause.expressions if isinstance(clause, exp.With) else []:
            if isinstance(cte, exp.CTE) and cte.alias.lower() == table.name.lower():
                return cte
        current = current.parent
    return None


def _body(source: exp.Expr) -> exp.Expr:
    """The query behind a CTE's name or a derived table; the literal NULL if there is none."""
    inner = cte_of(source) if isinstance(source, exp.Table) else source
    return inner.this if isinstance(inner, exp.CTE | exp.Subquery) else exp.Null()
