"""What a rollout came to, and the mean of several."""

from collections.abc import Sequence

from skillweave.schema.record import Record


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
