"""Gate: no other write meets a bridge rule's demand and leads to another end state.

The user has agreed to what is needed, not to one tool by name. So the gate replaces each demanded call with every other
write of the same domain, and passes on the arguments that both tools take. If the other calls are still lawful and the
end state differs, the task has two right answers.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

from evaluator.checks.state import check_state
from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import Criteria, GoldenCall
from skillweave.schema.record import Json, Value
from skillweave.world.world import World
from synth.gates.gate import TaskGate
from synth.search.arguments import argument_search
from synth.tasks.replay import Rejected, make_calls, open_session, successful_run

TRIES = 4
"""Calls to try of each other tool."""


GATE = TaskGate(
    name="alternative_actions",
    proves="No other write does what a bridge rule demands and ends in another state.",
    runs="The golden calls, with each demanded call replaced by other writes of the same domain.",
    figures={
        "grounded.other_ways": "calls that were tried in the place of demanded ones",
    },
    reasons=(
        "second lawful way",
        "demanded by nobody",
    ),
    check=lambda judged: {
        "grounded": {"other_ways": check_alternative_actions(judged.world, judged.combination, judged.criteria)}
    },
)


def check_alternative_actions(world: World, combination: Combination, criteria: Criteria) -> int:
    """Count the calls tried in place of demanded ones. Raises Rejected if one of them meets the demand too."""
    tried = 0
    for place, call in enumerate(combination.golden):
        if call.demanded_by is None:
            continue
        for other in _others(world, combination, place):
            tried += 1
            golden = [*combination.golden[:place], other, *combination.golden[place + 1 :]]
            run = successful_run(world, combination.model_copy(update={"golden": golden}))
            if run and run.lawful and check_state(criteria, run.changes, world.comparison).score != 1:
                raise Rejected("second lawful way", f"{other.tool} does as well as {call.tool}")
    return tried


def _others(world: World, combination: Combination, place: int) -> Iterator[GoldenCall]:
    """Other writes of the same domain that name a row which the demanded call names."""
    call = combination.golden[place]
    fused = world.blueprint
    if not isinstance(fused, FusedBlueprint):
        raise Rejected("demanded by nobody", f"{call.tool}: one domain alone has no bridge rules")
    member = fused.member_of(call.tool)
    rows = {p.refers_to for p in fused.tool(call.tool).parameters if p.refers_to}
    others = [
        tool
        for tool in fused.tools
        if tool.kind == "write"
        and tool.server == member.server
        and tool.name != call.tool
        and rows & {parameter.refers_to for parameter in tool.parameters}
    ]
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[:place])
        for tool in others:
            fixed = _shared(fused.tool(call.tool), tool, combination.golden[place].arguments)
            random = Random(f"{combination.id}/{place}/{tool.name}")
            for arguments in islice(argument_search(session, tool, random, fixed, nodes=40).meeting(), TRIES):
                yield GoldenCall(tool=tool.name, arguments=dict(arguments))


def _shared(demanded: Tool, other: Tool, arguments: dict[str, Json]) -> dict[str, Value]:
    """Arguments that both tools take: the same row, or the same name."""
    rows = {parameter.refers_to: parameter.name for parameter in demanded.parameters if parameter.refers_to}
    shared: dict[str, Value] = {}
    for parameter in other.parameters:
        name = rows.get(parameter.refers_to, parameter.name) if parameter.refers_to else parameter.name
        value = arguments.get(name)
        if value is not None and not isinstance(value, (dict, list)):
            shared[parameter.name] = value
    return shared
