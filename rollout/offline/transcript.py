"""A conversation as a scripted agent finds it in a request: what was heard, what it said, what its calls came to.

Agents keep nothing between replies: whatever they know of the past stands here.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from skillweave.llm.request import Request
from skillweave.schema.record import Json
from skillweave.world.noise import ERRORS

_FOR_NOW = frozenset(error.code for error in ERRORS.values())


class Made(NamedTuple):
    """A call of the past and what it came to."""

    tool: str
    value: Json
    """The result; None where it failed."""
    error: Mapping[str, Json] | None
    """`code`, `message`, `rule`."""

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether the tool says that the call may be made again: it was not carried out, or its rows are not all."""
        is_part = isinstance(self.value, dict) and "rows" in self.value and self.value.get("partial") is True
        return is_part or (self.error is not None and self.error.get("code") in _FOR_NOW)


class Heard(NamedTuple):
    """What the user said."""

    text: str


class Reacted(NamedTuple):
    """A reply of the agent."""

    calls: tuple[Made, ...]


class Transcript(NamedTuple):
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

    @property
    def turn(self) -> int:
        """Replies of the agent so far."""
        return sum(isinstance(event, Reacted) for event in self.events)


def transcript_of(request: Request) -> Transcript:
    """The conversation in a request."""
    results = {message.tool_call_id: message.content or "" for message in request.messages if message.role == "tool"}
    events: list[Heard | Reacted] = []
    for message in request.messages:
        if message.role == "user":
            events.append(Heard(message.content or ""))
        elif message.role == "assistant":
            calls = message.tool_calls or []
            events.append(Reacted(tuple(_made(call.function.name, results.get(call.id, "")) for call in calls)))
    return Transcript("\n".join(m.content or "" for m in request.messages if m.role == "system"), tuple(events))


def _made(tool: str, result: str) -> Made:
    try:
        value: Json = json.loads(result)
    except ValueError:
        value = result
    error = value.get("error") if isinstance(value, dict) and len(value) == 1 else None
    return Made(tool, None, error) if isinstance(error, dict) else Made(tool, value, None)
