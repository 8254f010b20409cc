"""The JSON schema of an answer, in the subset that each API accepts for structured output.

An API that wants every property to be there gets null for an optional one; `without_nulls` takes it out again. A
schema that the subset cannot express has no strict form; the parser checks the answer in any case.
"""

from collections.abc import Mapping
from typing import NamedTuple

from skillweave.schema.record import Json

DEFINITIONS = "#/$defs/"


def without_nulls(value: Json, schema: Mapping[str, Json]) -> Json:
    """`value` without the fields that are null, optional, and cannot be null."""
    definitions = schema.get("$defs")
    return _nulls_below(value, dict(schema), definitions if isinstance(definitions, dict) else {})


def allows_null(schema: Json) -> bool:
    """Whether null matches the schema, as far as it says so itself, without its references."""
    if not isinstance(schema, dict):
        return False
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return any(allows_null(choice) for choice in choices)
    return schema.get("type") == "null" or not {"type", "$ref", "allOf", "enum", "const"} & schema.keys()


def _nulls_below(value: Json, schema: Json, definitions: Mapping[str, Json]) -> Json:
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return value
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _nulls_below(value, definitions.get(reference.removeprefix(DEFINITIONS)), definitions)
    for keyword in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(keyword)
        if isinstance(choices, list):
            for choice in choices:
                value = _nulls_below(value, choice, definitions)
    if isinstance(value, list):
        return [_nulls_below(part, schema.get("items"), definitions) for part in value]
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(value, dict):
        return value
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {
        name: _nulls_below(part, known.get(name, others), definitions)
        for name, part in value.items()
        if part is not None or name not in known or name in needed or allows_null(known[name])
    }


STRICT_DEFINITIONS = "#/$defs/"


class SchemaDialect(NamedTuple):
    """What an API's subset knows beyond what all know."""

    keywords: tuple[str, ...]
    """Limits that are kept; others are dropped, and left to the parser."""
    recursive: bool
    optional: bool
    """Whether properties may be left out."""


OPENAI_DIALECT = SchemaDialect(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
    recursive=True,
    optional=False,
)
ANTHROPIC_DIALECT = SchemaDialect((), recursive=False, optional=True)


class _InexpressibleError(Exception):
    pass


def strict(schema: Mapping[str, Json], dialect: SchemaDialect) -> dict[str, Json] | None:
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


def _narrowed(schema: Json, dialect: SchemaDialect) -> dict[str, Json]:
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


def _object(schema: Mapping[str, Json], dialect: SchemaDialect) -> dict[str, Json]:
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
    return found | {to.removeprefix(STRICT_DEFINITIONS)} if isinstance(to, str) else found


LENGTHS = frozenset({"minLength", "maxLength"})
SUBSCHEMA = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "propertyNames"})
"""Keywords that hold a schema, or a list of them."""
NAMED = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords that hold schemas by name."""


def guided(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The schema without limits on the lengths of strings, wherever they stand in it."""
    return {keyword: _guided_schema_below(keyword, part) for keyword, part in schema.items() if keyword not in LENGTHS}


def _guided_schema_below(keyword: str, part: Json) -> Json:
    if keyword in NAMED and isinstance(part, dict):
        return {name: _without(found) for name, found in part.items()}
    return _without(part) if keyword in SUBSCHEMA else part


def _without(part: Json) -> Json:
    if isinstance(part, list):
        return [_without(found) for found in part]
    return guided(part) if isinstance(part, dict) else part


NAME = "answer"


def guided_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` for servers that decode by any schema."""
    return {"type": "json_schema", "json_schema": {"name": NAME, "schema": guided(schema)}}


def response_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` of OpenAI's chat API."""
    return {"type": "json_schema", "json_schema": _named(schema)}


def text_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `text.format` of OpenAI's Responses API."""
    return {"type": "json_schema", **_named(schema)}


def output_format(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """The `output_config.format` of Anthropic's API; None where it cannot express the schema."""
    found = strict(schema, ANTHROPIC_DIALECT)
    return None if found is None else {"type": "json_schema", "schema": found}


def _named(schema: Mapping[str, Json]) -> dict[str, Json]:
    found = strict(schema, OPENAI_DIALECT)
    return {"name": NAME, "schema": guided(schema) if found is None else found, "strict": found is not None}
