import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from skillweave.llm.backends.json_schema import (
    ANTHROPIC_DIALECT,
    OPENAI_DIALECT,
    output_format,
    response_format,
    strict,
    text_format,
)
from skillweave.llm.parse import parse
from skillweave.llm.question import Question
from skillweave.schema.record import Json


class Colour(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=9, pattern="^[a-z]+$")
    shade: Literal["light", "dark"] = "light"
    note: str | None = None
    parts: list[int] = Field(default_factory=list, min_length=1, max_length=4)


class Tree(BaseModel):
    colour: Colour
    children: list["Tree"] = []


class Free(BaseModel):
    values: dict[str, int]


def schema_of(kind: Any) -> dict[str, Json]:
    return TypeAdapter(kind).json_schema()


def test_all_properties_are_required_null_where_they_may_be_left_out_and_only_limits_that_are_known_stay() -> None:
    assert strict(schema_of(Colour), OPENAI_DIALECT) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "shade": {"anyOf": [{"enum": ["light", "dark"], "type": "string"}, {"type": "null"}]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "parts": {
                "anyOf": [
                    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 4},
                    {"type": "null"},
                ]
            },
        },
        "required": ["name", "shade", "note", "parts"],
        "additionalProperties": False,
    }


def test_properties_are_left_out_where_the_api_lets_them_be() -> None:
    found = strict(schema_of(Colour), ANTHROPIC_DIALECT)
    assert found is not None
    assert found["required"] == ["name"]
    assert found["properties"]["shade"] == {"enum": ["light", "dark"], "type": "string"}  # type: ignore[call-overload,index]
    assert "minItems" not in json.dumps(found)


def test_only_one_of_the_two_knows_schemas_that_lead_back_to_themselves() -> None:
    wrapped: dict[str, Json] = {"type": "object", "properties": {"answer": {"$ref": "#/$defs/Tree"}}}
    wrapped["$defs"] = schema_of(Tree)["$defs"]
    assert strict(wrapped, ANTHROPIC_DIALECT) is None
    found = strict(wrapped, OPENAI_DIALECT)
    assert found is not None
    assert "children" in json.dumps(found["$defs"])


@pytest.mark.parametrize("kind", [Free, tuple[int, str], dict[str, str], list[Any], Json])
def test_what_the_subset_cannot_say_travels_without_strictness(kind: Any) -> None:
    form = text_format(schema_of(kind))
    assert form["strict"] is False
    assert output_format(schema_of(kind)) is None


def test_the_root_of_a_strict_form_is_an_object() -> None:
    question = Question("q", list[Colour], under="colours")
    form = response_format(question.schema or {})["json_schema"]
    assert isinstance(form, dict)
    schema = form["schema"]
    assert isinstance(schema, dict)
    assert (form["strict"], schema["required"], schema["type"]) == (True, ["colours"], "object")
    assert isinstance(schema["$defs"], dict)


def test_what_matches_the_strict_form_is_accepted() -> None:
    given = {"colours": [{"name": "red", "shade": None, "note": None, "parts": None}]}
    (colour,) = parse(Question("q", list[Colour], under="colours"), json.dumps(given))
    assert (colour.shade, colour.parts) == ("light", [])
