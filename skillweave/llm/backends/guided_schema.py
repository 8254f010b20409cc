"""A JSON schema for servers that decode by it: without the lengths of strings.

Grammars made from schemas (vLLM's, by xgrammar) write a string of limited length as so many plain characters: escapes
are shut out, so that nobody can write a quotation mark or a new line, and raw control characters are let in. The parser
of answers holds them to their lengths.
"""

from collections.abc import Mapping

from skillweave.schema.record import Json

LENGTHS = frozenset({"minLength", "maxLength"})
SUBSCHEMA = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "propertyNames"})
"""Keywords that hold a schema, or a list of them."""
NAMED = frozenset({"properties", "patternProperties", "$defs"})
"""Keywords that hold schemas by name."""


def guided(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The schema without limits on the lengths of strings, wherever they stand in it."""
    return {keyword: _below(keyword, part) for keyword, part in schema.items() if keyword not in LENGTHS}


def _below(keyword: str, part: Json) -> Json:
    if keyword in NAMED and isinstance(part, dict):
        return {name: _without(found) for name, found in part.items()}
    return _without(part) if keyword in SUBSCHEMA else part


def _without(part: Json) -> Json:
    if isinstance(part, list):
        return [_without(found) for found in part]
    return guided(part) if isinstance(part, dict) else part
