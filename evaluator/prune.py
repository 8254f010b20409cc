"""Pruning: golden calls that change nothing in the outcome, found by leaving them out."""

from evaluator.execution import Execution
from skillweave.schema.task import Task
from skillweave.world.world import World


def needless(world: World, task: Task, execution: Execution) -> frozenset[int]:
    """Positions of golden calls without which the outcome is the same. `execution` is that of all of them."""
    return frozenset()
