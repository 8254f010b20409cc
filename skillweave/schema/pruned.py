"""What pruning found of a task's golden calls, as a line of `pruned.jsonl`."""

from skillweave.schema.record import Record
from skillweave.schema.score import GoldenCallNote


class PrunedRecord(Record):
    task_id: str
    """The task."""
    world: str
    """Its world."""
    kept: list[int]
    """Positions of the golden calls that are needed, from 0."""
    pruned: list[GoldenCallNote]
    """Calls without which the outcome is the same; `actions` does not demand them."""
    fault: str | None = None
    """Why the golden calls prove nothing, where they do not replay; nothing is pruned then."""
