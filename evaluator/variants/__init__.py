"""Variants of golden trajectories, with what an evaluator must say of each: mutants that fail, equivalents that pass.

They are built by execution, without asking any check.
"""

from collections.abc import Iterator

from evaluator.variants.equivalents import equivalents
from evaluator.variants.mutants import mutants
from evaluator.variants.unfinished import unfinished
from evaluator.variants.untold import untold
from evaluator.variants.variant import Variant
from evaluator.variants.workbench import Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.task import Kind, Task
from skillweave.world.world import World

__all__ = ["KINDS", "Variant", "variants_of"]

KINDS: tuple[Kind, ...] = ("do", "inform")
"""Kinds of task that variants are known of."""


def variants_of(world: World, task: Task) -> Iterator[Variant]:
    """All variants that apply to a task, in a fixed order.

    None where its kind has none, where it ends in a transfer, or where its golden calls do not do what it demands.
    """
    if task.kind not in KINDS or any(call.tool == TRANSFER for call in task.golden):
        return
    bench = Workbench(world, task)
    if bench.golden.undone or not bench.reaches_goal(bench.golden.changes):
        return
    yield from equivalents(bench)
    yield from unfinished(bench)
    yield from mutants(bench)
    yield from untold(bench)
