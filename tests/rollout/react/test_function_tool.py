import asyncio
import json
from collections.abc import Callable
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from rollout.react.tools import FunctionTool
from rollout.task import Answer, RolloutError
from skillweave.base.errors import ConfigError
from tests.tool_form import faults_of_tools


def book(day: date, slot: Annotated[Literal["am", "pm"], Field(description="Half of the day.")] = "am") -> object:
    """Book a visit
    on a day.

    Not for the agent.
    """
    return {"day": day, "slot": slot}


def called(function: Callable[..., object], arguments: dict[str, object], timeout_s: float = 60.0) -> Answer:
    return asyncio.run(FunctionTool(function, timeout_s=timeout_s).call(arguments))  # type: ignore[arg-type]


def code_of(answer: Answer) -> str:
    assert not answer.ok
    return str(json.loads(answer.content)["error"]["code"])


def test_the_definition_comes_from_hints_and_docstring() -> None:
    function = FunctionTool(book).definition["function"]
    assert function == {
        "name": "book",
        "description": "Book a visit on a day.",
        "parameters": {
            "type": "object",
            "properties": {
                "day": {"type": "string", "description": "Format: date."},
                "slot": {"type": "string", "description": "Half of the day. Default: am.", "enum": ["am", "pm"]},
            },
            "required": ["day"],
        },
    }


class Room(BaseModel):
    name: str
    inside: "list[Room]" = []


def test_every_hint_becomes_the_form_that_all_readers_take() -> None:
    def move(
        room: Room,
        floor: Literal[1, 2],
        note: str | None = None,
        why: Literal["noise", "view"] | None = None,
        beds: Annotated[int, Field(ge=1, description="How many.")] = 2,
        extras: list[str] | None = None,
        others: list[object] | None = None,
    ) -> None:
        """Move a guest."""

    function = FunctionTool(move).definition["function"]
    assert isinstance(function, dict)
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "room": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "inside": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["name"],
            },
            "floor": {"type": "integer", "description": "One of 1, 2."},
            "note": {"type": "string"},
            "why": {"type": "string", "enum": ["noise", "view"]},
            "beds": {"type": "integer", "description": "How many. Default: 2. Minimum: 1."},
            "extras": {"type": "array", "items": {"type": "string"}},
            "others": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["room", "floor"],
    }
    assert faults_of_tools([FunctionTool(move).definition, FunctionTool(book).definition]) == []


def test_null_for_an_optional_argument_is_the_same_as_leaving_it_out() -> None:
    assert json.loads(called(book, {"day": "2025-03-17", "slot": None}).content) == {"day": "2025-03-17", "slot": "am"}
    assert code_of(called(book, {"day": None})) == "invalid_arguments"


def test_arguments_are_read_as_their_types_and_results_are_json() -> None:
    assert json.loads(called(book, {"day": "2025-03-17"}).content) == {"day": "2025-03-17", "slot": "am"}


@pytest.mark.parametrize("arguments", [{}, {"day": "soon"}, {"day": "2025-03-17", "room": 1}])
def test_arguments_that_do_not_fit_are_told_back(arguments: dict[str, object]) -> None:
    assert code_of(called(book, arguments)) == "invalid_arguments"


def test_an_exception_is_data() -> None:
    answer = called(lambda: 1 / 0, {})
    assert code_of(answer) == "tool_failed"
    assert "ZeroDivisionError" in answer.content


def test_a_failure_goes_through() -> None:
    def gone() -> None:
        raise RolloutError("infrastructure", "the shop is gone")

    with pytest.raises(RolloutError, match="the shop is gone"):
        called(gone, {})


def test_a_function_that_hangs_is_given_up() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    assert code_of(called(hang, {}, timeout_s=0.05)) == "timeout"


def test_a_parameter_without_a_hint_needs_a_definition() -> None:
    def guess(x, *rest):  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(ConfigError, match="parameter 'x' has no type hint"):
        FunctionTool(guess)
    tool = FunctionTool(guess, {"type": "function", "function": {"name": "say", "parameters": {"type": "object"}}})
    assert tool.name == "say"
    assert asyncio.run(tool.call({"x": 3})).content == "3"
    assert code_of(asyncio.run(tool.call({"y": 3}))) == "tool_failed"
