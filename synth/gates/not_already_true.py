"""Gate: the initial state does not reach the goal, so doing nothing fails."""

from evaluator.checks.state import check_state
from evaluator.kinds import KINDS as SCORED_KINDS
from skillweave.schema.combination import Combination
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.tasks.kinds import KINDS, is_transferred
from synth.tasks.replay import Rejected

GATE = TaskGate(
    name="not_already_true",
    proves="The goal is not already reached.",
    runs="The checks, on a session without calls.",
    figures={
        "not_already_true.doing_nothing": "score of doing nothing in each check of the reward",
    },
    reasons=("already true",),
    check=lambda judged: {
        "not_already_true": check_not_already_true(judged.world, judged.combination, judged.criteria)
    },
)


def check_not_already_true(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: what doing nothing scores in each check."""
    state = check_state(criteria, [], world.comparison).score
    communicate_score = float(not criteria.communicate)
    if KINDS[combination.kind].changes_state and state == 1:
        raise Rejected("already true", "doing nothing gives the end state")
    # If the goal changes no row, the record of declining counts, and doing nothing records nothing.
    if not SCORED_KINDS[combination.kind].is_carried_out:
        recorded = 0.0 if is_transferred(combination) or criteria.declined else 1.0
        if recorded:
            raise Rejected("already true", "nothing has to be recorded as declined")
        return {"doing_nothing": {"state": state, "communicate": communicate_score, "policy": recorded}}
    if state * communicate_score == 1:
        raise Rejected("already true", "doing nothing passes")
    return {"doing_nothing": {"state": state, "communicate": communicate_score}}
