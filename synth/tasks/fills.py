"""Which columns an argument merely fills: given or not, nothing else of the outcome depends on it."""

from functools import cache

import sqlglot
from sqlglot import exp

from skillweave.schema.contract import Tool


def filled_by(tool: Tool, parameter: str) -> dict[str, list[str]] | None:
    """Table -> columns that the argument is written into as it is; None where it does more than that."""
    found: dict[str, list[str]] = {}
    for effect in tool.effects:
        columns = _filled(effect.sql, parameter)
        if columns is None:
            return None
        for table, column in columns:
            found.setdefault(table, []).append(column)
    return found or None


@cache
def _filled(sql: str, parameter: str) -> tuple[tuple[str, str], ...] | None:
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    places = [node for node in tree.find_all(exp.Placeholder) if node.name == parameter]
    found = []
    for node in places:
        column = _column_filled(tree, node)
        if column is None:
            return None
        found.append(column)
    return tuple(found)


def _column_filled(tree: exp.Expr, node: exp.Expr) -> tuple[str, str] | None:
    value = node
    while isinstance(value.parent, (exp.Coalesce, exp.Paren, exp.Alias, exp.Trim)):
        value = value.parent
    if isinstance(tree, exp.Update) and isinstance(value.parent, exp.EQ) and value.parent.parent is tree:
        return tree.this.name, value.parent.left.name
    if isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Schema):
        names = [identifier.name for identifier in tree.this.expressions]
        row = value.parent
        if isinstance(row, exp.Tuple) or (isinstance(row, exp.Select) and row is tree.expression):
            place = next((n for n, expression in enumerate(row.expressions) if expression is value), None)
            if place is not None and place < len(names):
                return tree.this.this.name, names[place]
    return None
