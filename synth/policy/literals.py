"""The meaning of a literal in SQL, from its context in the syntax tree.

Each function walks up from the literal to the comparison, assignment or column that uses its value.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Between, exp.In)
_UNIT_WORDS = {
    "minute": "minute", "hour": "hour", "day": "day", "night": "day", "week": "week", "month": "month",
    "year": "year", "age": "year",
}  # fmt: skip
_DAYS_APART = {1: "day", 24: "hour", 1440: "minute"}


@dataclass
class NumberContext:
    """The context of a number, which gives its possible meanings."""

    money: bool = False
    """Whether it is compared with, or stored in, a column of cents."""
    factor: bool = False
    """Whether it is a factor or a divisor."""
    of_money: bool = False
    """Whether it is multiplied with a column of cents."""
    percent: bool = False
    """Whether it is next to a name with `percent`, or divided by 100."""
    hour: bool = False
    """Whether it is compared with an hour of the day."""
    step: bool = False
    """Whether it is added or subtracted."""
    units: frozenset[str] = frozenset()
    """Units of time in the names around it."""

    @classmethod
    def of(cls, literal: exp.Literal, money: frozenset[str]) -> "NumberContext":
        """The context of a literal; `money` are the names of columns and parameters that hold cents."""
        context = cls()
        for node, parent in upward(literal):
            names = _names_beside(node, parent)
            if isinstance(parent, exp.Mul | exp.Div):
                context.factor = True
                context.units |= _time_units(names)
                context.of_money |= bool(names & money)
                context.percent |= any("percent" in name for name in names) or _has_hundred(parent)
                continue
            context.step |= isinstance(parent, exp.Add | exp.Sub) and node is literal
            context.units |= _time_units(names)
            context.money |= bool(names & money)
            context.percent |= any("percent" in name for name in names)
            context.hour |= isinstance(parent, COMPARISONS) and "%H" in parent.sql(dialect="sqlite")
        return context


def _time_units(names: Collection[str]) -> frozenset[str]:
    words = {word.removesuffix("s") for name in names for word in name.split("_")}
    return frozenset(unit for word, unit in _UNIT_WORDS.items() if word in words)


def upward(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Pairs of a node and its parent, from a literal up to where its value is compared or stored."""
    parent = node.parent
    while isinstance(parent, exp.Expr):
        yield node, parent
        if isinstance(parent, (*COMPARISONS, exp.Insert, exp.Update, exp.Where, exp.And, exp.Or)):
            return
        node, parent = parent, parent.parent


def _names_beside(node: exp.Expr, parent: exp.Expr) -> set[str]:
    """Columns and parameters next to a node, or the column that stores it."""
    if isinstance(parent, exp.Select | exp.Tuple) and (parent.find_ancestor(exp.Insert) is not None):
        column = _inserted_column(node, parent)
        return {column} if column else set()
    if isinstance(parent, exp.Alias):
        return {str(parent.alias)}
    if isinstance(parent, exp.Case):
        return set()
    if isinstance(parent, exp.If):
        return set()
    if isinstance(parent, (*COMPARISONS, exp.Binary, exp.Func)):
        sides = [side for side in parent.iter_expressions() if side is not node]
        return {name for side in sides for name in _value_names(side)}
    return set()


def _value_names(expression: exp.Expr) -> Iterator[str]:
    """Names of the columns and parameters that give an expression's value, without conditions of subqueries."""
    if isinstance(expression, exp.Subquery | exp.Select):
        select = expression.find(exp.Select)
        for projected in select.expressions if select is not None else []:
            yield from _value_names(projected)
        return
    if isinstance(expression, exp.Column | exp.Placeholder):
        yield str(expression.name)
        return
    if isinstance(expression, exp.Case):
        for branch in expression.args["ifs"]:
            yield from _value_names(branch.args["true"])
        return
    for part in expression.iter_expressions():
        yield from _value_names(part)


def _inserted_column(node: exp.Expr, parent: exp.Expr) -> str | None:
    insert = parent.find_ancestor(exp.Insert)
    if insert is None or not isinstance(insert.this, exp.Schema):
        return None
    top = parent.parent
    if isinstance(parent, exp.Select) and top is not insert:
        return None
    if isinstance(parent, exp.Tuple) and not isinstance(top, exp.Values):
        return None
    place = next((number for number, value in enumerate(parent.expressions) if value is node), None)
    names = [str(column.name) for column in insert.this.expressions]
    return names[place] if place is not None and place < len(names) else None


def names_around(literal: exp.Literal) -> list[str]:
    """Columns and parameters to which a string is compared or assigned, nearest first."""
    names: list[str] = []
    for node, parent in upward(literal):
        if isinstance(parent, exp.Case) and parent.this is not None:
            names += (
                list(_value_names(parent.this))
                if isinstance(node, exp.If) and literal.parent is node and node.this is literal
                else []
            )
        names += sorted(_names_beside(node, parent))
    return names


def _has_hundred(product: exp.Expr) -> bool:
    top = product.parent if isinstance(product.parent, exp.Div) else product
    return isinstance(top, exp.Div) and any(
        not factor.is_string and Fraction(str(factor.this)) == 100 for factor in top.expression.find_all(exp.Literal)
    )


def is_near(literal: exp.Literal, names: Collection[str]) -> bool:
    """Whether any of these columns or parameters is in the comparison or assignment of a number."""
    *_, (_, top) = upward(literal)
    return any(str(name.name) in names for name in top.find_all(exp.Column, exp.Placeholder))


def ratios(literal: exp.Literal) -> set[Fraction]:
    """The shares that a number means in a comparison by factors: `paid * 100 >= fee * 50` means a half."""
    number = Fraction(str(literal.this))
    for node, parent in upward(literal):
        if isinstance(parent, COMPARISONS):
            others = [
                Fraction(str(one.this))
                for side in parent.iter_expressions()
                if side is not node
                for one in side.find_all(exp.Literal)
                if not one.is_string and isinstance(one.parent, exp.Mul | exp.Div | type(parent))
            ]
            is_whole_factor = isinstance(literal.parent, exp.Mul | exp.Div) and number.denominator == 1
            pairs = [(number, other) for other in others] or ([(number, Fraction(1))] if is_whole_factor else [])
            return {min(pair) / max(pair) for pair in pairs if min(pair) > 0 and pair[0] != pair[1]}
    return set()


def days_apart(literal: exp.Literal) -> str | None:
    """The unit of a number that is compared with a julianday() difference; empty for the factor that gives the unit."""
    for node, parent in upward(literal):
        if isinstance(parent, exp.Mul) and _is_difference(parent) and node is literal:
            return ""
        if isinstance(parent, COMPARISONS):
            for side in parent.iter_expressions():
                if side is not node and _is_difference(side):
                    return _DAYS_APART.get(_factor(side), "day")
            return None
    return None


def _is_difference(expression: exp.Expr) -> bool:
    return any(
        "julianday" in side.sql(dialect="sqlite").lower()
        for difference in expression.find_all(exp.Sub)
        for side in (difference.this,)
    )


def _factor(expression: exp.Expr) -> int:
    for product in expression.find_all(exp.Mul):
        for side in (product.this, product.expression):
            if isinstance(side, exp.Literal):
                return int(Fraction(str(side.this)))
    return 1
