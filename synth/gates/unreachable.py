"""Gate: what an `unavailable` task asks for changes what no offered tool writes.

The call is made in a session where all tools are offered. No effect of an offered tool writes what it changes there, so
no number of calls reaches it. All reads are offered, and the golden calls hand the request over.
"""

from skillweave.schema.combination import Combination
from skillweave.schema.contract import TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.world.world import World
from synth.contracts.writes import changed_pairs, written_pairs
from synth.gates.gate import TaskGate
from synth.tasks.kinds import is_transferred
from synth.tasks.replay import Rejected, make_calls, open_session

GATE = TaskGate(
    name="unreachable",
    proves="What is out of reach is out of reach of every offered tool.",
    runs=(
        "The call asked for, with its tool offered; what it changes is compared with what the effects of the "
        "offered tools write."
    ),
    figures={
        "lawful.unreachable": "`columns` that the call changes, tools that are `hidden`, and writes that are offered",
    },
    reasons=(
        "not unavailable",
        "within reach",
    ),
    check=lambda judged: {"lawful": check_unreachable(judged.world, judged.combination, judged.criteria)},
)


def check_unreachable(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The figure of an `unavailable` task, nothing for others: what is changed, and which tools are left."""
    if not is_transferred(combination):
        return {}
    asked, tools = combination.asked, world.blueprint.tools
    if asked is None or asked.tool not in combination.hidden:
        raise Rejected("not unavailable", "what is asked for is offered")
    offered = [tool for tool in tools if tool.name not in combination.hidden]
    if any(tool.kind != "write" for tool in tools if tool.name in combination.hidden):
        raise Rejected("not unavailable", "a read is hidden")
    last = combination.golden[-1]
    if last.tool != TRANSFER or last.arguments.get("reason") != "no_tool":
        raise Rejected("not unavailable", "it is not handed over")
    wanted = _changed(world, combination)
    within = sorted(tool.name for tool in offered if written_pairs(world, tool) & wanted)
    if within:
        raise Rejected("within reach", f"{within[0]} writes what {asked.tool} changes")
    left = {(table, column) for table, columns in criteria.beyond.items() for column in columns}
    if not wanted <= left:
        raise Rejected("within reach", f"{sorted(wanted - left)[0]} is not on record as out of reach")
    writes = sum(tool.kind == "write" for tool in offered)
    return {"unreachable": {"columns": len(wanted), "hidden": len(combination.hidden), "writes_offered": writes}}


def _changed(world: World, combination: Combination) -> set[tuple[str, str]]:
    """Tables and columns that the call changes where it is offered."""
    asked = combination.asked
    assert asked is not None
    with open_session(world, combination.model_copy(update={"hidden": []})) as session:
        make_calls(session, combination.golden[:-1])
        result = session.call(asked.tool, asked.arguments)
        if not result.ok or result.violations:
            raise Rejected("not unavailable", f"{asked.tool} would not go through: {result.error or result.violations}")
        return changed_pairs(session.diff())
