"""What a judge reads, as quoted data: whatever a conversation says, it cannot end its quotes.

Each entry is one line of JSON, so that no message can pass for another one. The marks around a block hold the digest
of what stands between them, which nothing that stands there can hold.
"""

import json
import re
from collections.abc import Iterator, Sequence

from skillweave.digest import digest_text
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.tool_call import whole

LONGEST_CONVERSATION = 100_000
"""Characters of a conversation that a judge reads."""
LONGEST_TEXT = 8_000
"""Characters of one message, of a call's arguments, or of a result."""
LONGEST_NAME = 128
_SPEAKERS = {"user": "user", "assistant": "agent", "tool": "result"}
_LINE_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""What JSON leaves as it is and some readers take for the end of a line."""
_MARK = 32
"""Characters of a digest that make a mark."""


def task_words(task: Task) -> str:
    """What the user wants, and why."""
    scenario = task.scenario
    return marked("task", [as_line(_bounded("goal", scenario.goal)), as_line(_bounded("reason", scenario.reason))])


def conversation(messages: Sequence[Message]) -> str:
    """What user and agent said, called and saw. The agent's instructions and its reasoning are not shown."""
    entries = [entry for position, message in enumerate(messages) for entry in _entries(position, message)]
    return marked("conversation", _fitted([as_line(entry) for entry in entries]))


def marked(name: str, lines: Sequence[str]) -> str:
    """Lines between marks that none of them can hold."""
    text = "\n".join(lines)
    mark = digest_text(text)[:_MARK]
    return f"[begin {name} {mark}]\n{text}\n[end {name} {mark}]"


def as_line(value: Json) -> str:
    """The value as JSON in one line."""
    text = json.dumps(value, ensure_ascii=False)
    return _LINE_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, longest: int) -> str:
    """The text without its middle where it is too long."""
    text = whole(text)
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-(longest // 2) :]}"


def _entries(position: int, message: Message) -> Iterator[Json]:
    """What a message holds: words or a result, then each call."""
    speaker = _SPEAKERS.get(message.role)
    if speaker is None:
        return
    if message.content:
        yield {"message": position, **_bounded(speaker, message.content)}
    for call in message.tool_calls or () if message.role == "assistant" else ():
        given = call.function.arguments
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        name = shortened(call.function.name, LONGEST_NAME)
        yield {"message": position, "call": name, **_bounded("arguments", arguments)}


def _bounded(name: str, text: str) -> dict[str, Json]:
    """A text under its name; `cut` tells how many characters of its middle are left out."""
    cut = len(text) - LONGEST_TEXT
    return {name: shortened(text, LONGEST_TEXT), **({"cut": cut} if cut > 0 else {})}


def _fitted(lines: Sequence[str]) -> Sequence[str]:
    """As many lines from either end as fit, with a note of how many are missing between them."""
    if sum(map(len, lines)) <= LONGEST_CONVERSATION:
        return lines
    head = _that_fit(lines)
    tail = _that_fit(lines[head:][::-1])
    note = as_line({"entries left out": len(lines) - head - tail})
    return [*lines[:head], note, *lines[len(lines) - tail :]]


def _that_fit(lines: Sequence[str]) -> int:
    """How many of the first lines fit into half of the room."""
    left = LONGEST_CONVERSATION // 2
    for count, line in enumerate(lines):
        left -= len(line)
        if left < 0:
            return count
    return len(lines)
