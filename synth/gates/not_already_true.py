"""Gate 2, not already true: on the initial state the goal is false, so doing nothing fails."""

from typing import Any

from evaluator.checks.communicate import check_communicate
from evaluator.checks.policy import conduct
from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.message import Message
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria, Kind, Task
from skillweave.world.world import World
from synth.gates.rejection import Rejected

DECLINES: frozenset[Kind] = frozenset({"refuse", "unavailable"})
"""Kinds of task in which nothing is to change, and how it is declined or handed over counts."""


def not_already_true(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The gate's figure: what doing nothing scores in each check."""
    state = check_state(criteria, [], world.comparison).score
    told = check_communicate(criteria.communicate, []).score
    if combination.kind == "do" and state == 1:
        raise Rejected("already true", "doing nothing gives the end state")
    if combination.kind not in DECLINES:
        if state * told == 1:
            raise Rejected("already true", "doing nothing passes")
        return {"doing_nothing": {"state": state, "communicate": told}}
    policy = _silence(combination.kind, criteria)
    if state * told * policy == 1:
        raise Rejected("already true", "silence passes")
    return {"doing_nothing": {"state": state, "communicate": told, "policy": policy}}


def _silence(kind: Kind, criteria: Criteria) -> float:
    """What the conduct is worth where the user asks and nobody answers."""
    said: dict[str, Any] = {"kind": kind, "criteria": criteria}
    found = conduct(Task.model_construct(**said), [], None, [Message(role="user", content="Please do it.")])
    return found.score if found else 0.0
