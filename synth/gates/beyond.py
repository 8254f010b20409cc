"""What is beyond an agent: changes that no tool offered to it makes, shown by what its tools' effects write."""

from skillweave.schema.combination import Combination
from skillweave.world.world import World
from synth.gates.written import written


def beyond(world: World, combination: Combination) -> dict[str, list[str]]:
    """Table -> columns that the call asked for would write, and that no effect of an offered tool does."""
    if combination.asked is None:
        return {}
    wanted = written(world, world.blueprint.tool(combination.asked.tool))
    offered = [written(world, tool) for tool in world.blueprint.tools if tool.name not in combination.hidden]
    left = {
        table: [column for column in columns if not any(column in one.get(table, ()) for one in offered)]
        for table, columns in wanted.items()
    }
    return {table: columns for table, columns in left.items() if columns}
