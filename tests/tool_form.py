"""The one form of tool schemas, written down: the subset of JSON schema that every reader of tools takes.

The strictest are Gemini's endpoint, which knows OpenAPI's keywords only and refuses all tools if one is wrong;
LLaMA-Factory's default formatter, which reads `parameters.properties` and joins `enum` as texts; and verl's records.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object"})
KEYWORDS = frozenset({"type", "description", "enum", "items", "properties", "required"})


def faults_of_tools(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is outside of the form in OpenAI's definitions of tools."""
    return [fault for tool in tools for fault in _faults_of_tool(tool)]


def faults_of_schema(name: str, schema: Mapping[str, Any]) -> list[str]:
    """What is outside of the form in the schema of a tool's arguments."""
    head = [] if {*schema} == {"type", "properties", "required"} else [f"{name}: {sorted(schema)}"]
    return [*head, *_faults(name, schema)]


def _faults_of_tool(tool: Mapping[str, Any]) -> Iterator[str]:
    function = tool["function"]
    name = function["name"]
    if {*tool} != {"type", "function"} or {*function} != {"name", "description", "parameters"}:
        yield f"{name}: keys {sorted(tool)} {sorted(function)}"
    if not NAME.fullmatch(name) or not function["description"]:
        yield f"{name}: its name, or no description"
    yield from faults_of_schema(name, function["parameters"])


def _faults(where: str, schema: Mapping[str, Any]) -> Iterator[str]:
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        yield f"{where}: type {kind!r}"
    if not {*schema} <= KEYWORDS:
        yield f"{where}: keywords {sorted({*schema} - KEYWORDS)}"
    values = schema.get("enum")
    if values is not None and (
        kind != "string" or not values or not all(isinstance(one, str) and one for one in values)
    ):
        yield f"{where}: enum {values!r} of a {kind}"
    if (kind == "array") != ("items" in schema):
        yield f"{where}: items of a {kind}"
    if "items" in schema:
        yield from _faults(f"{where}[]", schema["items"])
    properties = schema.get("properties", {})
    if not {*schema.get("required", ())} <= {*properties} or (properties and kind != "object"):
        yield f"{where}: required {schema.get('required')}, properties {sorted(properties)} of a {kind}"
    for name, of in properties.items():
        if not NAME.fullmatch(name):
            yield f"{where}.{name}: its name"
        yield from _faults(f"{where}.{name}", of)
