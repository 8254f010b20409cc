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
_FORMAL = frozenset({"title", "type", "description", "const", "additionalProperties"})
"""Keywords of a schema that say nothing to a model, or stand elsewhere in what it reads."""


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
        fields = self._arguments.model_fields
        # Null for an optional argument is the same as leaving it out, as in worlds.
        left_out = {name for name, value in arguments.items() if value is None and name in fields}
        left_out = {name for name in left_out if not fields[name].is_required()}
        given = {name: value for name, value in arguments.items() if name not in left_out}
        validated = self._arguments.model_validate(given)
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
    parameters = _advertised(schema, schema.get("$defs", {}))
    parameters.pop("description", None)
    about = (inspect.getdoc(function) or "").split("\n\n")[0]
    definition: dict[str, Json] = {
        "name": _called(function),
        "description": " ".join(about.split()),
        "parameters": {"properties": {}, "required": [], **parameters},
    }
    return {"type": "function", "function": definition}


def _advertised(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A schema in the form of `skillweave.world.tools.parameters_schema`, which every reader of tools takes.

    Null is not advertised, values are of one type, and an enum has texts. Gemini refuses other keywords, so what they
    say stands in the description. A definition that contains itself is any object.
    """
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        of = {"type": "object"} if name in inside else definitions[name]
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return _advertised({**of, **own}, definitions, (*inside, name))
    choices = [choice for choice in schema.get("anyOf", schema.get("oneOf", ())) if choice.get("type") != "null"]
    if len(choices) == 1:
        own = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        return _advertised({**choices[0], **own}, definitions, inside)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    shown: dict[str, Any] = {key: schema[key] for key in ("type",) if key in schema}
    said = [str(schema["description"])] if "description" in schema else []
    if values and all(isinstance(value, str) and value for value in values):
        shown |= {"type": "string", "enum": values}
    elif values:
        said.append(f"One of {', '.join(json.dumps(value) for value in values if value is not None)}.")
    if choices:
        shown["anyOf"] = [_advertised(choice, definitions, inside) for choice in choices]
    if shown.get("type") == "array":
        items = schema.get("items")
        shown["items"] = _advertised(items, definitions, inside) if items else {"type": "string"}
    if "properties" in schema:
        properties = {name: _advertised(of, definitions, inside) for name, of in schema["properties"].items()}
        shown |= {"properties": properties, "required": schema.get("required", [])}
    for key, value in schema.items():
        if key not in _FORMAL and isinstance(value, str | int | float):
            said.append(f"{key[0].upper()}{key[1:]}: {value}.")
    return {**shown, **({"description": " ".join(said)} if said else {})}


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
