"""Steps in time: the modifiers of date functions, which say how far a deadline lies from what it is counted from."""

import re
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

_MODIFIER = re.compile(r"([+-]?) ?(\d+) (minute|hour|day|month|year)s?", re.IGNORECASE)
_FUNCTIONS = frozenset({"date", "datetime", "julianday"})
_UNITS = {1: "day", 24: "hour", 1440: "minute"}


class Step(NamedTuple):
    """A distance; its direction is left open."""

    number: Fraction
    unit: str


def is_date_function(node: exp.Expr) -> bool:
    """Whether a node is a call of date(), datetime() or julianday()."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _FUNCTIONS
    return isinstance(node, exp.Date)


def steps_of(comparison: exp.Expr) -> set[Step] | None:
    """The distances that a comparison of times names; None where the data give one."""
    found: set[Step] = set()
    for node in comparison.find_all(exp.Literal):
        if not node.is_string:
            continue
        modifier = _MODIFIER.fullmatch(str(node.this).strip())
        if modifier is None:
            return None
        found.add(Step(Fraction(modifier[2]), modifier[3].lower()))
    if any(comparison.find_all(exp.DPipe)):
        return None
    return found | _apart(comparison)


def _apart(comparison: exp.Expr) -> set[Step]:
    """`julianday(a) - julianday(b) >= 2`: 2 days."""
    if not any(str(call.this).lower() == "julianday" for call in comparison.find_all(exp.Anonymous)):
        return set()
    factors = [
        int(Fraction(str(side.this)))
        for product in comparison.find_all(exp.Mul)
        for side in (product.this, product.expression)
        if isinstance(side, exp.Literal)
    ]
    unit = _UNITS.get(factors[0] if factors else 1, "day")
    return {
        Step(Fraction(str(side.this)), unit)
        for side in (comparison.args["this"], comparison.args["expression"])
        if isinstance(side, exp.Literal) and not side.is_string
    }
