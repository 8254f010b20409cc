"""The second set of variants: other operators and another seed than the set by which tasks are kept or dropped.

Whether one reaches the goal is read here anew, by a comparison that shares nothing with the one that scores.
"""

from collections.abc import Iterator

from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out.calls import changed_calls
from evaluator.variants.held_out.conduct import conduct
from evaluator.variants.held_out.orders import other_orders
from evaluator.variants.held_out.reading import reaches
from evaluator.variants.held_out.told import told_otherwise
from evaluator.variants.held_out.trying import HeldOutVariant
from skillweave.schema.task import Task
from skillweave.world.world import World

__all__ = ["HeldOutVariant", "held_out"]


def held_out(world: World, task: Task) -> Iterator[HeldOutVariant]:
    """All that apply to a task, in a fixed order; none where its golden calls do not do what it demands."""
    bench = VariantExecutor(world, task)
    if bench.golden.undone or not reaches(bench, bench.golden.changes):
        return
    yield from conduct(bench)
    if task.kind in ("refuse", "unavailable"):
        return
    yield from other_orders(bench)
    yield from changed_calls(bench)
    yield from told_otherwise(bench)
