"""Absences: goals whose tool, and all that do the like, are not offered."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import TaskTemplate


def absences(goals: Sequence[TaskTemplate], blueprint: Blueprint) -> list[TaskTemplate]:
    """The goals of one write, to be asked for where nothing does it."""
    return [_absence(goal) for goal in goals if _is_one_write(goal, blueprint)]


def _is_one_write(goal: TaskTemplate, blueprint: Blueprint) -> bool:
    return goal.kind == "do" and [blueprint.tool(call.tool).kind for call in goal.calls] == ["write"]


def _absence(goal: TaskTemplate) -> TaskTemplate:
    server, _, name = goal.id.partition("/")
    return goal.model_copy(
        update={
            "id": f"{server}/unavailable_{name}",
            "kind": "unavailable",
            "base": goal.id,
            "is_hidden": True,
            "tell": [],
        }
    )
