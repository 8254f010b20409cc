"""Kind `unavailable`: somebody asks for what no offered tool does."""

from collections.abc import Sequence

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import TRANSFER
from skillweave.schema.criteria import Criteria, GoldenCall
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.contracts.wording import name_in_words
from synth.contracts.writes import changed_pairs, written_columns, written_pairs
from synth.tasks.kinds.recipe import Instance, InstanceSetting, KindRecipe, TemplateSource


class UnavailableRecipe(KindRecipe):
    """The goals of one write, asked for where no offered tool does the like."""

    limit = "per_unavailable"

    def templates(self, goals: Sequence[TaskTemplate], source: TemplateSource) -> list[TaskTemplate]:
        """One for each goal of one write."""
        return [_without_tool(goal) for goal in goals if _is_one_write(goal, source.blueprint)]

    def finish(self, instance: Instance, setting: InstanceSetting) -> list[str]:
        """Make the one write what is asked for and not made, and hide each tool that writes to the same places.

        Nobody has to find the row first: the user names it, and the golden calls transfer the request.
        """
        step = instance.steps[-1]
        call = instance.golden[step]
        changed = changed_pairs(setting.changes)
        writes = [tool for tool in setting.world.blueprint.tools if tool.kind == "write"]
        transfer = GoldenCall(
            tool=TRANSFER,
            arguments={"reason": "no_tool", "summary": f"The customer wants to {name_in_words(call.tool)}."},
            grounding={"reason": "env", "summary": "user"},
        )
        instance.asked = call.model_copy(update={"grounding": dict.fromkeys(call.arguments, "user")})
        instance.golden, instance.steps = [transfer], [1]
        instance.rows = [row.model_copy(update={"call": 1}) for row in instance.rows if row.call == step]
        instance.values = [value.model_copy(update={"call": 1}) for value in instance.values if value.call == step]
        instance.open_columns = {}
        return [tool.name for tool in writes if changed & written_pairs(setting.world, tool)]

    def criteria(self, world: World, combination: Combination, criteria: Criteria) -> Criteria:
        """What only a hidden tool writes counts as out of scope."""
        return criteria.model_copy(update={"beyond": out_of_scope_changes(world, combination)})


def out_of_scope_changes(world: World, combination: Combination) -> dict[str, list[str]]:
    """Table -> columns that the call asked for would write, and that no effect of an offered tool does."""
    if combination.asked is None:
        return {}
    wanted = written_columns(world, world.blueprint.tool(combination.asked.tool))
    offered = [written_columns(world, tool) for tool in world.blueprint.tools if tool.name not in combination.hidden]
    left = {
        table: [column for column in columns if not any(column in one.get(table, ()) for one in offered)]
        for table, columns in wanted.items()
    }
    return {table: columns for table, columns in left.items() if columns}


def _is_one_write(goal: TaskTemplate, blueprint: Blueprint) -> bool:
    return goal.kind == "do" and [blueprint.tool(call.tool).kind for call in goal.calls] == ["write"]


def _without_tool(goal: TaskTemplate) -> TaskTemplate:
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
