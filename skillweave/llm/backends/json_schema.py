"""The JSON schema of an answer, in the subset that each API accepts for structured output.

An API that wants every property to be there gets null for an optional one; `without_nulls` takes it out again. A
schema that the subset cannot express has no strict form; the parser checks the answer in any case.
"""

from collections.abc import Mapping
from typing import NamedTuple

from skillweave.schema.record import Json

DEFINITIONS = "#/$defs/"
ANSWER_NAME = "answer"
"""The name that the APIs want a schema to have."""
LENGTHS = frozenset({"minLength", "maxLength"})
SUBSCHEMA = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "propertyNames"})
"""Keywords that hold a schema, or a list of them."""
NAMED = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords that hold schemas by name."""


def without_nulls(value: Json, schema: Mapping[str, Json]) -> Json:
    """Drop the fields that stand for something left out.

    Args:
        value: A decoded answer.
        schema: The JSON schema that the answer was asked by.

    Returns:
        `value` without the fields that are null and optional, and that cannot be null by their schema.
    """
    definitions = schema.get("$defs")
    return _drop_nulls(value, dict(schema), definitions if isinstance(definitions, dict) else {})


def allows_null(schema: Json) -> bool:
    """Whether null matches a schema, by what it says itself; its references are not followed."""
    if not isinstance(schema, dict):
        return False
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return any(allows_null(choice) for choice in choices)
    return schema.get("type") == "null" or not {"type", "$ref", "allOf", "enum", "const"} & schema.keys()


def _drop_nulls(value: Json, schema: Json, definitions: Mapping[str, Json]) -> Json:
    if not isinstance(schema, dict) or not isinstance(value, dict | list):
        return value
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _drop_nulls(value, definitions.get(reference.removeprefix(DEFINITIONS)), definitions)
    for keyword in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(keyword)
        if isinstance(choices, list):
            for choice in choices:
                value = _drop_nulls(value, choice, definitions)
    if isinstance(value, list):
        return [_drop_nulls(part, schema.get("items"), definitions) for part in value]
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(value, dict):
        return value
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {
        name: _drop_nulls(part, known.get(name, others), definitions)
        for name, part in value.items()
        if part is not None or name not in known or name in needed or allows_null(known[name])
    }


class SchemaDialect(NamedTuple):
    """What an API's subset of JSON schema has beyond the subset that all have."""

    keywords: tuple[str, ...]
    """Limits that the API knows; the parser checks all others."""
    recursive: bool
    """Whether a definition may refer to itself."""
    optional: bool
    """Whether properties may be left out."""


OPENAI_DIALECT = SchemaDialect(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
    recursive=True,
    optional=False,
)
ANTHROPIC_DIALECT = SchemaDialect((), recursive=False, optional=True)


class InexpressibleError(Exception):
    """The subset cannot express a schema: a free-form object, a tuple, or any value at all."""


def strict(schema: Mapping[str, Json], dialect: SchemaDialect) -> dict[str, Json] | None:
    """Narrow a schema to the subset by which an API decodes: no properties but those named, few keywords.

    Args:
        schema: Its root is an object.
        dialect: The API's subset.

    Returns:
        The strict form, or None if the subset cannot express the schema. Where the API wants every property, an
        optional one may be null.
    """
    definitions = schema.get("$defs")
    named = dict(definitions) if isinstance(definitions, dict) else {}
    if not dialect.recursive and _is_recursive(named):
        return None
    try:
        narrowed = _narrow({key: part for key, part in schema.items() if key != "$defs"}, dialect)
        if named:
            narrowed["$defs"] = {name: _narrow(part, dialect) for name, part in named.items()}
    except InexpressibleError:
        return None
    return narrowed


def _narrow(schema: Json, dialect: SchemaDialect) -> dict[str, Json]:
    if not isinstance(schema, dict):
        raise InexpressibleError
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    whole = schema.get("allOf")
    if isinstance(whole, list) and len(whole) == 1:
        return _narrow(whole[0], dialect)
    kept = {key: schema[key] for key in ("description", "enum", "const", *dialect.keywords) if key in schema}
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return {**kept, "anyOf": [_narrow(choice, dialect) for choice in choices]}
    kind = schema.get("type")
    if kind == "object":
        return {**kept, **_object(schema, dialect)}
    if kind == "array":
        if "prefixItems" in schema:
            raise InexpressibleError
        return {**kept, "type": "array", "items": _narrow(schema.get("items"), dialect)}
    if kind is not None:
        return {**kept, "type": kind}
    if "enum" in schema or "const" in schema:
        return kept
    raise InexpressibleError


def _object(schema: Mapping[str, Json], dialect: SchemaDialect) -> dict[str, Json]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or schema.get("additionalProperties", False) is not False:
        raise InexpressibleError
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    narrowed: dict[str, Json] = {}
    for name, part in properties.items():
        property = _narrow(part, dialect)
        narrowed[name] = property if dialect.optional or name in needed else _nullable(property)
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
    """Whether a definition refers back to itself."""
    references = {name: _references(part) for name, part in definitions.items()}
    while True:
        # Definitions that refer to nothing are taken away until none is left, or only circles are.
        ends = {name for name, targets in references.items() if not targets & references.keys()}
        if not ends:
            return bool(references)
        references = {name: targets for name, targets in references.items() if name not in ends}


def _references(schema: Json) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in _references(part)}
    if not isinstance(schema, dict):
        return set()
    names = {name for part in schema.values() for name in _references(part)}
    target = schema.get("$ref")
    return names | {target.removeprefix(DEFINITIONS)} if isinstance(target, str) else names


def guided(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Drop the limits on the lengths of strings, wherever they stand in a schema.

    vLLM's grammars (by xgrammar) write a string of limited length as so many plain characters. They allow no escapes,
    so that no quotation mark or new line can be written, and they let raw control characters in.
    """
    return {keyword: _guided_part(keyword, part) for keyword, part in schema.items() if keyword not in LENGTHS}


def _guided_part(keyword: str, part: Json) -> Json:
    if keyword in NAMED and isinstance(part, dict):
        return {name: _guided_schema(schema) for name, schema in part.items()}
    return _guided_schema(part) if keyword in SUBSCHEMA else part


def _guided_schema(part: Json) -> Json:
    if isinstance(part, list):
        return [_guided_schema(schema) for schema in part]
    return guided(part) if isinstance(part, dict) else part


def guided_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` for servers that decode by any schema."""
    return {"type": "json_schema", "json_schema": {"name": ANSWER_NAME, "schema": guided(schema)}}


def response_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` of OpenAI's chat API."""
    return {"type": "json_schema", "json_schema": _named(schema)}


def text_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `text.format` of OpenAI's Responses API."""
    return {"type": "json_schema", **_named(schema)}


def output_format(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """The `output_config.format` of Anthropic's API; None if it cannot express the schema."""
    narrowed = strict(schema, ANTHROPIC_DIALECT)
    return None if narrowed is None else {"type": "json_schema", "schema": narrowed}


def _named(schema: Mapping[str, Json]) -> dict[str, Json]:
    narrowed = strict(schema, OPENAI_DIALECT)
    is_strict = narrowed is not None
    return {"name": ANSWER_NAME, "schema": narrowed if is_strict else guided(schema), "strict": is_strict}
