"""A tool's parameters as slots to fill, the conditions that its guards and its common sense put on them, and queries
for the values that meet these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import sqlglot
from sqlglot import TokenType, exp

from skillweave.schema.contract import Parameter, Tool
from synth.contracts import follows
from synth.contracts.writes import equal_bindings

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Like, exp.ILike, exp.Glob)
MOST_ROWS = 5000
"""Rows of one table that are considered for a parameter."""
_LOWER, _UPPER = (exp.GT, exp.GTE), (exp.LT, exp.LTE)


@dataclass(frozen=True)
class Slot:
    """A parameter with what its tool's SQL compares it with."""

    parameter: Parameter
    columns: tuple[tuple[str, str], ...]
    """(table, column) pairs that it is compared with, in order of appearance."""
    literals: tuple[float, ...]
    """Numbers that it is compared with."""


class GuardCondition(NamedTuple):
    """A condition on arguments, in SQL."""

    rule: str
    """The rule that it states; empty if none does."""
    holds: str
    bindings: frozenset[str]
    """Names that it binds."""


class DesiredGuard(NamedTuple):
    """A guard, and whether it is to hold."""

    condition: GuardCondition
    holds: bool

    def test(self, replaced: Sequence[tuple[str, str]] = ()) -> str:
        """The test that the database makes; `replaced`: names after a colon, and what stands there instead."""
        sql = self.condition.holds
        for name, expression in replaced:
            sql = substitute(sql, name, expression)
        return f"(\n{sql}\n) IS {'' if self.holds else 'NOT '}TRUE"


@follows
def slots(tool: Tool) -> dict[str, Slot]:
    """Parameter -> slot, in the tool's order."""
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
    """The parameter, with the examples that the tool gives of several parameters together."""
    given = [row[parameter.name] for row in tool.examples if row.get(parameter.name) is not None]
    return parameter.model_copy(update={"examples": [*parameter.examples, *given]}) if given else parameter


@follows
def guard_conditions(tool: Tool) -> tuple[GuardCondition, ...]:
    """The guards of a tool, in order."""
    return tuple(_condition(guard.rule, guard.holds) for guard in tool.guards)


@cache
def bound_names(sql: str) -> frozenset[str]:
    """The names after a colon in a statement or expression."""
    return frozenset(name for name, _, _ in _positions(sql))


@cache
def substitute(sql: str, name: str, expression: str) -> str:
    """The SQL with each `:name` replaced by an expression; everything else stays as its author wrote it."""
    for bound, start, end in reversed(_positions(sql)):
        if bound == name:
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
def _condition(rule: str, holds: str) -> GuardCondition:
    return GuardCondition(rule, holds, bound_names(holds))


@cache
def _tree(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="sqlite")


@cache
def _compared(
    texts: tuple[str, ...], parameter: str, is_key: bool
) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Columns and numbers that a parameter is compared with. Numbers beside a key mean nothing, so it has none."""
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
    """The other sides of the comparison that a placeholder is part of, also within functions and arithmetic."""
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
    columns = []
    for column in expression.find_all(exp.Column):
        table = table_of_column(column)
        if table:
            columns.append((table, column.name))
    return columns


def table_of_column(column: exp.Column) -> str | None:
    """The table that a column belongs to, by the FROM clauses around it; None if that is not clear."""
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


@cache
def own_equalities(holds: str, parameter: str, table: str, key: str) -> frozenset[tuple[str, str]]:
    """What each row of a table meets that a guard can hold of: columns, and the bindings that they equal.

    They are read from a guard that such a row exists: `EXISTS (SELECT 1 FROM visit WHERE visit_id = :visit_id AND
    patient_id = :caller ...)`. Of other guards nothing is known, and the set is empty.

    Args:
        holds: The guard.
        parameter: The parameter that names the row.
        table: The table.
        key: The column in which the rows have what the parameter names.
    """
    guard = _tree(f"SELECT (\n{holds}\n)").expressions[0].unnest()
    select = guard.this if isinstance(guard, exp.Exists) else None
    if not isinstance(select, exp.Select) or not isinstance(select.selects[0], exp.Literal):
        return frozenset()
    if select.ctes or select.args.get("having"):
        return frozenset()
    equal = [*equal_bindings(select.args.get("where"))]
    named = {c.table for c, name in equal if (name, c.name, table_of_column(c)) == (parameter, key, table)}
    return frozenset((c.name, name) for c, name in equal if c.table in named and name != parameter)


def _owner(table: exp.Table) -> exp.Expr | None:
    return table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Insert)


def _numbers(expression: exp.Expr) -> list[float]:
    return [float(literal.this) for literal in expression.find_all(exp.Literal) if not literal.is_string]


@follows
def sensible_conditions(tool: Tool) -> tuple[GuardCondition, ...]:
    """Conditions that sensible arguments meet, beside guards: a span ends after it begins, a change is one."""
    names = {parameter.name for parameter in tool.parameters}
    days = {parameter.name for parameter in tool.parameters if parameter.type in ("date", "datetime")}
    texts = [*(f"SELECT (\n{guard.holds}\n)" for guard in tool.guards), tool.returns.select]
    spans = {pair for text in texts for pair in _spans(text) if days >= {*pair}}
    wanted = [f":{low} IS NULL OR :{high} IS NULL OR :{low} <= :{high}" for low, high in sorted(spans)]
    wanted += [
        test for effect in tool.effects if (test := _changes(effect.sql)) and bound_names(test) <= names | {"caller"}
    ]
    return tuple(GuardCondition("", holds, bound_names(holds)) for holds in wanted)


@cache
def _spans(text: str) -> frozenset[tuple[str, str]]:
    """Pairs of parameters that bound one column: the first from below, the second from above."""
    lower: dict[tuple[str | None, str], set[str]] = {}
    upper: dict[tuple[str | None, str], set[str]] = {}
    for column, low, high in _bounds(sqlglot.parse_one(text, dialect="sqlite")):
        place = table_of_column(column), column.name
        lower.setdefault(place, set()).update(low)
        upper.setdefault(place, set()).update(high)
    return frozenset((low, high) for place in lower for low in lower[place] for high in upper[place] if low != high)


def _bounds(tree: exp.Expr) -> Iterator[tuple[exp.Column, set[str], set[str]]]:
    """Columns with the parameters that bound them from below and from above."""
    for test in tree.find_all(*_LOWER, *_UPPER, exp.Between):
        if isinstance(test, exp.Between):
            sides = [(test.this, _named(test.args["low"]), _named(test.args["high"]))]
        else:
            less, more = (test.expression, test.this) if isinstance(test, _LOWER) else (test.this, test.expression)
            sides = [(more, _named(less), set[str]()), (less, set[str](), _named(more))]
        for side, low, high in sides:
            columns = [] if side.find(exp.Subquery, exp.Select) else [*side.find_all(exp.Column)]
            if len(columns) == 1 and low | high:
                yield columns[0], low, high


def _named(side: exp.Expr) -> set[str]:
    """The parameter that one side of a comparison consists of; empty if there is more to it."""
    names = {one.name for one in side.find_all(exp.Placeholder)}
    return names if len(names) == 1 and not side.find(exp.Column) else set()


@cache
def _changes(sql: str) -> str | None:
    """The condition that an update changes some value of its row; None if it writes no argument as it is."""
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    where = tree.args.get("where")
    if not isinstance(tree, exp.Update) or where is None:
        return None
    told = [
        f"{change.left.name} = :{change.right.name}"
        for change in tree.expressions
        if isinstance(change, exp.EQ) and isinstance(change.right, exp.Placeholder)
    ]
    same = " AND ".join([f"({where.this.sql(dialect='sqlite')})", *told])
    return f"NOT EXISTS (SELECT 1 FROM {tree.this.sql(dialect='sqlite')} WHERE {same})" if told else None


# The texts are made once, since searches ask with few texts many times. So SQLite prepares each once, too.


@lru_cache(maxsize=2048)
def rows_query(table: str, column: str, parameter: str, desired: tuple[DesiredGuard, ...]) -> str:
    """The query for the values of a column that meet guards as a parameter."""
    own = [own_equalities(guard.condition.holds, parameter, table, column) for guard in desired if guard.holds]
    # No other rows can meet the guards, and where their owner is bound, SQLite need not look at all of them.
    met = " AND ".join(f"{column} = :{name}" for column, name in sorted(frozenset().union(*own)))
    listed = f"WITH candidate(value) AS (SELECT DISTINCT {column} FROM {table}{' WHERE ' * bool(met)}{met})"
    tested = [guard.test([(parameter, "candidate.value")]) for guard in desired]
    where = f" WHERE {' AND '.join(tested)}" if tested else ""
    return f"{listed} SELECT value FROM candidate{where} ORDER BY value LIMIT {MOST_ROWS}"


@lru_cache(maxsize=2048)
def batch_query(names: tuple[str, ...], width: int, desired: tuple[DesiredGuard, ...]) -> str:
    """The query for the numbers of those candidate values of parameters that meet guards."""
    replaced = [(name, f"candidate.value_{place}") for place, name in enumerate(names)]
    tested = [guard.test(replaced) for guard in desired]
    marks = [f":{name}" for name in candidate_bindings(width, len(names))]
    rows = (", ".join(marks[number * len(names) :][: len(names)]) for number in range(width))
    listed = ", ".join(f"({number}, {row})" for number, row in enumerate(rows))
    columns = ", ".join(f"value_{place}" for place in range(len(names)))
    return (
        f"WITH candidate(number, {columns}) AS (VALUES {listed}) "
        f"SELECT number FROM candidate WHERE number < :candidates AND {' AND '.join(tested)} ORDER BY number"
    )


@lru_cache(maxsize=64)
def candidate_bindings(width: int, columns: int) -> tuple[str, ...]:
    """The names of the bindings of candidate values, one row after the other."""
    return tuple(f"candidate_{number}_{place}" for number in range(width) for place in range(columns))
