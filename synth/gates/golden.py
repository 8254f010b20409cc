"""Gate: the golden calls all succeed, twice with the same results and the same end state."""

from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.world.canonical import dump
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.tasks.replay import GoldenRun, Rejected, run_golden

GATE = TaskGate(
    name="golden",
    proves="The golden calls work.",
    runs="All golden calls, twice, the second time in a session that shares nothing: same results, same end state.",
    figures={
        "golden.replays": "runs of the golden calls",
        "golden.calls": "golden calls",
        "golden.changes": "rows that they change",
    },
    reasons=(
        "golden call fails",
        "golden replay differs",
    ),
    check=lambda judged: {"golden": check_golden(judged.world, judged.combination, judged.golden)},
)


def check_golden(world: World, combination: Combination, first: GoldenRun) -> dict[str, Json]:
    """The gate's figures. Raises Rejected if a golden call fails, or if a second run differs from the `first`."""
    second = run_golden(world, combination, fresh=True)
    failed = next((result for result in first.results if not result.ok), None)
    if failed:
        raise Rejected("golden call fails", f"{failed.call.tool}: {failed.error}")
    if dump([r.value for r in first.results]) != dump([r.value for r in second.results]):
        raise Rejected("golden replay differs")
    if first.changes != second.changes:
        raise Rejected("golden replay differs")
    return {"replays": 2, "calls": len(first.results), "changes": len(first.changes)}
