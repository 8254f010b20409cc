"""Sensible wishes: what no rule demands, and nobody wants otherwise. Days stand in order, a change changes something.

Read off the SQL. Arguments that keep to it come before other lawful ones.
"""

from collections.abc import Iterator
from functools import cache

import sqlglot
from sqlglot import exp

from skillweave.schema.contract import Tool
from synth.planner.slots import Condition, bindings, table_of

_LOWER, _UPPER = (exp.GT, exp.GTE), (exp.LT, exp.LTE)


def sensible(tool: Tool) -> tuple[Condition, ...]:
    """What the arguments of a tool are to keep to."""
    names = {parameter.name for parameter in tool.parameters}
    days = {parameter.name for parameter in tool.parameters if parameter.type in ("date", "datetime")}
    texts = [*(f"SELECT (\n{guard.holds}\n)" for guard in tool.guards), tool.returns.select]
    spans = {pair for text in texts for pair in _spans(text) if days >= {*pair}}
    wanted = [f":{low} IS NULL OR :{high} IS NULL OR :{low} <= :{high}" for low, high in sorted(spans)]
    wanted += [
        test for effect in tool.effects if (test := _changes(effect.sql)) and bindings(test) <= names | {"caller"}
    ]
    return tuple(Condition("", holds, bindings(holds)) for holds in wanted)


@cache
def _spans(text: str) -> frozenset[tuple[str, str]]:
    """Pairs of parameters between which one column is sought: the first bounds it from below, the second from above."""
    lower: dict[tuple[str | None, str], set[str]] = {}
    upper: dict[tuple[str | None, str], set[str]] = {}
    for column, low, high in _bounds(sqlglot.parse_one(text, dialect="sqlite")):
        place = table_of(column), column.name
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
    """The parameter that is all that one side of a comparison reads."""
    names = {one.name for one in side.find_all(exp.Placeholder)}
    return names if len(names) == 1 and not side.find(exp.Column) else set()


@cache
def _changes(sql: str) -> str | None:
    """That a statement finds some other value in a row than it is told to write there; None where it is told none."""
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
