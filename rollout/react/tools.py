"""Tools and answer checkers for tasks without worlds.

A tool is a Python function with a JSON schema. A checker is a function that compares an answer with the expected one.
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
"""Answer -> reward: a bool, or a float from 0 to 1."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


def exact(expected: str) -> Checker:
    """Check that the answer equals the expected one, apart from case, spaces, and punctuation around it."""
    normal = _normal(expected)
    return lambda answer: _normal(answer) == normal


def contains(*expected: str) -> Checker:
    """Check that the answer contains each of the texts as whole words, apart from case and spaces."""
    patterns = [re.compile(rf"(?<!\w){re.escape(_normal(text))}(?!\w)") for text in expected]
    return lambda answer: all(pattern.search(_normal(answer)) for pattern in patterns)


def number(expected: float, *, tolerance: float = 1e-6) -> Checker:
    """Check the last number in the answer.

    Args:
        expected: The expected number.
        tolerance: The allowed difference, relative to the expected number, or absolute if that is below 1.
    """

    def check(answer: str) -> bool:
        numbers = numbers_in(answer)
        return bool(numbers) and abs(numbers[-1] - expected) <= tolerance * max(1.0, abs(expected))

    return check


def expected_answer(expected: str) -> Checker:
    """`number` if the expected answer is a number, otherwise `exact`."""
    return number(numbers_in(expected)[0]) if _NUMBER.fullmatch(expected.strip()) else exact(expected)


CHECKERS: dict[str, Callable[[str], Checker]] = {
    "answer": expected_answer,
    "exact": exact,
    "contains": contains,
    "number": lambda text: number(_number(text)),
}
"""Name of a check -> function that makes a checker from the expected answer."""


def numbers_in(text: str) -> list[float]:
    """The numbers in a text, in order. Commas may group thousands."""
    return [float(digits.replace(",", "")) for digits in _NUMBER.findall(text)]


def reward_of(checker: Checker, answer: str) -> float:
    """The checker's reward for an answer, from 0 to 1.

    Raises:
        ConfigError: The checker returned anything else.
    """
    reward = checker(answer)
    if not isinstance(reward, bool | int | float) or not 0 <= reward <= 1:
        raise ConfigError(
            f"the checker gave {reward!r} for {answer[:80]!r}; it must give a bool, or a float from 0 to 1"
        )
    return float(reward)


def _number(text: str) -> float:
    numbers = numbers_in(text)
    if len(numbers) != 1:
        raise ConfigError(f"the expected answer {text!r} is no number; give one, or another check")
    return numbers[0]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"`*()")


Function = Callable[..., object]
SHOWN = 5
"""Wrong arguments that an error names."""


class FunctionTool:
    """A Python function as a tool.

    The parameters' schemas come from its signature, the description from the first paragraph of its docstring.
    """

    def __init__(self, function: Function, definition: Definition | None = None, *, timeout_s: float = 60.0) -> None:
        """Make a tool of a function.

        Args:
            function: The function, sync or async. Its result must be serializable as JSON.
            definition: An OpenAI tool definition; None makes one from the signature.
            timeout_s: Seconds that an async function may take.

        Raises:
            ConfigError: The function lacks a type hint, or the definition has no name.
        """
        self.function = function
        self._timeout = timeout_s
        self._arguments = _model_of(function) if definition is None else None
        self.definition = definition or _definition(function, self._arguments)
        self.name = _name_in(self.definition)

    async def call(self, arguments: Mapping[str, Json]) -> Answer:
        """Call the function. Wrong arguments and exceptions are answered with an error.

        Returns:
            The function's result as JSON, or an error.

        Raises:
            RolloutError: The function raised it, to end the trajectory.
        """
        try:
            result = self.function(**self._read(arguments))
            if isinstance(result, Awaitable):
                async with asyncio.timeout(self._timeout):
                    result = await result
            return Answer(json.dumps(to_jsonable_python(result), ensure_ascii=False))
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
        validated = self._arguments.model_validate(dict(arguments))
        return {name: getattr(validated, name) for name in validated.model_fields_set}


def fault(code: str, message: str) -> Answer:
    """An error answer, in the same form as a world's errors."""
    return Answer(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False), ok=False)


def _model_of(function: Function) -> type[BaseModel]:
    """A pydantic model of a function's arguments, which allows no others."""
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        untyped = parameter.annotation is parameter.empty
        if untyped or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"tool {_called(function)!r}: parameter {name!r} has no type hint or cannot be passed by name; "
                "change it, or give the tool's definition"
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
    definition: dict[str, Json] = {
        "name": _called(function),
        "description": " ".join(about.split()),
        "parameters": schema,
    }
    return {"type": "function", "function": definition}


def _called(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _name_in(definition: Definition) -> str:
    function = definition.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        raise ConfigError(f"tool definition {definition!r} names no function; give {{'function': {{'name': ...}}}}")
    return name


def _complaints(error: ValidationError) -> str:
    details = error.errors(include_url=False)
    shown = [f"{'.'.join(map(str, detail['loc'])) or 'arguments'}: {detail['msg']}" for detail in details[:SHOWN]]
    return "; ".join(shown) + "."
