"""Slots: what a contract's SQL says about the values that each parameter of a tool can take.

Analysis only. The columns and literals that a parameter is compared with are the source of its candidate values.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import sqlglot
from sqlglot import TokenType, exp

from skillweave.schema.contract import Parameter, Tool

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Like, exp.ILike, exp.Glob)


@dataclass(frozen=True)
class Slot:
    """A parameter with what its tool's SQL compares it with."""

    parameter: Parameter
    columns: tuple[tuple[str, str], ...]
    """(table, column) pairs that it is compared with, in order of appearance."""
    literals: tuple[float, ...]
    """Numbers that it is compared with."""


@dataclass(frozen=True)
class Condition:
    """A guard as the search sees it."""

    rule: str
    holds: str
    bindings: frozenset[str]


def slots(tool: Tool) -> dict[str, Slot]:
    """The slots of a tool by parameter."""
    texts = (
        *(f"SELECT (\n{guard.holds}\n)" for guard in tool.guards),
        *(effect.sql for effect in tool.effects),
        tool.returns.select,
    )
    return {
        parameter.name: Slot(
            _exemplified(parameter, tool), *_compared(texts, parameter.name, bool(parameter.refers_to))
        )
        for parameter in tool.parameters
    }


def _exemplified(parameter: Parameter, tool: Tool) -> Parameter:
    """A parameter whose examples are also those that go with others."""
    given = [row[parameter.name] for row in tool.examples if row.get(parameter.name) is not None]
    return parameter.model_copy(update={"examples": [*parameter.examples, *given]}) if given else parameter


def conditions(tool: Tool) -> tuple[Condition, ...]:
    """The guards of a tool, in order."""
    return tuple(_condition(guard.rule, guard.holds) for guard in tool.guards)


@cache
def bindings(sql: str) -> frozenset[str]:
    """Names bound in a statement or expression."""
    return frozenset(name for name, _, _ in _positions(sql))


@cache
def substitute(sql: str, name: str, expression: str) -> str:
    """`sql` with each `:name` replaced by an expression, everything else as its author wrote it."""
    for found, start, end in reversed(_positions(sql)):
        if found == name:
            sql = sql[:start] + expression + sql[end:]
    return sql


@cache
def _positions(sql: str) -> tuple[tuple[str, int, int], ...]:
    tokens = sqlglot.tokenize(sql, dialect="sqlite")
    return tuple(
        (name.text, colon.start, name.end + 1)
        for colon, name in pairwise(tokens)
        if colon.token_type is TokenType.COLON and name.start == colon.end + 1
    )


@cache
def _condition(rule: str, holds: str) -> Condition:
    return Condition(rule, holds, bindings(holds))


@cache
def _tree(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="sqlite")


@cache
def _compared(
    texts: tuple[str, ...], parameter: str, is_key: bool
) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Columns and numbers that a parameter is compared with; a key's numbers say nothing."""
    columns: dict[tuple[str, str], None] = {}
    literals: dict[float, None] = {}
    for text in texts:
        for placeholder in _tree(text).find_all(exp.Placeholder):
            if placeholder.name == parameter:
                for other in _compared_with(placeholder):
                    columns.update(dict.fromkeys(_columns(other)))
                    literals.update(dict.fromkeys(() if is_key else _numbers(other)))
    return tuple(columns), tuple(literals)


def _compared_with(placeholder: exp.Expr) -> list[exp.Expr]:
    """The other sides of the comparison that a placeholder stands in, through functions and arithmetic."""
    node: exp.Expr | None = placeholder
    while node is not None and not isinstance(node, (exp.Subquery, exp.Select)):
        parent = node.parent
        if isinstance(parent, _COMPARISONS):
            return [parent.right if parent.left is node else parent.left]
        if isinstance(parent, (exp.Between, exp.In, exp.StrPosition)):
            return [side for side in parent.iter_expressions() if side is not node]
        node = parent
    return []


def _columns(expression: exp.Expr) -> list[tuple[str, str]]:
    found = []
    for column in expression.find_all(exp.Column):
        table = table_of(column)
        if table:
            found.append((table, column.name))
    return found


def table_of(column: exp.Column) -> str | None:
    """The table that a column belongs to, by the FROM clauses around it; None where that cannot be told."""
    scope = column.find_ancestor(exp.Select, exp.Update, exp.Delete)
    while scope is not None:
        tables = [table for table in scope.find_all(exp.Table) if _owner(table) is scope]
        if column.table:
            for table in tables:
                if table.alias_or_name == column.table:
                    return table.name
        elif len(tables) == 1:
            return tables[0].name
        scope = scope.find_ancestor(exp.Select, exp.Update, exp.Delete)
    return None


def _owner(table: exp.Table) -> exp.Expr | None:
    return table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Insert)


def _numbers(expression: exp.Expr) -> list[float]:
    return [float(literal.this) for literal in expression.find_all(exp.Literal) if not literal.is_string]
