"""Variants of golden trajectories, with what an evaluator must say of each: mutants that fail, equivalents that pass.

They are built by execution, without asking any check.
"""

from collections.abc import Iterator

from evaluator.variants.asking import asked_first, not_asked_first
from evaluator.variants.declining import declining
from evaluator.variants.equivalents import equivalents
from evaluator.variants.handing_over import handed_over, not_handed_over
from evaluator.variants.mutants import mutants
from evaluator.variants.not_declined import not_declined
from evaluator.variants.rules import rules_of
from evaluator.variants.unfinished import unfinished
from evaluator.variants.untold import untold
from evaluator.variants.variant import Variant
from evaluator.variants.workbench import Workbench
from skillweave.schema.call import TRANSFER
from skillweave.schema.task import Kind, Task
from skillweave.world.world import World

__all__ = ["KINDS", "Variant", "variants_of"]

KINDS: tuple[Kind, ...] = ("do", "inform", "refuse", "clarify", "unavailable")
"""Kinds of task that variants are known of."""


def variants_of(world: World, task: Task) -> Iterator[Variant]:
    """All variants that apply to a task, in a fixed order.

    None where its golden calls do not do what it demands, or do not end as its kind does: `unavailable` alone hands
    over, and last.
    """
    bench = Workbench(world, task)
    if bench.golden.undone or not bench.reaches_goal(bench.golden.changes):
        return
    calls = [call.tool for call in task.golden]
    if calls.count(TRANSFER) != (task.kind == "unavailable") or TRANSFER in calls[:-1]:
        return
    if task.kind == "refuse":
        yield from _of_refusal(bench)
    elif task.kind == "unavailable":
        yield from handed_over(bench)
        yield from not_handed_over(bench)
    else:
        yield from _of_work(bench)


def _of_refusal(bench: Workbench) -> Iterator[Variant]:
    rules = rules_of(bench)
    if rules is not None and not bench.golden.changes:
        yield from declining(bench, rules)
        yield from not_declined(bench, rules)


def _of_work(bench: Workbench) -> Iterator[Variant]:
    """Of a task that is to be carried out; what the user left out they say as soon as they are asked for details."""
    yield from equivalents(bench)
    yield from asked_first(bench)
    yield from unfinished(bench)
    yield from mutants(bench)
    yield from untold(bench)
    yield from not_asked_first(bench)
