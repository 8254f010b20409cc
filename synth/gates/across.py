"""Interlock of what is to be declined: the rule that forbids it turns on all other domains, and only they show it.

A rule that the tool holds would be told by the tool. So the rule is the agent's to keep, and the golden calls look up
in each other domain what decides it; without that domain nobody could know that the request is forbidden.
"""

from collections.abc import Iterator

from skillweave.schema.combination import Combination
from skillweave.schema.contract import Guard
from skillweave.schema.fused import FusedBlueprint, FusedTool
from skillweave.schema.fusion import Crossing
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.gates.declined import showing
from synth.gates.rejection import Rejected
from synth.graph.edges import columns_read


def refusable(fused: FusedBlueprint) -> list[str]:
    """Bridge rules by which a request of a joined world may be declined: held by the agent, joining all its domains."""
    return [guard.rule for tool in fused.tools for guard in _bridging(fused, tool) if not _unread(fused, tool, guard)]


def declined_across(world: World, combination: Combination) -> dict[str, Json]:
    """The figure of a `refuse` task of a joined world. Rejected where a domain could be left out."""
    fused, asked = world.blueprint, combination.asked
    assert isinstance(fused, FusedBlueprint)
    if asked is None:
        raise Rejected("not interlocked", "nothing is asked for")
    tool = fused.tool(asked.tool)
    assert isinstance(tool, FusedTool)
    guard = next((guard for guard in _bridging(fused, tool) if [guard.rule] == combination.forbidden), None)
    if guard is None:
        raise Rejected("not interlocked", f"no bridge rule that the agent holds is all that forbids {tool.name}")
    shown = {fused.member_of(combination.golden[place].tool).server for place in showing(world, combination)}
    others = sorted({member.server for member in fused.members} - {tool.server})
    apart = [*_unread(fused, tool, guard), *(server for server in others if server not in shown)]
    if apart:
        raise Rejected("not interlocked", f"{guard.rule} is not decided by what {apart[0]} shows")
    found = [
        Crossing(
            kind="rule",
            source=server,
            target=tool.server,
            call=len(combination.golden),
            tool=tool.name,
            rule=guard.rule,
            held_by="agent",
        )
        for server in others
    ]
    return {
        "crossings": [crossing.model_dump(mode="json") for crossing in found],
        "without": {
            **dict.fromkeys(others, f"what decides {guard.rule} cannot be known"),
            tool.server: "nothing is asked for",
        },
        "demanded": {},
    }


def _bridging(fused: FusedBlueprint, tool: FusedTool) -> Iterator[Guard]:
    """Bridge rules of a tool that the agent holds."""
    yield from (one for one in tool.guards if one.rule in fused.bridge_rules and one.enforced_by == "agent")


def _unread(fused: FusedBlueprint, tool: FusedTool, guard: Guard) -> list[str]:
    """Other domains than the tool's own, of which the guard reads nothing."""
    read = {table for table, _ in columns_read(guard.holds)}
    owners = {entity.server for entity in [*fused.entities, *fused.relationships] if entity.table in read}
    return [member.server for member in fused.members if member.server not in {*owners, tool.server}]
