"""Tools as agents are offered them: OpenAI tool definitions, with strict JSON schemas.

Two tools belong to the session and not to a domain: `decline_request` and `transfer_to_human`. Their `rule` is one of
the numbers that the world's policy prints.
"""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.contract import Parameter, ParameterType, Tool
from skillweave.schema.record import Json

Definition = dict[str, Json]
"""`{"type": "function", "function": {"name", "description", "parameters", "strict"}}`."""

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


def decline_tool(rules: Sequence[str]) -> Tool:
    """`decline_request` of a world with these rules, in the form of a tool; sessions answer it themselves."""
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
    """`transfer_to_human` of a world with these rules, in the form of a tool; sessions answer it themselves."""
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
    """The tool whose `rule` is one of these: of more than an author may list."""
    parameters = [
        parameter.model_copy(update={"enum": [*rules]}) if parameter.name == "rule" else parameter
        for parameter in tool.parameters
    ]
    return tool.model_copy(update={"parameters": parameters})


def session_tools(blueprint: Blueprint) -> list[Tool]:
    """The tools that a session answers itself, whatever its domains are."""
    return [decline_tool(blueprint.rules), transfer_tool(blueprint.rules)]


def tool_definitions(blueprint: Blueprint, hidden: frozenset[str] = frozenset()) -> list[Definition]:
    """The tools of a world, those hidden left out; `decline_request` and `transfer_to_human` last."""
    tools = [*blueprint.tools, *session_tools(blueprint)]
    return [tool_definition(tool) for tool in tools if tool.name not in hidden]


def tool_definition(tool: Tool) -> Definition:
    """One tool as OpenAI's chat API takes it."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters_schema(tool),
        },
    }


def name_of(definition: Definition) -> str:
    """The name of a tool in its definition; empty where it has none."""
    function = definition.get("function")
    return str(function.get("name")) if isinstance(function, dict) else ""


def parameters_schema(tool: Tool) -> dict[str, Json]:
    """The JSON schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in tool.parameters},
        "required": [parameter.name for parameter in tool.parameters if parameter.required],
        "additionalProperties": False,
    }


def _property(parameter: Parameter) -> dict[str, Json]:
    kind = _JSON_TYPES[parameter.type]
    description = " ".join(filter(None, [parameter.description, _FORMS.get(parameter.type)]))
    found: dict[str, Json] = {"type": kind if parameter.required else [kind, "null"], "description": description}
    if parameter.enum is not None:
        found["enum"] = [*parameter.enum] if parameter.required else [*parameter.enum, None]
    if parameter.type == "array":
        found["items"] = {}
    return found


def tool_of(blueprint: Blueprint, name: str) -> Tool:
    """The tool of that name, those of the session among them; KeyError where there is none."""
    if name == DECLINE:
        return decline_tool(blueprint.rules)
    return transfer_tool(blueprint.rules) if name == TRANSFER else blueprint.tool(name)
