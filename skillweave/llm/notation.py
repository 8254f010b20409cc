"""A JSON schema in a notation like TypeScript's: what a prompt says of the form of an answer.

Each definition stands once, on a line; lines of their own are for fields that have a description.
"""

import json
from collections.abc import Mapping

from skillweave.schema.record import Json

DEFINITIONS = "#/$defs/"
PLAIN = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}


def notation(schema: Mapping[str, Json]) -> str:
    """The form of the schema's root, then of each definition that it leads to."""
    definitions = schema.get("$defs")
    named = [f"{name} = {_type(part)}" for name, part in _items(definitions)]
    return "\n".join([_type({key: part for key, part in schema.items() if key != "$defs"}), *named])


def _type(schema: Json) -> str:
    if not isinstance(schema, dict):
        return "any"
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.removeprefix(DEFINITIONS)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(choices := schema.get(keyword), list):
            return _choice(choices)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(_json(value) for value in values) if isinstance(values, list) else "any"
    kind = schema.get("type")
    if kind == "array":
        element = _type(schema.get("items"))
        return f"{f'({element})' if ' | ' in element else element}[{_span(schema, 'minItems', 'maxItems')}]"
    if kind == "object":
        return _object(schema)
    span = _span(schema, "minimum", "maximum")
    return PLAIN.get(str(kind), "any") + (f" {span}" if span else "")


def _choice(choices: list[Json]) -> str:
    types = list(dict.fromkeys(_type(choice) for choice in choices))
    if "number" in types and "integer" in types:
        types.remove("integer")
    return " | ".join(types)


def _object(schema: Mapping[str, Json]) -> str:
    properties = _items(schema.get("properties"))
    if not properties:
        values = schema.get("additionalProperties")
        return f"{{ [name]: {_type(values)} }}" if isinstance(values, dict) else "{ }"
    required = schema.get("required")
    fields = [_field(name, part, isinstance(required, list) and name in required) for name, part in properties]
    if not any(comment for _, comment in fields):
        return f"{{ {', '.join(field for field, _ in fields)} }}"
    lines = [f"  {field}," + (f" // {comment}" if comment else "") for field, comment in fields]
    return "\n".join(["{", *lines, "}"])


def _field(name: str, schema: Json, is_required: bool) -> tuple[str, str]:
    """The field with its type and default, and its description."""
    told = schema if isinstance(schema, dict) else {}
    kind = _type(schema)
    default = told.get("default")
    if not is_required:
        kind = kind.removesuffix(" | null")
    given = f" = {_json(default)}" if default and not isinstance(default, dict | list) else ""
    comment = " ".join(str(told.get("description", "")).split())
    return f"{name}{'' if is_required else '?'}: {kind}{given}", comment


def _span(schema: Mapping[str, Json], least: str, most: str) -> str:
    """`1..64`; empty where neither end is bounded."""
    low, high = schema.get(least), schema.get(most)
    return "" if low is None and high is None else f"{'' if low is None else low}..{'' if high is None else high}"


def _items(found: Json) -> list[tuple[str, Json]]:
    return list(found.items()) if isinstance(found, dict) else []


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
