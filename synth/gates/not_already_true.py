"""Gate 2, not already true: on the initial state the goal is false, so doing nothing fails."""

from evaluator.checks.communicate import check_communicate
from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.world.world import World
from synth.gates.rejection import Rejected


def not_already_true(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: what doing nothing scores in each check."""
    state = check_state(criteria, [], world.comparison).score
    told = check_communicate(criteria.communicate, []).score
    if combination.kind == "do" and state == 1:
        raise Rejected("already true", "doing nothing gives the end state")
    if state * told == 1:
        raise Rejected("already true", "doing nothing passes")
    return {"doing_nothing": {"state": state, "communicate": told}}
