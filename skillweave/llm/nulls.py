"""Null for what is left out: authors held to a strict schema give every field, and null for those they would omit."""

from collections.abc import Mapping

from skillweave.schema.record import Json

DEFINITIONS = "#/$defs/"


def without_nulls(value: Json, schema: Mapping[str, Json]) -> Json:
    """`value` without the fields that are null, optional, and cannot be null."""
    definitions = schema.get("$defs")
    return _below(value, dict(schema), definitions if isinstance(definitions, dict) else {})


def allows_null(schema: Json) -> bool:
    """Whether null matches the schema, as far as it says so itself, without its references."""
    if not isinstance(schema, dict):
        return False
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return any(allows_null(choice) for choice in choices)
    return schema.get("type") == "null" or not {"type", "$ref", "allOf", "enum", "const"} & schema.keys()


def _below(value: Json, schema: Json, definitions: Mapping[str, Json]) -> Json:
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return value
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _below(value, definitions.get(reference.removeprefix(DEFINITIONS)), definitions)
    for keyword in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(keyword)
        if isinstance(choices, list):
            for choice in choices:
                value = _below(value, choice, definitions)
    if isinstance(value, list):
        return [_below(part, schema.get("items"), definitions) for part in value]
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(value, dict):
        return value
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {
        name: _below(part, known.get(name, others), definitions)
        for name, part in value.items()
        if part is not None or name not in known or name in needed or allows_null(known[name])
    }
