"""Nouns: what a case calls a column, a parameter or a row of the contract."""

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute

Kind = Literal["number", "money", "time", "choice", "yesno", "row"]
_TIMES = ("date", "datetime")


class Nouns:
    """The words of one contract, as one tool reads it."""

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
        """`visit`."""
        return _spaced(table)

    def owned(self, table: str) -> str:
        """`visit of this patient`."""
        return f"{_spaced(table)} of this {self._person}"

    def noun(self, atom: exp.Expr) -> str | None:
        """What it is called, `the visit's "moves"`; None for what has no name."""
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

    def kind(self, atom: exp.Expr) -> Kind | None:
        """What values it has; None for what is no plain figure."""
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
        found = self._described(atom)
        return found is not None and found.type == "date"

    def choices(self, atom: exp.Expr) -> Sequence[str]:
        """The values of its enum."""
        found = self._described(atom)
        return (found.enum if found else None) or ()

    def _described(self, atom: exp.Expr) -> Attribute | Parameter | None:
        if isinstance(atom, exp.Placeholder):
            return self._parameters.get(atom.name)
        if isinstance(atom, exp.Column):
            return self._tables.get(self._table(atom) or "", {}).get(atom.name)
        return None

    def _is_chosen(self, column: exp.Column, table: str) -> bool:
        """Whether the column's row is the one that a parameter names, and not one that another row leads to."""
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
                named = column.table == table.alias_or_name if column.table else column.name in self._columns(table)
                if named:
                    return str(table.name)
            scope = scope.find_ancestor(exp.Select)
        return None

    def _columns(self, table: exp.Table) -> Sequence[str]:
        return list(self._tables.get(str(table.name), {}))


def count_of(table: str) -> str:
    """`the number of such visit records`."""
    return f"the number of such {_spaced(table)} records"


def _innermost(node: exp.Expr) -> exp.Expr:
    while not isinstance(node, exp.Column | exp.Placeholder):
        node = next(iter(node.iter_expressions()))
    return node


def _spaced(name: str) -> str:
    return name.removesuffix("_cents").removesuffix("_id").replace("_", " ")
