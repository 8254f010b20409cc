"""What is given to date functions: only what cannot be the clock or the machine's time zone.

SQLite takes any text as a time, `now` among them, so a value must be a time by its making: `:now`, a date or datetime
column or parameter, a literal date, another date function, or something chosen among these.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from skillweave.world.lineage import Lineage
from skillweave.world.sql import tokens

NAMES = frozenset({"date", "time", "datetime", "julianday", "strftime", "unixepoch"})
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?|\d\d:\d\d(?::\d\d)?")
_MODIFIER = re.compile(
    r"(?:[+-]|%[+\d]*d|[\d.])* ?(?:days?|hours?|minutes?|seconds?|months?|years?)?|start of (?:month|year|day)"
    r"|weekday [0-6]|unixepoch|julianday|auto|(?:%[a-zA-Z]|[-/:. T\d])+",
    re.IGNORECASE,
)
_CHOICES = (exp.Coalesce, exp.Greatest, exp.Least, exp.Max, exp.Min, exp.Nullif)
_COMPUTED = (exp.DPipe, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Round, exp.Abs, exp.Floor, exp.Ceil)
_HARMLESS = (exp.Null, exp.Star, exp.Predicate, exp.Not, exp.Boolean, exp.CurrentTimestamp)
"""No times, or refused elsewhere."""
_WRAPPERS = (exp.Paren, exp.Cast, exp.TsOrDsToTimestamp, exp.Alias, exp.Sum, exp.Count, exp.Trunc)


def faults_in_times(text: str, tree: exp.Expr, lineage: Lineage, texts: frozenset[str]) -> list[str]:
    """What date functions are given that could read the clock; `texts` are the bindings that hold free text."""
    calls = [node for node in tree.dfs() if _is_date_call(node)]
    if len(calls) != _named_in(text):
        return ["uses a date function in a form that is not understood; give it a time and modifiers"]
    found: list[str] = []
    for call in calls:
        given = _arguments(call)
        if not given or (isinstance(call, exp.TimeToStr) and call.args.get("this") is None):
            found.append("reads the clock: a date function without a time; use :now")
        for argument in given:
            found.extend(_faults(argument, lineage, texts))
    return list(dict.fromkeys(found))


def _named_in(text: str) -> int:
    read = tokens(text)
    return sum(
        one.text.lower() in NAMES and after.token_type == TokenType.L_PAREN
        for one, after in pairwise(read)
        if one.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    )


def _is_date_call(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in NAMES
    return isinstance(node, exp.Date | exp.TimeToStr)


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        given = list(call.expressions)
        return given[1:] if str(call.this).lower() == "strftime" else given
    return [part for name in call.arg_types for part in _parts(call, name) if name != "format"]


def _parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    part = node.args.get(name)
    listed = part if isinstance(part, list) else [part]
    return [one for one in listed if isinstance(one, exp.Expr)]


def _faults(node: exp.Expr, lineage: Lineage, texts: frozenset[str]) -> Iterator[str]:
    if isinstance(node, exp.Literal):
        if node.is_string and not (_TIME.fullmatch(str(node.this)) or _MODIFIER.fullmatch(str(node.this).strip())):
            yield f"gives {str(node.this)!r} to a date function; use :now, dates, and modifiers such as '+3 days'"
    elif isinstance(node, exp.Placeholder):
        if str(node.this) in texts:
            yield f"gives the text :{node.this} to a date function; make it a date, datetime or number"
    elif isinstance(node, exp.Column):
        origins = lineage.origins(node)
        if not origins or any(not isinstance(one, exp.Expr) and one.type == "string" for one in origins):
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


def _values(node: exp.Expr, lineage: Lineage) -> list[exp.Expr] | None:
    """The expressions that a value is chosen from or made of; None where that is not known."""
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
