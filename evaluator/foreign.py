"""Conversations in the forms of other programs, brought into OpenAI's: parts of a message, tool use, function calls."""

import json
from collections.abc import Iterator
from typing import Any

Raw = dict[str, Any]


def in_our_form(messages: list[Any]) -> list[Any]:
    """The messages with texts in one piece, tool calls where we look for them, and ids where calls have none."""
    found = [made for message in messages for made in _made(message)]
    for place, message in enumerate(found):
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, list):
            named = enumerate(calls)
            message["tool_calls"] = [_with_id(call, f"call_{place}_{at}") for at, call in named]
    return found


def _made(message: Any) -> Iterator[Any]:
    """What a message is for us: itself, or also the results that it carries."""
    if not isinstance(message, dict):
        yield message
        return
    found = dict(message)
    found["role"] = {"developer": "system", "function": "tool"}.get(str(found.get("role")), found.get("role"))
    called = found.pop("function_call", None)
    if isinstance(called, dict):
        found["tool_calls"] = [*(found.get("tool_calls") or []), {"function": called}]
    parts = found.get("content")
    if not isinstance(parts, list):
        yield found
        return
    yield from _results(parts)
    found["content"] = "\n".join(_texts(parts)) or None
    uses = [_as_call(part) for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
    if uses:
        found["tool_calls"] = [*(found.get("tool_calls") or []), *uses]
    if found["content"] is not None or found.get("tool_calls") or found["role"] != "user":
        yield found


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and (
            not isinstance(part, dict) or part.get("type", "text") in ("text", "output_text")
        ):
            yield text


def _results(parts: list[Any]) -> Iterator[Raw]:
    """Results of tools that stand in a user's message, as Anthropic has them."""
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            content = part.get("content")
            text = "\n".join(_texts(content)) if isinstance(content, list) else content
            yield {"role": "tool", "tool_call_id": part.get("tool_use_id"), "content": text}


def _as_call(part: Raw) -> Raw:
    given = part.get("input")
    arguments = given if isinstance(given, dict) else json.dumps(given)
    return {"id": part.get("id"), "function": {"name": part.get("name"), "arguments": arguments}}


def _with_id(call: Any, id: str) -> Any:
    return {**call, "id": call.get("id") or id} if isinstance(call, dict) else call
