"""Kind `unavailable`: somebody asks for what no offered tool does."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import TRANSFER, RowChange
from skillweave.schema.task import GoldenCall
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.contracts.wording import name_in_words
from synth.contracts.writes import changed_pairs, written_pairs
from synth.tasks.instance import Instance


def unavailable_templates(goals: Sequence[TaskTemplate], blueprint: Blueprint) -> list[TaskTemplate]:
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


def hide_write(world: World, made: Instance, changes: Sequence[RowChange]) -> list[str]:
    """Make the one write of an instance what is asked for and not made; the tools that are not offered for it.

    Nobody has to find the row first: the user names it, and the golden calls hand the request over.
    """
    step = made.steps[-1]
    call = made.golden[step]
    changed = changed_pairs(changes)
    writes = [tool for tool in world.blueprint.tools if tool.kind == "write"]
    handed = GoldenCall(
        tool=TRANSFER,
        arguments={"reason": "no_tool", "summary": f"The customer wants to {name_in_words(call.tool)}."},
        grounding={"reason": "env", "summary": "user"},
    )
    made.asked = call.model_copy(update={"grounding": dict.fromkeys(call.arguments, "user")})
    made.golden, made.steps = [handed], [1]
    made.rows = [row.model_copy(update={"call": 1}) for row in made.rows if row.call == step]
    made.values = [said.model_copy(update={"call": 1}) for said in made.values if said.call == step]
    made.open_columns = {}
    return [tool.name for tool in writes if changed & written_pairs(world, tool)]
