"""The differential test suite of a server: all cases, what the contract answers to them, and what they do not cover.

It is made once for a world and run against every version of the server that its author writes. The functions are
pure functions of plain values, because they run in another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.sandbox.limits import SandboxLimits
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.call import Call
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json, Record
from skillweave.world.world import World
from synth.servers.boundaries import BoundarySearch, Witnesses
from synth.servers.candidates import Candidate, CandidateRunner
from synth.servers.cases import ServerCase
from synth.servers.differential import ExpectedAnswers, ServerDifference, differences, run_contract
from synth.servers.fuzzing import PER_PARAMETER, odd_cases
from synth.servers.own_tests import CallExample, examples_of
from synth.servers.sessions import bridge_cases, fused_cases, random_sessions

PER_PARAMETER_BRIEF = 2
"""Odd values tried at each parameter in a fused world."""


@dataclass(frozen=True)
class CaseSet:
    cases: tuple[ServerCase, ...]
    tools_unmet: tuple[str, ...]
    """Tools that no case makes succeed."""
    guards_unmet: tuple[str, ...]
    """`tool rule`: guards that no case breaks first; of the agent's, those that no call carried out breaks."""
    guards: int
    """How many guards there are."""


def make_cases(
    world: World,
    seed: str,
    likely: Sequence[tuple[str | None, Call]] = (),
    bridges: Sequence[BridgeProof] = (),
    *,
    is_brief: bool = False,
) -> CaseSet:
    """The cases. `likely` are calls (caller, call) that have succeeded here; `bridges` show bridge rules.

    A brief search looks for one call that breaks each rule, where another looks for every turn of it.
    """
    lab = CandidateRunner(world)
    fused = world.blueprint if isinstance(world.blueprint, FusedBlueprint) else None
    # A fused world's domains have each been proved alone; what is new in it is what lies between them.
    proved = {rule for member in fused.members for rule in member.rules.values()} if fused else set()
    if is_brief:
        proved = {guard.rule for tool in world.blueprint.tools for guard in tool.guards}
    found: dict[str, Witnesses] = {}
    for tool in world.blueprint.tools:
        starts = [_trial(tool, caller, call) for caller, call in likely if call.tool == tool.name]
        found[tool.name] = BoundarySearch(lab, tool, seed, proved).run(starts[:20])
    lab.close()
    successes = {name: made.success.given() for name, made in found.items() if made.success is not None}
    arguments: dict[str, dict[str, Json]] = {tool.name: successes.get(tool.name, {}) for tool in world.blueprint.tools}
    signed_in = [made.success.caller for made in found.values() if made.success is not None]
    caller = next((one for one in signed_in if one in world.callers), "NOBODY-0001")
    cases = [
        *(case for made in found.values() for case in made.cases),
        *odd_cases(
            world.blueprint, arguments, caller, seed, PER_PARAMETER_BRIEF if fused or is_brief else PER_PARAMETER
        ),
        *random_sessions(world, successes, seed),
        *(fused_cases(world, fused, arguments) if fused else []),
        *bridge_cases(bridges),
    ]
    shown = {f"{proof.broken['tool']} {proof.rule}" for proof in bridges}
    return CaseSet(
        cases=tuple({repr((case.caller, case.calls, case.patch)): case for case in cases}.values()),
        tools_unmet=tuple(name for name, made in found.items() if made.success is None),
        guards_unmet=tuple(
            unmet for tool in world.blueprint.tools for unmet in _unmet(tool, found[tool.name]) if unmet not in shown
        ),
        guards=sum(len(tool.guards) for tool in world.blueprint.tools),
    )


def _trial(tool: Tool, caller: str | None, call: Call) -> Candidate:
    arguments = tuple((parameter.name, call.arguments.get(parameter.name)) for parameter in tool.parameters)
    return Candidate(tool, None if tool.kind == "auth" else caller, arguments)


def _unmet(tool: Tool, found: Witnesses) -> list[str]:
    own = [guard for guard in tool.guards if guard.enforced_by == "tool"]
    agent = [guard for guard in tool.guards if guard.enforced_by == "agent"]
    missed = [guard for place, guard in enumerate(own) if place not in found.broken]
    missed += [guard for place, guard in enumerate(agent) if place not in found.agent_broken]
    return [f"{tool.name} {guard.rule}" for guard in missed]


class ServerReport(Record):
    """How a server was proved equal to its contract."""

    cases: int
    calls: int
    guards: int
    guards_unmet: list[str]
    """`tool rule`: guards that no case has broken first. An error there would not have been seen."""
    tools_unmet: list[str]
    """Tools that no case has made succeed."""
    rounds: int
    """Repairs that the author needed."""
    tests: int
    """Tests that the author wrote; all pass."""


@dataclass(frozen=True)
class DifferentialSuite:
    expected: ExpectedAnswers
    examples: tuple[CallExample, ...]
    guards: int
    guards_unmet: tuple[str, ...]
    tools_unmet: tuple[str, ...]

    def report(self, rounds: int, tests: int) -> ServerReport:
        """The record of a server that has passed."""
        return ServerReport(
            cases=len(self.expected.cases),
            calls=sum(len(case.calls) for case in self.expected.cases),
            guards=self.guards,
            guards_unmet=list(self.guards_unmet),
            tools_unmet=list(self.tools_unmet),
            rounds=rounds,
            tests=tests,
        )


def prepare_suite(
    blueprint: Blueprint,
    database: bytes,
    now: str,
    seed: str,
    likely: Sequence[tuple[str | None, Call]] = (),
    bridges: Sequence[BridgeProof] = (),
) -> DifferentialSuite:
    """Make the cases of a world and run them on its contract."""
    world = World(blueprint, database, now=now)
    made = make_cases(world, seed, likely, bridges)
    expected = run_contract(world, made.cases)
    world.close()
    examples = tuple(examples_of(blueprint.tools, expected.cases, expected.observed))
    return DifferentialSuite(expected, examples, made.guards, made.guards_unmet, made.tools_unmet)


def run_suite(proof: DifferentialSuite, source: str, limits: SandboxLimits | None = None) -> list[ServerDifference]:
    """Where a server differs from its contract, a cause each."""
    return differences(proof.expected, source, limits=limits)
