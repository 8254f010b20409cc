"""The parts of a guard's condition in its syntax tree: their shapes, their time spans, and nouns for them."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute

_MODIFIER = re.compile(r"([+-]?) ?(\d+) (minute|hour|day|month|year)s?", re.IGNORECASE)
_FUNCTIONS = frozenset({"date", "datetime", "julianday"})
_UNITS = {1: "day", 24: "hour", 1440: "minute"}


class TimeSpan(NamedTuple):
    """A distance in time, without a direction."""

    number: Fraction
    unit: str


def is_date_function(node: exp.Expr) -> bool:
    """Whether a node is a call of date(), datetime() or julianday()."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _FUNCTIONS
    return isinstance(node, exp.Date)


def time_spans(comparison: exp.Expr) -> set[TimeSpan] | None:
    """The distances in a comparison of times; None if one depends on the data."""
    spans: set[TimeSpan] = set()
    for node in comparison.find_all(exp.Literal):
        if not node.is_string:
            continue
        modifier = _MODIFIER.fullmatch(str(node.this).strip())
        if modifier is None:
            return None
        spans.add(TimeSpan(Fraction(modifier[2]), modifier[3].lower()))
    if any(comparison.find_all(exp.DPipe)):
        return None
    return spans | _julian_day_spans(comparison)


def _julian_day_spans(comparison: exp.Expr) -> set[TimeSpan]:
    """Distances between julianday() values: `julianday(a) - julianday(b) >= 2` names 2 days."""
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
        TimeSpan(Fraction(str(side.this)), unit)
        for side in (comparison.args["this"], comparison.args["expression"])
        if isinstance(side, exp.Literal) and not side.is_string
    }


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that an AND joins."""
    if isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


def names_the_row(node: exp.Expr) -> bool:
    """Whether a comparison only identifies a row: `visit_id = :visit_id`, `v.slot_id = s.slot_id`."""
    if not isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
        return False
    sides = [_key_name(node.left), _key_name(node.right)]
    return all(sides) and (isinstance(node, exp.EQ) or str(sides[0]).endswith("_id"))


def _key_name(side: exp.Expr) -> str | None:
    if isinstance(side, exp.Subquery) and isinstance(side.this, exp.Select) and len(side.this.expressions) == 1:
        return _key_name(side.this.expressions[0])
    return str(side.name) if isinstance(side, exp.Column | exp.Placeholder) else None


def parts_read(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts that an expression reads. A subquery, a difference and a length each count as one part."""
    whole = isinstance(node, exp.Column | exp.Placeholder | exp.Subquery | exp.Case | exp.Length)
    if gives_a_time(node):
        yield from parts_read(node.this.expressions[0])
    elif whole or (isinstance(node, exp.Sub) and _is_plain_difference(node)):
        yield node
    else:
        for part in list(node.iter_expressions()):
            yield from parts_read(part)


def sides_of(comparison: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Left and right of a comparison."""
    return comparison.args["this"], comparison.args["expression"]


def gives_a_time(node: exp.Expr) -> bool:
    """Whether a subquery gives a time relative to a column: `(SELECT date(due_on, '+20 days') FROM ...)`."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Select):
        return False
    projected = node.this.expressions
    return len(projected) == 1 and is_date_function(projected[0]) and len(list(projected[0].iter_expressions())) > 1


def is_count(node: exp.Expr) -> bool:
    """Whether a subquery counts rows."""
    if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Select):
        return False
    projected = node.this.expressions
    return len(projected) == 1 and isinstance(projected[0], exp.Count)


def _is_plain_difference(node: exp.Sub) -> bool:
    return isinstance(node.left, exp.Column) and isinstance(node.right, exp.Column)


def is_timed(node: exp.Expr) -> bool:
    """Whether a comparison calls a date function."""
    return any(is_date_function(part) for part in node.find_all(exp.Anonymous, exp.Date))


def is_shifted(copy: exp.Expr, name: str) -> bool:
    """Whether a date function shifts this variable, so that the other time of the comparison is relative to it."""
    for call in copy.find_all(exp.Anonymous):
        variables = [part.name for part in call.find_all(exp.Placeholder)]
        if name in variables and any(isinstance(part, exp.Literal) for part in call.expressions):
            return True
    return False


def inside_count(literal: exp.Expr) -> bool:
    """Whether a literal is in the conditions of a count, and not the number that the count is compared with."""
    case = literal.find_ancestor(exp.Case)
    return case is not None and case.this is None


VariableKind = Literal["number", "money", "time", "choice", "yesno", "row"]
_TIMES = ("date", "datetime")


class Nouns:
    """The nouns in cases for the values that one tool's guards read."""

    def __init__(self, tool: Tool, blueprint: Blueprint) -> None:
        self._parameters = {parameter.name: parameter for parameter in tool.parameters}
        entities = {entity.name: entity.table for entity in blueprint.tables}
        self._keys = {
            parameter.name: entities.get((parameter.refers_to or "").partition(".")[0]) for parameter in tool.parameters
        }
        self._person = _spaced(blueprint.core.table)
        self._tables = {
            entity.table: {attribute.name: attribute for attribute in entity.attributes} for entity in blueprint.tables
        }

    def row(self, table: str) -> str:
        """A row of a table: `visit`."""
        return _spaced(table)

    def owned(self, table: str) -> str:
        """A row that belongs to the caller: `visit of this patient`."""
        return f"{_spaced(table)} of this {self._person}"

    def noun(self, atom: exp.Expr) -> str | None:
        """The noun for a column, parameter or figure: `the visit's "moves"`. None if it has no name."""
        if isinstance(atom, exp.Placeholder):
            return f'the given "{_spaced(atom.name)}"' if atom.name in self._parameters else None
        if isinstance(atom, exp.Column):
            table = self._table(atom)
            chosen = "chosen " if table and self._is_chosen(atom, table) else ""
            return f'the {chosen}{_spaced(table)}\'s "{_spaced(atom.name)}"' if table else None
        if isinstance(atom, exp.Length):
            inner = self.noun(_innermost(atom))
            return f"the number of characters of {inner}" if inner else None
        if isinstance(atom, exp.Sub):
            left, right = self.noun(atom.left), self.noun(atom.right)
            return f"{left} less {right}" if left and right else None
        return None

    def kind(self, atom: exp.Expr) -> VariableKind | None:
        """The kind of its values; None if it is no plain figure."""
        if isinstance(atom, exp.Sub):
            return self.kind(atom.left)
        if isinstance(atom, exp.Length):
            return "number"
        if isinstance(atom, exp.Placeholder):
            parameter = self._parameters.get(atom.name)
            kind, enum, money = (
                (parameter.type, parameter.enum, atom.name.endswith("_cents")) if parameter else ("", None, False)
            )
        elif isinstance(atom, exp.Column):
            attribute = self._tables.get(self._table(atom) or "", {}).get(atom.name)
            if attribute is None:
                return None
            kind, enum, money = attribute.type, attribute.enum, attribute.unit == "cents"
        else:
            return None
        if kind in _TIMES:
            return "time"
        if kind == "boolean":
            return "yesno"
        if enum or kind == "string":
            return "choice"
        return "money" if money else "number"

    def is_date(self, atom: exp.Expr) -> bool:
        """Whether it is a day without a time of day."""
        definition = self._definition(atom)
        return definition is not None and definition.type == "date"

    def choices(self, atom: exp.Expr) -> Sequence[str]:
        """The values of its enum, if it has one."""
        definition = self._definition(atom)
        return (definition.enum if definition else None) or ()

    def _definition(self, atom: exp.Expr) -> Attribute | Parameter | None:
        if isinstance(atom, exp.Placeholder):
            return self._parameters.get(atom.name)
        if isinstance(atom, exp.Column):
            return self._tables.get(self._table(atom) or "", {}).get(atom.name)
        return None

    def _is_chosen(self, column: exp.Column, table: str) -> bool:
        """Whether a parameter names the column's row, and no other row leads to it."""
        keys = [name for name, refers_to in self._keys.items() if refers_to == table]
        scope = column.find_ancestor(exp.Select)
        for equal in scope.find_all(exp.EQ) if scope is not None else ():
            sides = (equal.left, equal.right)
            names = [side.name for side in sides if isinstance(side, exp.Placeholder)]
            columns = [side for side in sides if isinstance(side, exp.Column)]
            if names and columns and names[0] in keys and columns[0].table == column.table:
                return True
        return False

    def _table(self, column: exp.Column) -> str | None:
        scope = column.find_ancestor(exp.Select)
        while scope is not None:
            tables = [table for table in scope.find_all(exp.Table) if table.find_ancestor(exp.Select) is scope]
            for table in tables:
                is_source = column.table == table.alias_or_name if column.table else column.name in self._columns(table)
                if is_source:
                    return str(table.name)
            scope = scope.find_ancestor(exp.Select)
        return None

    def _columns(self, table: exp.Table) -> Sequence[str]:
        return list(self._tables.get(str(table.name), {}))


def count_of(table: str) -> str:
    """The noun for a count of rows: `the number of such visit records`."""
    return f"the number of such {_spaced(table)} records"


def _innermost(node: exp.Expr) -> exp.Expr:
    while not isinstance(node, exp.Column | exp.Placeholder):
        node = next(iter(node.iter_expressions()))
    return node


def _spaced(name: str) -> str:
    return name.removesuffix("_cents").removesuffix("_id").replace("_", " ")
