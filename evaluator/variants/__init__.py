"""Variants of golden trajectories, with what an evaluator must say of each: mutants that fail, equivalents that pass.

They are built by execution, without asking any check.
"""

from collections.abc import Iterator

from evaluator.variants.asking import unasked, ways_of_asking
from evaluator.variants.conversation import Variant
from evaluator.variants.declining import declined, ways_of_declining
from evaluator.variants.equivalents import call_formats, equivalents
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.handing_over import handed_over, ways_of_handing_over
from evaluator.variants.mutants import further_writes, mutants, told_wrongly, unfinished, untold
from skillweave.schema.call import DECLINE, TRANSFER
from skillweave.schema.task import Kind, Task
from skillweave.world.world import World

__all__ = ["KINDS", "Variant", "variants_of"]

KINDS: tuple[Kind, ...] = ("do", "inform", "refuse", "clarify", "unavailable")
"""Kinds of task that variants are known of."""
_ENDINGS: dict[Kind, list[str]] = {"refuse": [DECLINE], "unavailable": [TRANSFER]}
"""Calls that decline or hand over in the golden calls of a kind."""


def variants_of(world: World, task: Task, *, conduct: bool = True) -> Iterator[Variant]:
    """All variants that apply to a task, in a fixed order.

    None where its golden calls do not do what it demands, or do not end as its kind does: `refuse` with a decline,
    `unavailable` with a transfer, others with neither.

    Args:
        conduct: Whether to make those as well that are the same for all tasks of a template: how calls are written,
            what is recorded and told when, who is asked. Without them only those that turn on this task's values.
    """
    bench = VariantExecutor(world, task)
    if bench.golden.undone or not bench.reaches_goal(bench.golden.changes):
        return
    if [move.tool for move in bench.ending] != _ENDINGS.get(task.kind, []):
        return
    if bench.ending and bench.ending[0] is not bench.moves[-1]:
        return
    if task.kind == "refuse":
        yield from _of_refusal(bench, conduct=conduct)
    elif task.kind == "unavailable":
        yield from handed_over(bench)
        yield from ways_of_handing_over(bench) if conduct else ()
    else:
        yield from _of_work(bench, conduct=conduct)


def _of_refusal(bench: VariantExecutor, *, conduct: bool) -> Iterator[Variant]:
    wanted = bench.task.criteria.declined
    if wanted is not None and not bench.golden.changes:
        yield from declined(bench, wanted)
        yield from ways_of_declining(bench, wanted) if conduct else ()


def _of_work(bench: VariantExecutor, *, conduct: bool) -> Iterator[Variant]:
    """Of a task that is to be carried out; what the user left out they say as soon as they are asked for details."""
    yield from equivalents(bench)
    yield from mutants(bench)
    yield from told_wrongly(bench)
    yield from unasked(bench)
    if conduct:
        yield from call_formats(bench)
        yield from further_writes(bench, ["undone", "broken_rule"])
        yield from unfinished(bench)
        yield from untold(bench)
        yield from ways_of_asking(bench)
