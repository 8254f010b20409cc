"""Gate: an `unavailable` task asks for a change that no offered tool can write.

The gate makes the requested call in a session that offers all tools. No effect of an offered tool writes the columns
that it changes there, so no number of calls can reach its end state. The task offers all reads, and the golden calls
transfer the user to a human.
"""

from skillweave.schema.combination import Combination
from skillweave.schema.contract import TRANSFER
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
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
        "lawful.unreachable": "`columns` that the call changes, `hidden` tools, and offered writes",
    },
    reasons=(
        "not unavailable",
        "within reach",
    ),
    check=lambda judged: {"lawful": check_unreachable(judged.world, judged.combination, judged.criteria)},
)


def check_unreachable(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The figure of an `unavailable` task, empty for others: the changed columns, and the tools hidden and offered."""
    if not is_transferred(combination):
        return {}
    request, tools = combination.asked, world.blueprint.tools
    if request is None or request.tool not in combination.hidden:
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
        raise Rejected("within reach", f"{within[0]} writes what {request.tool} changes")
    recorded = {(table, column) for table, columns in criteria.beyond.items() for column in columns}
    if not wanted <= recorded:
        raise Rejected("within reach", f"{sorted(wanted - recorded)[0]} is not on record as out of reach")
    writes = sum(tool.kind == "write" for tool in offered)
    return {"unreachable": {"columns": len(wanted), "hidden": len(combination.hidden), "writes_offered": writes}}


def _changed(world: World, combination: Combination) -> set[tuple[str, str]]:
    """Tables and columns that the requested call changes in a session that offers its tool."""
    request = combination.asked
    assert request is not None
    with open_session(world, combination.model_copy(update={"hidden": []})) as session:
        make_calls(session, combination.golden[:-1])
        result = session.call(request.tool, request.arguments)
        if not result.ok or result.violations:
            raise Rejected(
                "not unavailable", f"{request.tool} would not go through: {result.error or result.violations}"
            )
        return changed_pairs(session.diff())
