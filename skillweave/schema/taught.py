"""What one strong model made of a task: lines of `taught.jsonl`, and of `never_solved.jsonl` for audit."""

from skillweave.schema.record import Record
from skillweave.schema.result import Divergence, FailureClass


class Taught(Record):
    task_id: str
    """The task."""
    world: str
    """Its world."""
    model: str
    """`provider/model` of the agent."""
    trials: int
    """Trials that were scored."""
    passes: int
    """Those with the reward 1."""


class NeverSolved(Record):
    """A task that no trial passed: hard, or wrong."""

    task_id: str
    """The task."""
    world: str
    """Its world."""
    trials: int
    """Trials that were scored."""
    failure: FailureClass
    """The most frequent class of failure."""
    failures: int
    """Trials of that class."""
    example: str
    """Id of the first result of that class."""
    first_divergence: Divergence | None
    """Where that one left the golden path."""
