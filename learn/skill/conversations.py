"""Conversations as the optimizer reads them: what was asked, how it went, and every message with calls and results.

What is too long loses what says least: first long results, then long words, never a call or an error.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from learn.skill.scores import Row
from rollout.trajectory import SKILL_HEADING
from skillweave.schema.trajectory import Message

CUT = " [... {left} characters left out ...] "
SHRINK = (1500, 800, 400, 200, 100)
"""Characters of a result, and then of a message, that are shown: the first that make it fit."""
ERROR = '"error"'


class _Line(NamedTuple):
    """A line of a conversation."""

    head: str
    text: str
    is_result: bool = False
    is_fixed: bool = False
    """Whether it is never cut: calls, and results that are errors."""


def rendered(row: Row, messages: Sequence[Message], longest: int) -> str:
    """A conversation as text.

    Args:
        row: How it went.
        messages: The messages; the system prompt is left out, since the optimizer is shown it apart.
        longest: Characters; what is longer is shortened.
    """
    head = [f"Task: {row.task_description}" if row.task_description else "", f"Type: {row.task_type}"]
    head.append(f"Outcome: {'passed' if row.hard else 'failed'}, {row.soft:.0%} of the checks passed")
    if row.fail_reason:
        head.append(f"Why it failed: {row.fail_reason}")
    return "\n".join(filter(None, head)) + "\n\n" + _fitted([*_lines(messages)], longest)


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


def _lines(messages: Sequence[Message]) -> Iterable[_Line]:
    for message in messages:
        content = message.content or ""
        if message.role == "tool":
            yield _Line("RESULT", content, is_result=True, is_fixed=ERROR in content[:40])
        elif message.role == "user":
            yield _Line("USER", content)
        elif message.role == "assistant":
            if content:
                yield _Line("AGENT", content)
            for call in message.tool_calls or ():
                arguments = call.function.arguments
                shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                yield _Line("CALL", f"{call.function.name} {shown}", is_fixed=True)


def _fitted(lines: Sequence[_Line], longest: int) -> str:
    """The lines in at most so many characters: results are shortened first, then words, then the whole."""
    text = ""
    for words in (None, *SHRINK):
        for results in SHRINK:
            text = "\n".join(f"{line.head} {_shown(line, results, words)}" for line in lines)
            if len(text) <= longest:
                return text
    return _without_middle(text, longest)


def _shown(line: _Line, results: int, words: int | None) -> str:
    most = results if line.is_result else words
    return line.text if line.is_fixed or most is None else _without_middle(line.text, most)


def _without_middle(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return text[:half] + CUT.format(left=len(text) - 2 * half) + text[len(text) - half :]
