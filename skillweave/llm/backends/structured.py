"""Structured output: the answer's schema, sent so that an endpoint decodes by it.

Endpoints demand an object at the root, so any other answer travels as `{"answer": ...}` and is unwrapped on arrival.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from skillweave.llm.backends.guided_schema import guided
from skillweave.llm.backends.strict_schema import ANTHROPIC, OPENAI, strict
from skillweave.llm.request import Reply
from skillweave.schema.record import Json

FIELD = "answer"
WRAPPED = re.compile(r'\{\s*"answer"\s*:(.*)\}', re.DOTALL)


def guided_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` for servers that decode by any schema."""
    return {"type": "json_schema", "json_schema": {"name": FIELD, "schema": guided(_rooted(schema))}}


def response_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `response_format` of OpenAI's chat API."""
    return {"type": "json_schema", "json_schema": _named(schema)}


def text_format(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The `text.format` of OpenAI's Responses API."""
    return {"type": "json_schema", **_named(schema)}


def output_format(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """The `output_config.format` of Anthropic's API; None where it cannot express the schema."""
    found = strict(_rooted(schema), ANTHROPIC)
    return None if found is None else {"type": "json_schema", "schema": found}


def unwrap(reply: Reply, schema: Mapping[str, Json] | None) -> Reply:
    """`reply` as its author meant it; untouched where it is not wrapped, or cut off: then its end is still to come."""
    if schema is None or _is_object(schema) or reply.stop == "length":
        return reply
    match = WRAPPED.fullmatch(reply.text.strip())
    if match is None or not _is_alone(reply.text):
        return reply
    # The author's own text, since decoding it would hide duplicate keys and NaN from the parser.
    return replace(reply, text=match[1].strip())


def _named(schema: Mapping[str, Json]) -> dict[str, Json]:
    rooted = _rooted(schema)
    found = strict(rooted, OPENAI)
    return {"name": FIELD, "schema": guided(rooted) if found is None else found, "strict": found is not None}


def _is_alone(text: str) -> bool:
    """Whether the field is the only one, as far as the text can be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return True
    return isinstance(value, dict) and len(value) == 1


def _is_object(schema: Mapping[str, Json]) -> bool:
    return schema.get("type") == "object" and "properties" in schema


def _rooted(schema: Mapping[str, Json]) -> dict[str, Json]:
    if _is_object(schema):
        return dict(schema)
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    root: dict[str, Json] = {
        "type": "object",
        "properties": {FIELD: inner},
        "required": [FIELD],
        "additionalProperties": False,
    }
    return root | ({"$defs": schema["$defs"]} if "$defs" in schema else {})
