"""Tools and answer checkers for tasks without worlds:
Python functions with a JSON schema, and functions that compare an answer with the expected one.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_jsonable_python

from rollout.task import Answer, Definition, RolloutError
from skillweave.base.errors import ConfigError
from skillweave.schema.record import Json

Checker = Callable[[str], bool | float]

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


def exact(expected: str) -> Checker:
    """The whole answer, apart from case, space, and punctuation around it."""
    wanted = _normal(expected)
    return lambda answer: _normal(answer) == wanted


def contains(*expected: str) -> Checker:
    """Each of these stands in the answer, as whole words, apart from case and space."""
    wanted = [re.compile(rf"(?<!\w){re.escape(_normal(text))}(?!\w)") for text in expected]
    return lambda answer: all(pattern.search(_normal(answer)) for pattern in wanted)


def number(expected: float, *, tolerance: float = 1e-6) -> Checker:
    """The last number in the answer, up to `tolerance` relative to what is expected."""

    def check(answer: str) -> bool:
        found = numbers_in(answer)
        return bool(found) and abs(found[-1] - expected) <= tolerance * max(1.0, abs(expected))

    return check


def expected_answer(expected: str) -> Checker:
    """`number` where a number is expected, otherwise `exact`."""
    return number(numbers_in(expected)[0]) if _NUMBER.fullmatch(expected.strip()) else exact(expected)


CHECKERS: dict[str, Callable[[str], Checker]] = {
    "answer": expected_answer,
    "exact": exact,
    "contains": contains,
    "number": lambda text: number(_number(text)),
}
"""By name, each from the expected answer."""


def numbers_in(text: str) -> list[float]:
    """Numbers in a text, in order; commas may group thousands."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def reward_of(checker: Checker, answer: str) -> float:
    """What the checker says, from 0 to 1. ConfigError where it says something else."""
    said = checker(answer)
    if not isinstance(said, bool | int | float) or not 0 <= said <= 1:
        raise ConfigError(f"the checker gave {said!r} for {answer[:80]!r}; it must give a bool, or a float from 0 to 1")
    return float(said)


def _number(text: str) -> float:
    found = numbers_in(text)
    if len(found) != 1:
        raise ConfigError(f"the expected answer {text!r} is no number; give one, or another check")
    return found[0]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"`*()")


Function = Callable[..., object]
SHOWN = 5
"""Faults of arguments that an answer names."""


class FunctionTool:
    """Parameters and their schemas come from the signature, the description from the docstring's first paragraph."""

    def __init__(self, function: Function, definition: Definition | None = None, *, timeout_s: float = 60.0) -> None:
        """`definition` in place of the one made from the function. ConfigError where none can be made.

        `timeout_s` is how long an async function may take.
        """
        self.function = function
        self._timeout = timeout_s
        self._arguments = _model_of(function) if definition is None else None
        self.definition = definition or _definition(function, self._arguments)
        self.name = _name_in(self.definition)

    async def call(self, arguments: Mapping[str, Json]) -> Answer:
        """What the function gives, as JSON. RolloutError where the function raises one."""
        try:
            given = self._read(arguments)
            found = self.function(**given)
            if isinstance(found, Awaitable):
                async with asyncio.timeout(self._timeout):
                    found = await found
            return Answer(json.dumps(to_jsonable_python(found), ensure_ascii=False))
        except RolloutError:
            raise
        except ValidationError as error:
            return fault("invalid_arguments", _complaints(error))
        except TimeoutError as error:
            return fault("timeout", str(error) or f"{self.name!r} gave no answer within {self._timeout:g} seconds.")
        except Exception as error:  # of a user's function
            return fault("tool_failed", f"{type(error).__name__}: {error}")

    def _read(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        if self._arguments is None:
            inspect.signature(self.function).bind(**arguments)
            return dict(arguments)
        read = self._arguments.model_validate(dict(arguments))
        return {name: getattr(read, name) for name in read.model_fields_set}


def fault(code: str, message: str) -> Answer:
    """An error, in the form in which worlds give theirs."""
    return Answer(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False), ok=False)


def _model_of(function: Function) -> type[BaseModel]:
    """The arguments of a function as a model that takes nothing else."""
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        untyped = parameter.annotation is parameter.empty
        if untyped or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"tool {_called(function)!r}: parameter {name!r} has no type hint or is no named one; "
                "give it one, or give the tool's definition"
            )
        fields[name] = (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
    return create_model(_called(function), __config__=ConfigDict(extra="forbid"), **fields)


def _definition(function: Function, arguments: type[BaseModel] | None) -> Definition:
    assert arguments is not None
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    for parameter in schema.setdefault("properties", {}).values():
        parameter.pop("title", None)
    about = (inspect.getdoc(function) or "").split("\n\n")[0]
    described: dict[str, Json] = {
        "name": _called(function),
        "description": " ".join(about.split()),
        "parameters": schema,
    }
    return {"type": "function", "function": described}


def _called(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _name_in(definition: Definition) -> str:
    function = definition.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        raise ConfigError(f"tool definition {definition!r} names no function; give {{'function': {{'name': ...}}}}")
    return name


def _complaints(error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    shown = [f"{'.'.join(map(str, found['loc'])) or 'arguments'}: {found['msg']}" for found in faults[:SHOWN]]
    return "; ".join(shown) + "."
