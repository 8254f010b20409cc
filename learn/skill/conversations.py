"""Conversations as the optimizer reads them: what was asked, how it went, and every message with calls and results."""

import json
from collections.abc import Iterable, Sequence

from learn.skill.scores import Row
from rollout.trajectory import SKILL_HEADING
from skillweave.schema.trajectory import Message

CUT = "\n[... {left} characters left out ...]\n"
LONGEST_RESULT = 1500
"""Characters of one tool result that are shown."""


def rendered(row: Row, messages: Sequence[Message], longest: int) -> str:
    """A conversation as text.

    Args:
        row: How it went.
        messages: The messages; the system prompt is left out, since the optimizer sees the skill itself.
        longest: Characters; what is longer loses its middle.
    """
    head = [f"Task: {row.task_description}" if row.task_description else "", f"Type: {row.task_type}"]
    head.append(f"Outcome: {'passed' if row.hard else 'failed'}, {row.soft:.0%} of the checks passed")
    if row.fail_reason:
        head.append(f"Why it failed: {row.fail_reason}")
    body = "\n".join(_lines(messages))
    return "\n".join(filter(None, head)) + "\n\n" + _without_middle(body, longest)


def instructions(conversations: Iterable[tuple[str, Sequence[Message]]], longest: int) -> list[str]:
    """What agents were given before the user's first words, once for each world and without the skill.

    Args:
        conversations: World and messages of each.
        longest: Characters of each text; what is longer loses its middle.
    """
    texts: dict[str, str] = {}
    for world, messages in conversations:
        if messages and messages[0].role == "system" and world not in texts:
            texts[world] = (messages[0].content or "").partition(SKILL_HEADING)[0].strip()
    return [f"World {world}:\n\n{_without_middle(text, longest)}" for world, text in sorted(texts.items()) if text]


def _lines(messages: Sequence[Message]) -> list[str]:
    lines: list[str] = []
    for message in messages:
        if message.role == "tool":
            lines.append(f"RESULT {_without_middle(message.content or '', LONGEST_RESULT)}")
        elif message.role == "user":
            lines.append(f"USER {message.content or ''}")
        elif message.role == "assistant":
            lines += [f"AGENT {message.content}"] if message.content else []
            lines += [_call(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    return lines


def _call(name: str, arguments: object) -> str:
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"CALL {name} {shown}"


def _without_middle(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return text[:half] + CUT.format(left=len(text) - 2 * half) + text[-half:]
