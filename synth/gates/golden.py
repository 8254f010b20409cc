"""Gate 1, golden: the golden calls all succeed, twice with the same results and the same end state."""

from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.world import World
from synth.tasks.replay import GoldenRun, Rejected, run_golden


def check_golden(world: World, combination: Combination) -> tuple[GoldenRun, dict[str, Json]]:
    """The golden run, and the gate's figure."""
    first, second = run_golden(world, combination), run_golden(world, combination)
    failed = next((result for result in first.results if not result.ok), None)
    if failed:
        raise Rejected("golden call fails", f"{failed.call.tool}: {failed.error}")
    if dump([r.value for r in first.results]) != dump([r.value for r in second.results]):
        raise Rejected("golden replay differs")
    if first.changes != second.changes:
        raise Rejected("golden replay differs")
    return first, {"replays": 2, "calls": len(first.results), "changes": len(first.changes)}
