"""What the replay showed: how many calls were made again, which cannot be read, and where the record differs.

A recorded result is no evidence, and one that differs is no error: it is noted.
"""

from collections.abc import Sequence
from functools import lru_cache

from pydantic_core import from_json

from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import ReplayedTrial
from skillweave.schema.record import Json
from skillweave.schema.score import ReplayCheck
from skillweave.schema.trajectory import Message

CACHED_RESULTS = 64
"""Recorded results whose values are kept: those of a task's other trials are the same."""


def check_replay(trial: ReplayedTrial) -> ReplayCheck:
    """What came of the recorded calls when they were made again. The check has no score."""
    recorded = _recorded_results(trial.messages)
    texts = [recorded.get(place) for place in _places(trial.messages)]
    calls = trial.execution.calls
    return ReplayCheck.model_construct(
        calls=sum(not call.is_malformed for call in calls),
        failed=sum(not call.ok for call in calls),
        malformed=[call.position for call in calls if call.is_malformed],
        differs=[
            call.position for call, text in zip(calls, texts, strict=True) if text is not None and _differs(call, text)
        ],
        after_the_end=trial.after_the_end,
    )


def _places(messages: Sequence[Message]) -> list[tuple[int, str]]:
    """Message and id of each call, in order."""
    return [
        (place, call.id)
        for place, message in enumerate(messages)
        if message.role == "assistant"
        for call in message.tool_calls or ()
    ]


def _recorded_results(messages: Sequence[Message]) -> dict[tuple[int, str], str]:
    """The recorded result of each call: the first result with its id after it."""
    found: dict[tuple[int, str], str] = {}
    open_calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.role == "assistant":
            open_calls.update((call.id, place) for call in message.tool_calls or ())
        elif message.role == "tool" and message.tool_call_id in open_calls:
            found[open_calls.pop(message.tool_call_id), message.tool_call_id] = message.content or ""
    return found


@lru_cache(maxsize=CACHED_RESULTS)
def _read(text: str) -> Json:
    found: Json = from_json(text)
    return found


def _differs(step: ExecutedCall, text: str) -> bool:
    """Whether the recorded result has another value, or another error code."""
    try:
        recorded = _read(text)
    except ValueError:
        return True
    error = recorded.get("error") if isinstance(recorded, dict) else None
    if step.result.error is None:
        return recorded != step.result.value
    return not isinstance(error, dict) or error.get("code") != step.result.error.code
