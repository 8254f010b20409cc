"""Shapes: what parts of a condition are, read off its syntax tree."""

from collections.abc import Iterator

from sqlglot import exp

from synth.policy.moment import is_date_function


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
    """Whether a comparison only says which row is meant: `visit_id = :visit_id`, `v.slot_id = s.slot_id`."""
    if not isinstance(node, exp.EQ | exp.NEQ | exp.NullSafeEQ):
        return False
    sides = [_key_name(node.left), _key_name(node.right)]
    return all(sides) and (isinstance(node, exp.EQ) or str(sides[0]).endswith("_id"))


def _key_name(side: exp.Expr) -> str | None:
    if isinstance(side, exp.Subquery) and isinstance(side.this, exp.Select) and len(side.this.expressions) == 1:
        return _key_name(side.this.expressions[0])
    return str(side.name) if isinstance(side, exp.Column | exp.Placeholder) else None


def readings(node: exp.Expr) -> Iterator[exp.Expr]:
    """What an expression reads, a subquery, a difference and a length as one."""
    whole = isinstance(node, exp.Column | exp.Placeholder | exp.Subquery | exp.Case | exp.Length)
    if gives_a_time(node):
        yield from readings(node.this.expressions[0])
    elif whole or (isinstance(node, exp.Sub) and _is_plain_difference(node)):
        yield node
    else:
        for part in list(node.iter_expressions()):
            yield from readings(part)


def sides_of(comparison: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Left and right of a comparison."""
    return comparison.args["this"], comparison.args["expression"]


def gives_a_time(node: exp.Expr) -> bool:
    """Whether a subquery gives a time that is counted from a column: `(SELECT date(due_on, '+20 days') FROM ...)`."""
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
    """Whether a variable stands with a modifier, so that the other one is counted from it."""
    for call in copy.find_all(exp.Anonymous):
        held = [part.name for part in call.find_all(exp.Placeholder)]
        if name in held and any(isinstance(part, exp.Literal) for part in call.expressions):
            return True
    return False


def inside_count(literal: exp.Expr) -> bool:
    """Whether a literal belongs to the conditions of a count, and so not to its limit."""
    case = literal.find_ancestor(exp.Case)
    return case is not None and case.this is None
