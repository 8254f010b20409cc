"""Jinja templates of the catalogue. Files of strangers are among them: they reach values and no Python, and their work
is bounded.

Every value that an expression makes is weighed, and the weights of one rendering add up to at most `MAX_WORK`. What
could make a huge value in one step (`*`, `**`, `~`, `join`, a width) is refused before it is carried out. Nothing is
evaluated while a template is compiled. The bounds count steps, not seconds, so that a file that works does so on any
machine.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sized
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer
from pydantic import BaseModel

from skillweave.schema.record import table_of

MAX_WORK = 2_000_000
"""Iterations, values and characters that one rendering may make; the largest built-in file makes a thirtieth."""
MAX_WEIGHT = 1_000_000
"""Parts and characters of one value."""
CALL = 5
"""The work of a call, beside what it takes and makes."""
MAX_WIDTH = 100
"""The largest argument of a filter that pads, indents or rounds."""
_WIDE = frozenset({"batch", "center", "indent", "round", "slice", "tojson", "truncate", "wordwrap"})
_GROWING = frozenset(
    {"center", "expandtabs", "format", "format_map", "join", "ljust", "replace", "rjust", "translate", "zfill"}
)
"""Methods of texts that make as large a text as they are told."""

_left: ContextVar[int] = ContextVar("left", default=MAX_WORK)


def render_template(template: Template, values: Mapping[str, object]) -> str:
    """The text of a template. ValueError if it makes more than a file may; else whatever the template raises."""
    token = _left.set(MAX_WORK)
    try:
        return template.render(**values)
    finally:
        _left.reset(token)


def money(cents: float) -> str:
    """1500 -> `15.00`."""
    return f"{cents / 100:,.2f}"


def percent(share: float) -> str:
    """0.25 -> `25 %`."""
    return f"{share * 100:g} %"


def plural(count: float, noun: str) -> str:
    """1, `day` -> `1 day`; 3, `day` -> `3 days`."""
    return f"{count:g} {noun}{'' if count == 1 else 's'}"


class Templates(ImmutableSandboxedEnvironment):
    """The environment. Of a record a template reaches the fields alone: pydantic's methods would read files."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            optimized=False,
            # Since it takes the context, no output is evaluated while the template is compiled.
            finalize=pass_context(lambda context, value: _charged(value)),
        )
        self.filters.pop("random")
        del self.globals["lipsum"]
        self.filters.update(money=money, percent=percent, plural=plural, table=table_of, format=_formatted)
        self.filters = {name: _bounded(name, made) for name, made in self.filters.items()}
        self.filters.update(_weighed=_charged, _counted=_counted, _concatenated=_concatenated)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed = super()._parse(source, name, filename)
        _Weighing().visit(parsed)
        parsed.set_environment(self)
        return parsed

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may use an attribute of a value."""
        if isinstance(obj, BaseModel):
            return attr in type(obj).model_fields
        if isinstance(obj, int | float | bytes) or (isinstance(obj, str) and attr in _GROWING):
            return False
        return bool(super().is_safe_attribute(obj, attr, value))

    def wrap_str_format(self, value: Any) -> None:
        """No `format` of texts: it pads to any width."""

    def call(self, context: Context, obj: Any, *arguments: Any, **named: Any) -> Any:
        """Call a function, a macro or a method."""
        _charge(CALL)
        _charged([*arguments, *named.values()])
        return _charged(super().call(context, obj, *arguments, **named))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Carry an operator out, if what comes of it is not too large."""
        if operator == "**":
            _refuse_above(_digits_weight(left.bit_length() * abs(right)) if isinstance(left, int) else 0)
        elif operator == "*":
            times = [abs(side) if isinstance(side, int) else _weight(side) for side in (left, right)]
            if not all(isinstance(side, int | float) for side in (left, right)):
                _refuse_above(times[0] * times[1])
        elif operator == "%" and isinstance(left, str):
            return _charged(_formatted(left, right))
        return _charged(super().call_binop(context, operator, left, right))


class _Weighing(NodeTransformer):
    """Has loops counted, and the values weighed that no call, filter or operator makes."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        assert isinstance(node.iter, nodes.Expr)
        node.iter = _filtered(node.iter, "_counted")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_concatenated")

    def visit_List(self, node: nodes.Expr) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, "_weighed")

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        return self.visit_List(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, "_weighed") if node.ctx == "load" else node


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _bounded(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, with what it takes and makes weighed. What it makes one by one is a list."""

    @wraps(made)
    def bounded(*given: Any, **named: Any) -> Any:
        first = next((place for place, one in enumerate(given) if not isinstance(one, Context | Templates)), 0)
        others = [*given[first + 1 :], *named.values()]
        _charged([given[first : first + 1], others])
        if name in _WIDE and any((one if isinstance(one, int) else _weight(one)) > MAX_WIDTH for one in others):
            raise ValueError(f"the filter {name!r} has an argument of more than {MAX_WIDTH}")
        if name == "join" and others:
            _refuse_above(_weight(others[0]) * (_weight(given[first]) + 1))
        if name == "replace" and len(others) > 1:
            _refuse_above(_weight(given[first]) * max(1, _weight(others[1])))
        result = made(*given, **named)
        is_lazy = isinstance(result, Iterable) and not isinstance(result, Sized | str | BaseModel)
        return _charged([*result] if is_lazy else result)

    return bounded


def _formatted(text: str, *values: Any, **named: Any) -> str:
    """Text with values in place of `%s` and its like."""
    if re.search(r"\d{3}|\*", str(text)):
        raise ValueError(f"a format pads to more than {MAX_WIDTH - 1} places")
    given = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    return str(text) % (named or given)


def _concatenated(values: list[Any]) -> str:
    return "".join(map(str, _charged(values)))


def _counted(values: Any) -> Any:
    """What a loop goes through."""
    found = values if isinstance(values, Sized) else [*values]
    _charge(len(found))
    return found


def _charged(value: Any) -> Any:
    """The value, when its weight is counted. ValueError if it is too large, or one more."""
    _charge(_refuse_above(_weight(value)))
    return value


def _charge(work: int) -> None:
    left = _left.get() - work
    if left < 0:
        raise ValueError(f"the template makes more than {MAX_WORK:,} values and characters; make it smaller")
    _left.set(left)


def _refuse_above(weight: int) -> int:
    if weight > MAX_WEIGHT:
        raise ValueError(f"the template makes a value of more than {MAX_WEIGHT:,} parts or characters; make it smaller")
    return weight


def _weight(value: Any) -> int:
    """Parts and characters of a value, however often it holds the same one; counted to just above `MAX_WEIGHT`."""
    weight, open_values = 0, [value]
    while open_values and weight <= MAX_WEIGHT:
        one = open_values.pop()
        weight += 1
        if isinstance(one, str | bytes | range):
            weight += len(one)
        elif isinstance(one, int):
            weight += _digits_weight(one.bit_length())
        elif isinstance(one, Mapping):
            open_values += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            open_values += one
    return weight


def _digits_weight(bits: float) -> int:
    """What a whole number weighs more than other values: products take the square of its length."""
    return int(min(bits, MAX_WEIGHT)) ** 2 // 2**14
