"""What contract SQL may not hold, found in its syntax tree: what reads the outside, is unbounded, or hinders renaming.

SQLite's authorizer sees which tables and functions a statement uses, and not what it gives them: it lets the clock
pass. So this check comes first, and the authorizer stands behind it.
"""

from collections.abc import Iterator
from typing import Literal

from sqlglot import exp

from skillweave.errors import WorldError
from skillweave.schema.contract import Tool
from skillweave.world.authorizer import FUNCTIONS
from skillweave.world.lineage import Lineage, cte_of
from skillweave.world.moments import faults_in_times
from skillweave.world.sql import Statement, parse

Form = Literal["expression", "query", "change"]

MOST_TEXT = 20_000
"""Characters of one statement; reading its syntax takes time."""
"""What a guard, a `returns` and an effect must be."""

_FORMS: dict[Form, str] = {
    "expression": "must be an expression",
    "query": "must be one SELECT",
    "change": "must be one INSERT, UPDATE or DELETE",
}
_REFUSED: list[tuple[type[exp.Expr], str]] = [
    (exp.CurrentTimestamp, "reads the clock (CURRENT_TIMESTAMP); use :now"),
    (exp.CurrentDate, "reads the clock (CURRENT_DATE); use :now"),
    (exp.CurrentTime, "reads the clock (CURRENT_TIME); use :now"),
    (exp.Rand, "draws a random value"),
    (exp.HexString, "holds a blob"),
    (exp.Returning, "uses RETURNING; use the tool's `returns`"),
    (exp.OnConflict, "uses ON CONFLICT; write a guard instead"),
    (exp.Parameter, "binds by a form other than :name"),
    (exp.SessionParameter, "binds by a form other than :name"),
]


def texts_of(tool: Tool) -> frozenset[str]:
    """Bindings of a tool that hold free text."""
    return frozenset(parameter.name for parameter in tool.parameters if parameter.type in ("string", "array", "object"))


def refused_in(text: str, form: Form, lineage: Lineage, texts: frozenset[str] = frozenset()) -> list[str]:
    """Reasons to refuse a statement or expression, in words; `texts` are the bindings that hold free text."""
    reason = misformed(text, form)
    if reason:
        return [reason]
    try:
        statement = parse(text)
        found = [*_structure(statement, lineage), *faults_in_times(text, statement.tree, lineage, texts)]
    except WorldError as error:
        return [str(error)]
    return list(dict.fromkeys(found))


def misformed(text: str, form: Form) -> str | None:
    """Why a text is no statement or expression of this form, in words."""
    if len(text) > MOST_TEXT:
        return f"is longer than {MOST_TEXT} characters"
    try:
        return None if _has_form(parse(text).tree, form) else _FORMS[form]
    except WorldError as error:
        return str(error)


def _has_form(tree: exp.Expr, form: Form) -> bool:
    if form == "change":
        return isinstance(tree, exp.Insert | exp.Update | exp.Delete)
    if form == "query":
        return isinstance(tree, exp.Select | exp.SetOperation)
    return isinstance(tree, exp.Condition | exp.Subquery) and not isinstance(
        tree, exp.Select | exp.SetOperation | exp.Star
    )


def _structure(statement: Statement, lineage: Lineage) -> Iterator[str]:
    for node in statement.tree.dfs():
        for kind, reason in _REFUSED:
            if isinstance(node, kind):
                yield reason
        if isinstance(node, exp.Table):
            yield from _table(node, lineage)
        elif isinstance(node, exp.Column):
            yield from _column(node, lineage)
        elif isinstance(node, exp.Anonymous) and str(node.this).lower() not in FUNCTIONS:
            yield f"uses the function {str(node.this)!r}; allowed are {', '.join(sorted(FUNCTIONS))}"
        elif isinstance(node, exp.With) and node.args.get("recursive"):
            yield "holds a recursive CTE, which need not end"
        elif isinstance(node, exp.In) and node.args.get("field") is not None:
            yield "uses `x IN table`; write IN (SELECT ...)"
        elif isinstance(node, exp.Placeholder) and not node.args.get("this"):
            yield "binds by position; use :name"
        elif isinstance(node, exp.Insert | exp.Update | exp.Delete):
            yield from _change(node, statement, lineage)


def _table(node: exp.Table, lineage: Lineage) -> Iterator[str]:
    if not isinstance(node.this, exp.Identifier):
        yield f"reads from {node.this.sql('sqlite')!r}; only tables of the blueprint may be read"
    elif node.args.get("db") is not None:
        yield f"names a schema ({node.sql('sqlite')}); leave it out"
    elif isinstance(node.parent, exp.Table):
        yield "uses INDEXED BY"
    elif not lineage.has_table(node.name) and cte_of(node) is None:
        yield f"reads or writes the unknown table {node.name!r}; tables are {', '.join(lineage.tables)}"


def _column(node: exp.Column, lineage: Lineage) -> Iterator[str]:
    if node.args.get("db") is not None:
        yield f"names a schema ({node.sql('sqlite')}); leave it out"
    if node.name.startswith("$"):
        yield "binds by a form other than :name"
    quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted")
    if quoted and not node.table and not lineage.knows(node):
        yield f'takes "{node.name}" for text; text stands in single quotes'


def _change(node: exp.Insert | exp.Update | exp.Delete, statement: Statement, lineage: Lineage) -> Iterator[str]:
    target = statement.target
    if node is not statement.tree:
        yield "changes rows inside another statement"
    elif target is None or not lineage.has_table(target):
        yield f"writes the unknown table {target!r}; tables are {', '.join(lineage.tables)}"
    if isinstance(node, exp.Insert):
        if node.args.get("alternative") or node.args.get("ignore") or node.args.get("overwrite"):
            yield "uses INSERT OR ...; write a guard instead"
        if node.args.get("default"):
            yield "inserts DEFAULT VALUES; name the columns"
    elif node.args.get("where") is None:
        yield "changes every row; it needs a WHERE"
