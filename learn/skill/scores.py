"""What a rollout came to, the mean of several, and why one failed in words for the optimizer.

The optimizer may know which tool was to be called, which rule decides, and what the user wanted to hear, but not the
values that were right: they are those of one task, and a skill that holds them has learned nothing.
"""

import re
from collections.abc import Sequence

from skillweave.schema.record import Record
from skillweave.schema.result import FAILURE_CLASSES, FailureRecord

OPEN_CALLS = ("decline_request(", "transfer_to_human(")
"""Calls whose arguments are rules and reasons, not values of a task."""
LONGEST = 300
"""Characters of what was done instead."""
_VALUE = re.compile(r'"[^"]*"|\b\d[\d.,:-]*')
_ARGUMENT = re.compile(r'(\w+)=("[^"]*"|[^,)]*)')


class Row(Record):
    """A rollout of one item."""

    id: str
    """Of the item."""
    trial: int = 0
    hard: float
    """1: passed, 0: failed; between them for shares."""
    soft: float
    """Share of what was asked that was done, 0 to 1."""
    fail_reason: str = ""
    """Kind of failure, a colon, and details."""
    task_type: str = ""
    task_description: str = ""
    n_turns: int = 0
    trajectory: str = ""
    """The conversation as text."""


def mean_scores(rows: Sequence[Row]) -> tuple[float, float]:
    """Means of the hard and of the soft scores; 0 without rows."""
    if not rows:
        return 0.0, 0.0
    return sum(row.hard for row in rows) / len(rows), sum(row.soft for row in rows) / len(rows)


def reason_of(failure: FailureRecord) -> str:
    """The class of a failure, a colon, what is wrong in general, and what was missing here."""
    place = failure.first_divergence
    expected, got = place.expected, place.got
    masked = expected if expected.startswith(OPEN_CALLS) else _VALUE.sub("…", expected)
    parts = [f"{failure.class_}: {FAILURE_CLASSES[failure.class_]}"]
    if masked.strip():
        parts.append(f"Expected: {masked}.")
    if place.call is not None:
        parts.append(f"Instead: {_shortened(got)}.")
        parts += [f"Wrong: {', '.join(names)}."] if (names := _wrong_arguments(expected, got)) else []
    return " ".join(parts)


def _wrong_arguments(expected: str, got: str) -> list[str]:
    """Names of the arguments in which two calls of one tool differ."""
    tool, _, arguments = expected.partition("(")
    other, _, rest = got.partition("(")
    if tool != other:
        return []
    right, given = dict(_ARGUMENT.findall(arguments)), dict(_ARGUMENT.findall(rest.partition(") -> ")[0]))
    return [name for name in dict.fromkeys([*right, *given]) if right.get(name) != given.get(name)]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
