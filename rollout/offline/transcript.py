"""A conversation as an offline agent finds it in a request: what was heard, what it said, what its calls came to.

Agents keep nothing between replies: whatever they know of the past stands here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from skillweave.llm.request import Request
from skillweave.schema.record import Json
from skillweave.world.noise import ERRORS

_FOR_NOW = frozenset(error.code for error in ERRORS.values())


class Made(NamedTuple):
    """A call of the past and what it came to."""

    tool: str
    arguments: dict[str, Json]
    value: Json
    """The result; None where it failed."""
    error: Mapping[str, Json] | None = None
    """`code`, `message`, `rule`."""

    @property
    def ok(self) -> bool:
        """Whether it was carried out."""
        return self.error is None

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether the tool says that the call may be made again: it was not carried out, or its rows are not all."""
        is_part = isinstance(self.value, dict) and "rows" in self.value and self.value.get("partial") is True
        return is_part or self.code in _FOR_NOW

    @property
    def code(self) -> str:
        """Why it was not."""
        return str(self.error.get("code", "")) if self.error is not None else ""

    @property
    def complaint(self) -> str:
        """The same in the tool's words."""
        return str(self.error.get("message", "")) if self.error is not None else ""


class Heard(NamedTuple):
    """What the user said."""

    text: str


class Reacted(NamedTuple):
    """A reply of the agent."""

    text: str
    calls: tuple[Made, ...]


@dataclass(frozen=True)
class Transcript:
    system: str
    events: tuple[Heard | Reacted, ...]

    @property
    def heard(self) -> list[str]:
        """All that the user said."""
        return [event.text for event in self.events if isinstance(event, Heard)]

    @property
    def made(self) -> list[Made]:
        """All calls."""
        return [made for event in self.events if isinstance(event, Reacted) for made in event.calls]


def transcript_of(request: Request) -> Transcript:
    """The conversation in a request."""
    results = {message.tool_call_id: message.content or "" for message in request.messages if message.role == "tool"}
    events: list[Heard | Reacted] = []
    for message in request.messages:
        if message.role == "user":
            events.append(Heard(message.content or ""))
        elif message.role == "assistant":
            calls = tuple(
                _made(call.function.name, call.function.arguments, results.get(call.id, ""))
                for call in message.tool_calls or []
            )
            events.append(Reacted(message.content or "", calls))
    system = "\n".join(message.content or "" for message in request.messages if message.role == "system")
    return Transcript(system, tuple(events))


def _made(tool: str, arguments: str | Mapping[str, Json], result: str) -> Made:
    given = _parsed(arguments) if isinstance(arguments, str) else dict(arguments)
    value = _parsed(result)
    error = value.get("error") if isinstance(value, dict) and len(value) == 1 else None
    if isinstance(error, dict):
        return Made(tool, given if isinstance(given, dict) else {}, None, error)
    return Made(tool, given if isinstance(given, dict) else {}, value)


def _parsed(text: str) -> Json:
    try:
        found: Json = json.loads(text) if text else {}
    except ValueError:
        return text
    return found
