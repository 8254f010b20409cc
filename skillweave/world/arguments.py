"""Arguments of a call: check them against the tool's parameters and convert them to the form that SQL binds.

The only coercion is integer to number. Dates and datetimes in other ISO forms become `YYYY-MM-DD[ HH:MM:SS]` UTC.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache

from skillweave.schema.contract import Parameter, ParameterType, Tool
from skillweave.schema.record import Json

BoundValue = None | int | float | str
"""The value of one `:name` binding."""

_DATE = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d)"
_TIME = r"(?:\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?|\d{4}(?:\d\d)?)"
_DATE_FORM = re.compile(_DATE, re.ASCII)
_DATETIME_FORM = re.compile(rf"{_DATE}(?:[T ]{_TIME}(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_INTEGERS = 2**63
"""Integers fit in 64 bits with their sign."""
_MAX_DEPTH = 32
"""Most levels of nested arrays and objects."""


class ArgumentError(Exception):
    """An argument does not fit the tool; the message is for the agent."""


def bind(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, BoundValue]:
    """Check arguments and convert them to the form that SQL binds.

    Args:
        tool: The tool.
        arguments: Values by parameter, as the caller gave them.

    Returns:
        Every parameter of the tool by name; None for one that is left out or null.

    Raises:
        ArgumentError: An argument does not fit; the message names the first one.
    """
    parameters = tool.parameters
    bound: dict[str, BoundValue] = {parameter.name: None for parameter in parameters}
    if not arguments.keys() <= bound.keys():
        name, takes = min(arguments.keys() - bound.keys()), ", ".join(bound) or "no arguments"
        raise ArgumentError(f"unknown argument {name!r}; {tool.name} takes {takes}")
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is not None or parameter.required:
            bound[parameter.name] = bind_argument(parameter, value)
    return bound


def by_name(given: object) -> dict[str, Json]:
    """The given arguments as a dict. Raises ArgumentError if they are no mapping with text keys."""
    if isinstance(given, (dict, Mapping)):
        for name in given:
            if not isinstance(name, str):
                break
        else:
            return dict(given)
    raise ArgumentError("the arguments must be an object of values by name")


def is_clock(now: object) -> bool:
    """Whether it is a time of the form `YYYY-MM-DD HH:MM:SS`, which session clocks must have."""
    return isinstance(now, str) and len(now) == 19 and _is_time(now)


@lru_cache(maxsize=1024)
def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).isoformat(" ") == text
    except ValueError:
        return False


def bind_argument(parameter: Parameter, value: Json) -> BoundValue:
    """One argument in the form that SQL binds. Raises ArgumentError if it does not fit the parameter."""
    if value is None:
        if parameter.required:
            raise ArgumentError(f"missing argument {parameter.name!r}")
        return None
    try:
        bound = _BINDERS[parameter.type](value)
    except _UnfitError as unfit:
        raise ArgumentError(f"argument {parameter.name!r} {unfit}") from None
    if parameter.enum is not None and bound not in parameter.enum:
        raise ArgumentError(f"argument {parameter.name!r} must be one of {', '.join(parameter.enum)}")
    return bound


class _UnfitError(Exception):
    """A value does not fit its type; the message continues after the argument's name."""


def _text(value: Json, kind: str = "string") -> str:
    if not isinstance(value, str):
        raise _UnfitError(f"must be a {kind}")
    if "\0" in value or (not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value)):
        raise _UnfitError("is not valid text")
    return value


def _string(value: Json) -> str:
    return _text(value)


def _integer(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _UnfitError("must be an integer")
    if not -_INTEGERS <= value < _INTEGERS:
        raise _UnfitError("must fit in 64 bits")
    return value


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _UnfitError("must be a number")
    if isinstance(value, int):
        return float(_integer(value))
    if not math.isfinite(value):
        raise _UnfitError("must be a finite number")
    return value


def _boolean(value: Json) -> int:
    if not isinstance(value, bool):
        raise _UnfitError("must be true or false")
    return int(value)


def _date(value: Json) -> str:
    text = _text(value, "date, YYYY-MM-DD")
    if not _DATE_FORM.fullmatch(text):
        raise _UnfitError("must be a date, YYYY-MM-DD")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise _UnfitError("must be a date, YYYY-MM-DD") from None


def _datetime(value: Json) -> str:
    fault = "must be a datetime, YYYY-MM-DD HH:MM:SS"
    text = _text(value, "datetime, YYYY-MM-DD HH:MM:SS")
    if not _DATETIME_FORM.fullmatch(text):
        raise _UnfitError(fault)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise _UnfitError(fault) from None
    if moment.microsecond:
        raise _UnfitError(f"{fault}, in whole seconds")
    return moment.isoformat(sep=" ")


def _array(value: Json) -> str:
    if not isinstance(value, list):
        raise _UnfitError("must be an array")
    return _json(value)


def _object(value: Json) -> str:
    if not isinstance(value, dict):
        raise _UnfitError("must be an object")
    return _json(value)


def _json(value: Json) -> str:
    _check(value, _MAX_DEPTH)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _check(value: Json, depth: int) -> None:
    """Refuse what SQLite or UTF-8 cannot hold anywhere in the value, and more than `depth` levels."""
    if not depth:
        raise _UnfitError(f"must not be nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, item in value.items():
            _text(key)
            _check(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)
    elif isinstance(value, str):
        _text(value)
    elif isinstance(value, float | int) and not isinstance(value, bool):
        _number(value)


_BINDERS: dict[ParameterType, Callable[[Json], BoundValue]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "array": _array,
    "object": _object,
}
