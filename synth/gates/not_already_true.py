"""Gate 2, not already true: on the initial state the goal is false, so doing nothing fails."""

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, Kind
from skillweave.world.world import World
from synth.tasks.replay import Rejected

RECORDED: frozenset[Kind] = frozenset({"refuse", "unavailable"})
"""Kinds of task in which nothing is to change, and what is recorded counts: doing nothing records nothing."""


def check_not_already_true(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: what doing nothing scores in each check."""
    state = check_state(criteria, [], world.comparison).score
    told = float(not criteria.communicate)
    if combination.kind == "do" and state == 1:
        raise Rejected("already true", "doing nothing gives the end state")
    if combination.kind in RECORDED:
        recorded = 0.0 if combination.kind == "unavailable" or criteria.declined else 1.0
        if recorded:
            raise Rejected("already true", "nothing has to be recorded as declined")
        return {"doing_nothing": {"state": state, "communicate": told, "policy": recorded}}
    if state * told == 1:
        raise Rejected("already true", "doing nothing passes")
    return {"doing_nothing": {"state": state, "communicate": told}}
