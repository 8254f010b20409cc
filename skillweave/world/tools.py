"""Tool definitions for agents (OpenAI definitions with JSON schemas), and the parsing of agents' tool calls.

Two tools belong to the session and not to a domain: `decline_request` and `transfer_to_human`. Their `rule` is one of
the rule numbers in the world's policy. Rollouts and evaluations both parse calls with this module, so they agree.
"""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from skillweave.base.call_arguments import MAX_ARGUMENT_CHARACTERS as MAX_ARGUMENT_CHARACTERS
from skillweave.base.call_arguments import read_arguments
from skillweave.base.call_arguments import valid_text as valid_text
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import DECLINE, TRANSFER, CallResult, Parameter, ParameterType, Tool
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.schema.trajectory import ToolCall

ToolDefinition = dict[str, Json]
"""`{"type": "function", "function": {"name", "description", "parameters"}}`."""

_JSON_TYPES: dict[ParameterType, str] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "date": "string",
    "datetime": "string",
    "array": "array",
    "object": "object",
}
_FORMS: dict[ParameterType, str] = {"date": "Format: YYYY-MM-DD.", "datetime": "Format: YYYY-MM-DD HH:MM:SS (UTC)."}

_SEPARATORS = ("__", ".", "/", ":", "-")
"""Separators that agents write between a namespace and a tool's name."""


def decline_tool(rules: Sequence[str]) -> Tool:
    """`decline_request` in the form of a tool; sessions answer it themselves. `rules` are the numbers it accepts."""
    tool = Tool.model_validate(
        {
            "name": DECLINE,
            "description": "Record that a request is declined and the rule that decides it. Tell the user as well. "
            "It changes nothing and does not end the conversation.",
            "kind": "read",
            "parameters": [
                {
                    "name": "rule",
                    "type": "string",
                    "description": "The number of the rule that decides it.",
                },
                {
                    "name": "note",
                    "type": "string",
                    "required": False,
                    "description": "What was asked for, in a few words.",
                },
            ],
            "returns": {"rows": "one", "select": "SELECT 'recorded' AS status"},
        }
    )
    return _with_rules(tool, rules)


def transfer_tool(rules: Sequence[str]) -> Tool:
    """`transfer_to_human` in the form of a tool; sessions answer it themselves. `rules` are the numbers it accepts."""
    tool = Tool.model_validate(
        {
            "name": TRANSFER,
            "description": "Hand the conversation over to a human colleague. It ends the conversation.",
            "kind": "read",
            "parameters": [
                {
                    "name": "reason",
                    "type": "string",
                    "enum": ["policy", "no_tool", "cannot_verify", "user_request"],
                    "description": "Why: a rule forbids the request, no tool can do it, the user could not be "
                    "identified, or the user asked for a human.",
                },
                {
                    "name": "rule",
                    "type": "string",
                    "required": False,
                    "description": "With the reason policy: the number of the rule that forbids the request.",
                },
                {"name": "summary", "type": "string", "description": "What the user wants and what was done so far."},
            ],
            "returns": {"rows": "one", "select": "SELECT 'transferred' AS status"},
        }
    )
    return _with_rules(tool, rules)


def _with_rules(tool: Tool, rules: Sequence[str]) -> Tool:
    """The tool with these values for `rule`. It may have more values than the schema allows an author."""
    parameters = [
        parameter.model_copy(update={"enum": [*rules] or None}) if parameter.name == "rule" else parameter
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"parameters": parameters})


def session_tools(blueprint: Blueprint) -> list[Tool]:
    """The tools that a session answers itself, in any domain."""
    return [decline_tool(blueprint.rules), transfer_tool(blueprint.rules)]


def tool_definitions(blueprint: Blueprint, hidden: frozenset[str] = frozenset()) -> list[ToolDefinition]:
    """The tools of a world without the `hidden` ones; `decline_request` and `transfer_to_human` come last."""
    tools = [*blueprint.tools, *session_tools(blueprint)]
    return [tool_definition(tool) for tool in tools if tool.name not in hidden]


def tool_definition(tool: Tool) -> ToolDefinition:
    """One tool in the format of OpenAI's chat API."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters_schema(tool),
        },
    }


def name_of(definition: ToolDefinition) -> str:
    """The name of a tool in its definition; empty if it has none."""
    function = definition.get("function")
    return str(function.get("name")) if isinstance(function, dict) else ""


def parameters_schema(tool: Tool) -> dict[str, Json]:
    """The JSON schema of a tool's arguments, in the one form that every reader takes.

    An optional parameter is one that is not required; null is accepted for it when it comes, and not advertised. A
    type is one name, since Gemini answers a list of types with 400 and LLaMA-Factory's formatter joins the values of
    `enum` as text. `additionalProperties` is left out: Gemini knows no such field. Backends that decode by the schema
    add it, and a call with an unknown argument is refused by the session.
    """
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in tool.parameters},
        "required": [parameter.name for parameter in tool.parameters if parameter.required],
    }


def _property(parameter: Parameter) -> dict[str, Json]:
    kind = _JSON_TYPES[parameter.type]
    description = " ".join(filter(None, [parameter.description, _FORMS.get(parameter.type)]))
    schema: dict[str, Json] = {"type": kind, "description": description}
    if parameter.enum:
        schema["enum"] = [*parameter.enum]
    if parameter.type == "array":
        # Gemini asks for the type of an array's items, which contracts do not say. Calls may have any in it.
        schema["items"] = {"type": "string"}
    return schema


def tool_of(blueprint: Blueprint, name: str) -> Tool:
    """The tool of that name, of the world or of the session. Raises KeyError if there is none."""
    if name == DECLINE:
        return decline_tool(blueprint.rules)
    return transfer_tool(blueprint.rules) if name == TRANSFER else blueprint.tool(name)


class AgentCall(NamedTuple):
    """A call that the agent requests."""

    id: str
    """The call's id in the conversation."""
    tool: str
    """The tool's name as the agent wrote it."""
    arguments: dict[str, Json] | None
    """Values by parameter; None if they cannot be parsed."""
    fault: str | None = None
    """Why the arguments cannot be parsed, in words for the agent."""


def read_call(call: ToolCall) -> AgentCall:
    """Parse a call of a message: its arguments, or why they cannot be parsed."""
    return AgentCall(call.id, call.function.name, *read_arguments(call.function.arguments))


def namespaces_of(task: Task) -> tuple[str, ...]:
    """Prefixes that agents may write before tool names: servers, their namespaces and the world's name."""
    return tuple(sorted({*task.domains, *task.namespaces.values(), task.world}))


def plain_name(tool: str, offered: Collection[str], namespaces: Collection[str]) -> str:
    """The offered tool that a name refers to, without a namespace before it: `Clinic__book`, `clinic.book`.

    Args:
        tool: The name as the agent wrote it.
        offered: Names of the offered tools.
        namespaces: Prefixes that agents may write before them.

    Returns:
        The offered name; any other name unchanged, for the session to refuse.
    """
    if tool in offered:
        return tool
    for namespace in namespaces:
        rest = tool[len(namespace) :] if tool.casefold().startswith(namespace.casefold()) else ""
        for separator in _SEPARATORS:
            if rest.startswith(separator) and rest[len(separator) :] in offered:
                return rest[len(separator) :]
    return tool


def result_text(result: CallResult) -> str:
    """A result as text for agents, the same in every engine: the value or the error, as JSON."""
    value: Json = result.value if result.error is None else {"error": result.error.model_dump(mode="json")}
    return json.dumps(value, ensure_ascii=False)
