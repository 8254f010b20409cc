"""All cases of a world's differential test, and what they do not reach."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.schema.call import Call
from skillweave.schema.contract import Tool
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.codegen.case import Case
from synth.codegen.explore import sessions
from synth.codegen.fuzz import PER_PARAMETER, odd_cases
from synth.codegen.joint import bridge_cases, joint_cases
from synth.codegen.trial import Lab, Trial
from synth.codegen.witness import Found, Search

FEW = 2
"""Odd values tried at each parameter in a fused world."""


@dataclass(frozen=True)
class Cases:
    cases: tuple[Case, ...]
    tools_unmet: tuple[str, ...]
    """Tools that no case makes succeed."""
    guards_unmet: tuple[str, ...]
    """`tool rule`: guards that no case breaks first; of the agent's, those that no call carried out breaks."""
    guards: int
    """How many guards there are."""


def cases_of(
    world: World,
    seed: str,
    likely: Sequence[tuple[str | None, Call]] = (),
    bridges: Sequence[BridgeProof] = (),
    *,
    is_brief: bool = False,
) -> Cases:
    """The cases. `likely` are calls (caller, call) that have succeeded here; `bridges` show bridge rules.

    A brief search looks for one call that breaks each rule, where another looks for every turn of it.
    """
    lab = Lab(world)
    fused = world.blueprint if isinstance(world.blueprint, FusedBlueprint) else None
    # A fused world's domains have each been proved alone; what is new in it is what lies between them.
    proved = {rule for member in fused.members for rule in member.rules.values()} if fused else set()
    if is_brief:
        proved = {guard.rule for tool in world.blueprint.tools for guard in tool.guards}
    found: dict[str, Found] = {}
    for tool in world.blueprint.tools:
        starts = [_trial(tool, caller, call) for caller, call in likely if call.tool == tool.name]
        found[tool.name] = Search(lab, tool, seed, proved).run(starts[:20])
    lab.close()
    successes = {name: made.success.given() for name, made in found.items() if made.success is not None}
    arguments: dict[str, dict[str, Json]] = {tool.name: successes.get(tool.name, {}) for tool in world.blueprint.tools}
    signed_in = [made.success.caller for made in found.values() if made.success is not None]
    caller = next((one for one in signed_in if one in world.callers), "NOBODY-0001")
    cases = [
        *(case for made in found.values() for case in made.cases),
        *odd_cases(world.blueprint, arguments, caller, seed, FEW if fused or is_brief else PER_PARAMETER),
        *sessions(world, successes, seed),
        *(joint_cases(world, fused, arguments) if fused else []),
        *bridge_cases(bridges),
    ]
    shown = {f"{proof.broken['tool']} {proof.rule}" for proof in bridges}
    return Cases(
        cases=tuple({repr((case.caller, case.calls, case.patch)): case for case in cases}.values()),
        tools_unmet=tuple(name for name, made in found.items() if made.success is None),
        guards_unmet=tuple(
            unmet for tool in world.blueprint.tools for unmet in _unmet(tool, found[tool.name]) if unmet not in shown
        ),
        guards=sum(len(tool.guards) for tool in world.blueprint.tools),
    )


def _trial(tool: Tool, caller: str | None, call: Call) -> Trial:
    arguments = tuple((parameter.name, call.arguments.get(parameter.name)) for parameter in tool.parameters)
    return Trial(tool, None if tool.kind == "auth" else caller, arguments)


def _unmet(tool: Tool, found: Found) -> list[str]:
    own = [guard for guard in tool.guards if guard.enforced_by == "tool"]
    agent = [guard for guard in tool.guards if guard.enforced_by == "agent"]
    missed = [guard for place, guard in enumerate(own) if place not in found.broken]
    missed += [guard for place, guard in enumerate(agent) if place not in found.agent_broken]
    return [f"{tool.name} {guard.rule}" for guard in missed]
