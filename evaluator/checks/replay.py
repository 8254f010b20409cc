"""What the replay showed: how many calls were made again, which cannot be read, and where the record differs.

A recorded result is no evidence, and one that differs is no error: it is noted.
"""

from collections.abc import Sequence

from pydantic_core import from_json

from evaluator.replay.execution import ExecutedCall
from skillweave.schema.record import Json
from skillweave.schema.score import ReplayCheck
from skillweave.schema.trajectory import Message


def check_replay(steps: Sequence[ExecutedCall], messages: Sequence[Message], *, after_the_end: int = 0) -> ReplayCheck:
    """What came of the calls of a conversation when they were made again; so many messages stand behind its end."""
    recorded = _recorded(messages)
    told = [recorded.get(place) for place in _places(messages)]
    return ReplayCheck(
        calls=sum(not step.is_malformed for step in steps),
        failed=sum(not step.ok for step in steps),
        malformed=[step.call for step in steps if step.is_malformed],
        differs=[
            step.call for step, text in zip(steps, told, strict=True) if text is not None and _differs(step, text)
        ],
        after_the_end=after_the_end,
    )


def _places(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """Message and id of each call, in order."""
    return [
        (place, call.id)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]


def _recorded(messages: Sequence[Message]) -> dict[tuple[int, str], str]:
    """What is recorded as the result of each call: the first result of its id behind it."""
    found: dict[tuple[int, str], str] = {}
    open_calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.role == "assistant":
            open_calls.update((call.id, place) for call in message.tool_calls or ())
        elif message.role == "tool" and message.tool_call_id in open_calls:
            found[open_calls.pop(message.tool_call_id), message.tool_call_id] = message.content or ""
    return found


def _differs(step: ExecutedCall, text: str) -> bool:
    """Whether the record gives another value, or an error of another kind."""
    try:
        recorded: Json = from_json(text)
    except ValueError:
        return True
    error = recorded.get("error") if isinstance(recorded, dict) else None
    if step.result.error is None:
        return recorded != step.result.value
    return not isinstance(error, dict) or error.get("code") != step.result.error.code
