"""Step-level truth: at each step of a task's golden calls the best next calls, and how many are still needed."""

from typing import Literal

from skillweave.schema.call import Call
from skillweave.schema.record import Record


class GoldenStep(Record):
    step: int
    """Golden calls made before it."""
    status: Literal["proved", "undecided", "not_reached"]
    """`proved`: nothing is better. Else nothing is told."""
    optimal: list[Call]
    """Calls with which a shortest solution goes on; none at its end."""
    cost_to_go: int | None
    """Calls of a shortest solution from here on; words to the user count for none."""


class StepTruth(Record):
    task_id: str
    steps: list[GoldenStep]
    """One before each golden call, and one at the end."""
