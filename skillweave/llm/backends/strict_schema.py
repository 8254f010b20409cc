"""A JSON schema in the subset that endpoints hold a model to: no properties but those named, few keywords.

Where an API wants every property to be there, an optional one may be null: what the parser takes for left out. A schema
whose meaning the subset cannot express (free-form objects, tuples, anything at all) has no strict form.
"""

from collections.abc import Mapping
from typing import NamedTuple

from skillweave.llm.nulls import allows_null
from skillweave.schema.record import Json

DEFINITIONS = "#/$defs/"


class Dialect(NamedTuple):
    """What an API's subset knows beyond what all know."""

    keywords: tuple[str, ...]
    """Limits that are kept; others are dropped, and left to the parser."""
    recursive: bool
    optional: bool
    """Whether properties may be left out."""


OPENAI = Dialect(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
    recursive=True,
    optional=False,
)
ANTHROPIC = Dialect((), recursive=False, optional=True)


class _InexpressibleError(Exception):
    pass


def strict(schema: Mapping[str, Json], dialect: Dialect) -> dict[str, Json] | None:
    """The strict form of a schema whose root is an object; None where there is none."""
    definitions = schema.get("$defs")
    found = dict(definitions) if isinstance(definitions, dict) else {}
    if not dialect.recursive and _is_recursive(found):
        return None
    try:
        narrowed = _narrowed({key: part for key, part in schema.items() if key != "$defs"}, dialect)
        if found:
            narrowed["$defs"] = {name: _narrowed(part, dialect) for name, part in found.items()}
    except _InexpressibleError:
        return None
    return narrowed


def _narrowed(schema: Json, dialect: Dialect) -> dict[str, Json]:
    if not isinstance(schema, dict):
        raise _InexpressibleError
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    whole = schema.get("allOf")
    if isinstance(whole, list) and len(whole) == 1:
        return _narrowed(whole[0], dialect)
    kept = {key: schema[key] for key in ("description", "enum", "const", *dialect.keywords) if key in schema}
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return {**kept, "anyOf": [_narrowed(choice, dialect) for choice in choices]}
    kind = schema.get("type")
    if kind == "object":
        return {**kept, **_object(schema, dialect)}
    if kind == "array":
        if "prefixItems" in schema:
            raise _InexpressibleError
        return {**kept, "type": "array", "items": _narrowed(schema.get("items"), dialect)}
    if kind is not None:
        return {**kept, "type": kind}
    if "enum" in schema or "const" in schema:
        return kept
    raise _InexpressibleError


def _object(schema: Mapping[str, Json], dialect: Dialect) -> dict[str, Json]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
        raise _InexpressibleError
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    narrowed: dict[str, Json] = {}
    for name, part in properties.items():
        found = _narrowed(part, dialect)
        narrowed[name] = found if dialect.optional or name in needed else _nullable(found)
    return {
        "type": "object",
        "properties": narrowed,
        "required": [name for name in properties if name in needed or not dialect.optional],
        "additionalProperties": False,
    }


def _nullable(schema: dict[str, Json]) -> dict[str, Json]:
    if allows_null(schema):
        return schema
    choices = schema.get("anyOf")
    others = choices if isinstance(choices, list) and len(schema) == 1 else [schema]
    return {"anyOf": [*others, {"type": "null"}]}


def _is_recursive(definitions: Mapping[str, Json]) -> bool:
    """Whether a definition leads back to itself."""
    leads = {name: _references(part) for name, part in definitions.items()}
    while True:
        # Those that lead nowhere are taken away until none is left, or only circles are.
        ends = {name for name, to in leads.items() if not to & leads.keys()}
        if not ends:
            return bool(leads)
        leads = {name: to for name, to in leads.items() if name not in ends}


def _references(schema: Json) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in _references(part)}
    if not isinstance(schema, dict):
        return set()
    found = {name for part in schema.values() for name in _references(part)}
    to = schema.get("$ref")
    return found | {to.removeprefix(DEFINITIONS)} if isinstance(to, str) else found
