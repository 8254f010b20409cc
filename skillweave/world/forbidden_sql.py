"""The check of contract SQL for forbidden parts, on its syntax tree.

It refuses SQL that reads the clock or random values, that may not terminate, or that prevents the renaming of ids.
SQLite's authorizer sees which tables and functions a statement uses, but not their arguments: `datetime('now')` passes
there. So this check comes first, and the authorizer is the second line.

SQLite takes any text as a time, `now` among them. So an argument of a date function must be a time by construction:
`:now`, a date or datetime column or parameter, a literal date, another date function, or a choice among these.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from skillweave.base.errors import WorldError
from skillweave.schema.contract import Tool
from skillweave.world.lineage import ColumnLineage, cte_of
from skillweave.world.sql import FUNCTIONS, Statement, parse, tokens

SqlForm = Literal["expression", "query", "change"]
"""The required form of a guard, a `returns` and an effect."""

MAX_CHARACTERS = 20_000
"""Most characters of one statement, because parsing takes time."""

_FORMS: dict[SqlForm, str] = {
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

_DATE_FUNCTIONS = frozenset({"date", "time", "datetime", "julianday", "strftime", "unixepoch"})
_DATE_FUNCTION = re.compile(rf"(?<![a-z_])(?:{'|'.join(sorted(_DATE_FUNCTIONS))})(?![a-z0-9_])", re.IGNORECASE)
"""A name of one; a text without it holds no such token, and need not be split into tokens."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\d\d:\d\d(?::\d\d)?")
_MODIFIER = re.compile(
    r"(?:[+-]|%[+\d]*d|[\d.])* ?(?:days?|hours?|minutes?|seconds?|months?|years?)?|start of (?:month|year|day)"
    r"|weekday [0-6]|unixepoch|julianday|auto|(?:%[a-zA-Z]|[-/:. T\d])+",
    re.IGNORECASE,
)
_CHOICES = (exp.Coalesce, exp.Greatest, exp.Least, exp.Max, exp.Min, exp.Nullif)
_COMPUTED = (exp.DPipe, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Round, exp.Abs, exp.Floor, exp.Ceil)
_HARMLESS = (exp.Null, exp.Star, exp.Predicate, exp.Not, exp.Boolean, exp.CurrentTimestamp)
"""Expressions that are no times, or that another check refuses."""
_WRAPPERS = (exp.Paren, exp.Cast, exp.TsOrDsToTimestamp, exp.Alias, exp.Sum, exp.Count, exp.Trunc)


def texts_of(tool: Tool) -> frozenset[str]:
    """Bindings of a tool with free text, which no date function may take."""
    return frozenset(parameter.name for parameter in tool.parameters if parameter.type in ("string", "array", "object"))


def refused_in(text: str, form: SqlForm, lineage: ColumnLineage, texts: frozenset[str] = frozenset()) -> list[str]:
    """Reasons to refuse a statement or expression.

    Args:
        text: The SQL.
        form: What it has to be.
        lineage: Of the blueprint.
        texts: Bindings that hold text of any form.

    Returns:
        The reasons in words, each once; empty if it is allowed.
    """
    reason = misformed(text, form)
    if reason:
        return [reason]
    try:
        statement = parse(text)
        reasons = [*_structure(statement, lineage), *_date_calls(text, statement.tree, lineage, texts)]
    except WorldError as error:
        return [str(error)]
    return list(dict.fromkeys(reasons))


def misformed(text: str, form: SqlForm) -> str | None:
    """Why a text is no statement or expression of this form, in words; None if it is one."""
    if len(text) > MAX_CHARACTERS:
        return f"is longer than {MAX_CHARACTERS} characters"
    try:
        return None if _has_form(parse(text).tree, form) else _FORMS[form]
    except WorldError as error:
        return str(error)


def _has_form(tree: exp.Expr, form: SqlForm) -> bool:
    if form == "change":
        return isinstance(tree, exp.Insert | exp.Update | exp.Delete)
    if form == "query":
        return isinstance(tree, exp.Select | exp.SetOperation)
    return isinstance(tree, exp.Condition | exp.Subquery) and not isinstance(
        tree, exp.Select | exp.SetOperation | exp.Star
    )


def _structure(statement: Statement, lineage: ColumnLineage) -> Iterator[str]:
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


def _table(node: exp.Table, lineage: ColumnLineage) -> Iterator[str]:
    if not isinstance(node.this, exp.Identifier):
        yield f"reads from {node.this.sql('sqlite')!r}; only tables of the blueprint may be read"
    elif node.args.get("db") is not None:
        yield f"names a schema ({node.sql('sqlite')}); leave it out"
    elif isinstance(node.parent, exp.Table):
        yield "uses INDEXED BY"
    elif not lineage.has_table(node.name) and cte_of(node) is None:
        yield f"reads or writes the unknown table {node.name!r}; tables are {', '.join(lineage.tables)}"


def _column(node: exp.Column, lineage: ColumnLineage) -> Iterator[str]:
    if node.args.get("db") is not None:
        yield f"names a schema ({node.sql('sqlite')}); leave it out"
    if node.name.startswith("$"):
        yield "binds by a form other than :name"
    quoted = isinstance(node.this, exp.Identifier) and node.this.args.get("quoted")
    if quoted and not node.table and not lineage.knows(node):
        yield f'takes "{node.name}" for text; text stands in single quotes'


def _change(node: exp.Insert | exp.Update | exp.Delete, statement: Statement, lineage: ColumnLineage) -> Iterator[str]:
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


def _date_calls(text: str, tree: exp.Expr, lineage: ColumnLineage, texts: frozenset[str]) -> list[str]:
    """Arguments of date functions that could read the clock, as reasons to refuse the statement."""
    calls = [node for node in tree.dfs() if _is_date_call(node)]
    if len(calls) != _date_calls_in_text(text):
        return ["uses a date function in a form that is not understood; give it a time and modifiers"]
    reasons: list[str] = []
    for call in calls:
        arguments = _arguments(call)
        if not arguments or (isinstance(call, exp.TimeToStr) and call.args.get("this") is None):
            reasons.append("reads the clock: a date function without a time; use :now")
        for argument in arguments:
            reasons.extend(_faults(argument, lineage, texts))
    return list(dict.fromkeys(reasons))


def _date_calls_in_text(text: str) -> int:
    """The number of calls of date functions in the tokens, to check that the tree has them all."""
    if _DATE_FUNCTION.search(text) is None:
        return 0
    return sum(
        token.text.lower() in _DATE_FUNCTIONS and following.token_type == TokenType.L_PAREN
        for token, following in pairwise(tokens(text))
        if token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    )


def _is_date_call(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _DATE_FUNCTIONS
    return isinstance(node, exp.Date | exp.TimeToStr)


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        arguments = list(call.expressions)
        return arguments[1:] if str(call.this).lower() == "strftime" else arguments
    return [part for name in call.arg_types for part in _parts(call, name) if name != "format"]


def _parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    part = node.args.get(name)
    listed = part if isinstance(part, list) else [part]
    return [node_part for node_part in listed if isinstance(node_part, exp.Expr)]


def _faults(node: exp.Expr, lineage: ColumnLineage, texts: frozenset[str]) -> Iterator[str]:
    if isinstance(node, exp.Literal):
        if node.is_string and not (_TIME.fullmatch(str(node.this)) or _MODIFIER.fullmatch(str(node.this).strip())):
            yield f"gives {str(node.this)!r} to a date function; use :now, dates, and modifiers such as '+3 days'"
    elif isinstance(node, exp.Placeholder):
        if str(node.this) in texts:
            yield f"gives the text :{node.this} to a date function; make it a date, datetime or number"
    elif isinstance(node, exp.Column):
        origins = lineage.origins(node)
        if not origins or any(not isinstance(source, exp.Expr) and source.type == "string" for source in origins):
            yield f"gives the column {node.name!r} to a date function; only dates, datetimes and numbers may be"
        for origin in origins:
            if isinstance(origin, exp.Expr):
                yield from _faults(origin, lineage, texts)
    elif not _is_date_call(node):
        values = _values(node, lineage)
        if values is None:
            yield f"gives a {type(node).__name__.lower()} to a date function, which cannot be shown to be a time"
        for value in values or []:
            yield from _faults(value, lineage, texts)


def _values(node: exp.Expr, lineage: ColumnLineage) -> list[exp.Expr] | None:
    """The expressions from which a value is chosen or computed; None if they are unknown."""
    if isinstance(node, _HARMLESS) or (isinstance(node, exp.Cast) and node.is_type(*exp.DataType.NUMERIC_TYPES)):
        return []
    if isinstance(node, exp.Subquery):
        return lineage.values(node)
    if isinstance(node, exp.Case):
        return [*(branch.args["true"] for branch in node.args["ifs"]), *_parts(node, "default")]
    if isinstance(node, exp.If):
        return [*_parts(node, "true"), *_parts(node, "false")]
    if isinstance(node, _WRAPPERS):
        return _parts(node, "this")
    if isinstance(node, (*_CHOICES, *_COMPUTED)):
        return [*_parts(node, "this"), *_parts(node, "expression"), *_parts(node, "expressions")]
    if isinstance(node, exp.Window):
        return _parts(node, "this")
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in ("total", "printf", "format", "mod"):
        return list(node.expressions)
    return None
