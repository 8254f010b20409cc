"""Structured output: the answer's schema, sent so that an endpoint decodes by it."""

from collections.abc import Mapping

from skillweave.llm.backends.guided_schema import guided
from skillweave.llm.backends.strict_schema import ANTHROPIC, OPENAI, strict
from skillweave.schema.record import Json

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
    found = strict(schema, ANTHROPIC)
    return None if found is None else {"type": "json_schema", "schema": found}


def _named(schema: Mapping[str, Json]) -> dict[str, Json]:
    found = strict(schema, OPENAI)
    return {"name": NAME, "schema": guided(schema) if found is None else found, "strict": found is not None}
