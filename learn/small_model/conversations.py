"""The file of conversations that a model learns from: JSON lines, each with `messages` and `tools` in OpenAI's form."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.base.text import UnreadableTextError, skip_mark

ALLOWED_ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_MESSAGES = 2000
Conversation = Mapping[str, Any]


def load_conversations(path: Path) -> list[Conversation]:
    """The conversations of a file; empty lines are passed over.

    Raises:
        ConfigError: There is no such file, or it has no conversation.
        ArtifactError: A line is no conversation.
    """
    if not path.is_file():
        raise ConfigError(f"there is no file {str(path)!r}; give --data a file of conversations (JSON lines)")
    rows: list[Conversation] = []
    with path.open("rb") as stream:
        try:
            skip_mark(stream)
        except UnreadableTextError as error:
            raise ArtifactError(f"{str(path)!r} cannot be read: {error}") from error
        for number, line in enumerate(stream, 1):
            if line.strip():
                rows.append(_conversation(line, f"{str(path)!r}, line {number}"))
    if not any(message["role"] == "assistant" for row in rows for message in row["messages"]):
        raise ConfigError(f"{str(path)!r} has no message of an assistant; a model needs some to learn from")
    return rows


def _conversation(line: bytes, where: str) -> Conversation:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{where}: not JSON ({str(error)[:100]}); each line is one conversation") from None
    fault = "should be an object with messages" if not isinstance(row, dict) else _fault(row)
    if fault:
        raise ArtifactError(f"{where}: {fault}; export conversations with: python -m interop export openai")
    return {"messages": row["messages"], "tools": row.get("tools") or []}


def _fault(row: Mapping[str, Any]) -> str | None:
    return messages_fault(row.get("messages")) or tools_fault(row.get("tools"))


def messages_fault(messages: object) -> str | None:
    """What is wrong with messages, in one line; None if they can be read."""
    if not isinstance(messages, list) or not messages:
        return "messages should be a list that is not empty"
    if len(messages) > MOST_MESSAGES:
        return f"messages should be at most {MOST_MESSAGES}"
    for place, message in enumerate(messages):
        fault = _message_fault(message)
        if fault:
            return f"messages[{place}] {fault}"
    return None


def _message_fault(message: object) -> str | None:
    if not isinstance(message, dict):
        return "should be an object"
    if message.get("role") not in ALLOWED_ROLES:
        return f"has the role {str(message.get('role'))[:40]!r}; allowed are {', '.join(ALLOWED_ROLES)}"
    if not isinstance(message.get("content"), str | list | None):
        return "should have a content that is a text, a list of parts or null"
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        return "should have tool_calls that are a list"
    return next((fault for call in calls or () if (fault := _call_fault(call))), None)


def _call_fault(call: object) -> str | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return "has a tool call without a function's name"
    arguments = function.get("arguments")
    try:
        value = json.loads(arguments or "{}") if isinstance(arguments, str | None) else None
    except (ValueError, RecursionError):
        value = None
    return None if isinstance(value, dict) else "has a tool call whose arguments are not the JSON text of an object"


def tools_fault(tools: object) -> str | None:
    """What is wrong with the offered tools, in one line; None if they can be read."""
    if not isinstance(tools, list | None):
        return "tools should be a list"
    for place, tool in enumerate(tools or ()):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return f"tools[{place}] should have a function with a name"
        if not _is_schema(function.get("parameters")):
            return f"tools[{place}] should have parameters that are a JSON schema of an object"
    return None


def _is_schema(schema: object) -> bool:
    if schema is None:
        return True
    if not isinstance(schema, dict):
        return False
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    return (
        isinstance(properties, dict)
        and all(isinstance(each, dict) and isinstance(each.get("enum"), list | None) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(key, str) and key in properties for key in required)
    )
