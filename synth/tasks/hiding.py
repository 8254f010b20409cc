"""Hiding: what was done with a tool becomes a request that no tool serves, since all that do the like are left out."""

from collections.abc import Sequence

from skillweave.schema.call import TRANSFER
from skillweave.schema.change import RowChange
from skillweave.schema.task import GoldenCall
from skillweave.world.world import World
from synth.gates.written import changed_in, places_written
from synth.tasks.instance import Instance
from synth.tasks.words import name_in_words


def hide(world: World, made: Instance, changes: Sequence[RowChange]) -> list[str]:
    """Make the one write of an instance what is asked for and not made; the tools that are not offered for it.

    Nobody has to find the row first: the user names it, and the golden calls hand the request over.
    """
    step = made.steps[-1]
    call = made.golden[step]
    changed = changed_in(changes)
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
    return [tool.name for tool in writes if changed & places_written(world, tool)]
