"""FunctionTool: a Python function that an agent may call.

Whatever goes wrong in a call is told to the agent as data. A function that waits is async, and its wait is bounded;
any other one runs while everything else stands still, so it is to be quick.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_jsonable_python

from rollout.task import Answer, Definition, Failure
from skillweave.errors import ConfigError
from skillweave.schema.record import Json

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
        """What the function gives, as JSON. Failure where the function raises one."""
        try:
            given = self._read(arguments)
            found = self.function(**given)
            if isinstance(found, Awaitable):
                async with asyncio.timeout(self._timeout):
                    found = await found
            return Answer(json.dumps(to_jsonable_python(found), ensure_ascii=False))
        except Failure:
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
