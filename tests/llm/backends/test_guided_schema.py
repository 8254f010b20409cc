from skillweave.llm.backends.json_schema import guided
from skillweave.schema.record import Json


def test_no_string_has_a_length_and_everything_else_stays() -> None:
    text: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": 40}
    schema: dict[str, Json] = {
        "$defs": {"Words": {"type": "array", "items": text, "minItems": 1, "maxItems": 8}},
        "type": "object",
        "properties": {
            "maxLength": {"type": "integer", "maximum": 9},
            "title": {"anyOf": [text, {"type": "null"}], "default": None},
            "given": {"enum": [{"maxLength": 3}]},
        },
        "required": ["maxLength"],
        "additionalProperties": text,
    }
    assert guided(schema) == {
        "$defs": {"Words": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 8}},
        "type": "object",
        "properties": {
            "maxLength": {"type": "integer", "maximum": 9},
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "given": {"enum": [{"maxLength": 3}]},
        },
        "required": ["maxLength"],
        "additionalProperties": {"type": "string"},
    }
    assert "minLength" in text
