"""The differential test suite of a server: all cases, what the contract answers to them, and what they do not cover.

It is made once for a world and run against every version of the server that its author writes. The functions are pure
functions of plain values, because they run in another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.sandbox.limits import SandboxLimits
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import Tool
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json, Record
from skillweave.world.world import World
from synth.servers.boundaries import BoundaryCases, BoundarySearch
from synth.servers.candidates import CandidateRunner
from synth.servers.cases import ServerCase
from synth.servers.differential import ExpectedAnswers, ServerDifference, differences, run_contract
from synth.servers.fuzzing import PER_PARAMETER, odd_cases
from synth.servers.own_tests import CallExample, examples_of
from synth.servers.sessions import bridge_cases, fused_cases, random_sessions

PER_PARAMETER_BRIEF = 2
"""Odd values tried at each parameter in a fused world, and in a brief search."""


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
class CaseSet:
    """All cases of a world, and what they do not reach."""

    cases: tuple[ServerCase, ...]
    tools_unmet: tuple[str, ...]
    """Tools that no case makes succeed."""
    guards_unmet: tuple[str, ...]
    """`tool rule`: guards that no case breaks first; of the agent's, those that no successful call breaks."""
    guards: int
    """How many guards there are."""


@dataclass(frozen=True)
class DifferentialSuite:
    """The cases of a world with the contract's answers, ready to be run against a server."""

    expected: ExpectedAnswers
    examples: tuple[CallExample, ...]
    """Calls from which the author writes the server's own tests."""
    guards: int
    guards_unmet: tuple[str, ...]
    tools_unmet: tuple[str, ...]

    def report(self, rounds: int, tests: int) -> ServerReport:
        """The record of a server that has passed.

        Args:
            rounds: Repairs that the author needed.
            tests: Tests that the author wrote.
        """
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
    blueprint: Blueprint, database: bytes, now: str, seed: str, bridges: Sequence[BridgeProof] = ()
) -> DifferentialSuite:
    """Make the cases of a world and run them on its contract.

    Args:
        blueprint: The contract.
        database: The world's SQLite file.
        now: The clock, `YYYY-MM-DD HH:MM:SS`.
        seed: Where the random choices of the search come from.
        bridges: Proofs of the bridge rules of a fused world.
    """
    world = World(blueprint, database, now=now)
    case_set = make_cases(world, seed, bridges)
    expected = run_contract(world, case_set.cases)
    world.close()
    examples = tuple(examples_of(blueprint.tools, expected.cases, expected.observed))
    return DifferentialSuite(expected, examples, case_set.guards, case_set.guards_unmet, case_set.tools_unmet)


def run_suite(suite: DifferentialSuite, source: str, limits: SandboxLimits | None = None) -> list[ServerDifference]:
    """Run a server in the sandbox. Returns where it differs from its contract, one entry for each cause."""
    return differences(suite.expected, source, limits=limits)


def make_cases(world: World, seed: str, bridges: Sequence[BridgeProof] = (), *, is_brief: bool = False) -> CaseSet:
    """Make the cases of a world.

    Args:
        world: The world.
        seed: Where the random choices of the search come from.
        bridges: Proofs of the bridge rules of a fused world; each becomes a case that meets the rule and one that
            breaks it.
        is_brief: Search only one call that breaks each rule, instead of the boundary of each rule.
    """
    blueprint = world.blueprint
    fused = blueprint if isinstance(blueprint, FusedBlueprint) else None
    # The domains of a fused world have been proved one by one. What is new lies between them.
    proved = {rule for member in fused.members for rule in member.rules.values()} if fused else set()
    if is_brief:
        proved = {guard.rule for tool in blueprint.tools for guard in tool.guards}
    searched = _search_boundaries(world, seed, proved)
    successes = {name: result.success for name, result in searched.items() if result.success is not None}
    given = {name: success.given() for name, success in successes.items()}
    arguments: dict[str, dict[str, Json]] = {tool.name: given.get(tool.name, {}) for tool in blueprint.tools}
    callers = [success.caller for success in successes.values()]
    caller = next((caller for caller in callers if caller in world.callers), "NOBODY-0001")
    per_parameter = PER_PARAMETER_BRIEF if fused or is_brief else PER_PARAMETER
    cases = [
        *(case for result in searched.values() for case in result.cases),
        *odd_cases(blueprint, arguments, caller, seed, per_parameter),
        *random_sessions(world, given, seed),
        *(fused_cases(world, fused, arguments) if fused else []),
        *bridge_cases(bridges),
    ]
    unmet = [name for tool in blueprint.tools for name in _guards_unmet(tool, searched[tool.name])]
    shown = {f"{proof.broken['tool']} {proof.rule}" for proof in bridges}
    return CaseSet(
        cases=tuple({repr((case.caller, case.calls, case.patch)): case for case in cases}.values()),
        tools_unmet=tuple(tool.name for tool in blueprint.tools if tool.name not in successes),
        guards_unmet=tuple(name for name in unmet if name not in shown),
        guards=sum(len(tool.guards) for tool in blueprint.tools),
    )


def _search_boundaries(world: World, seed: str, proved: set[str]) -> dict[str, BoundaryCases]:
    """The boundary cases of each tool, by its name."""
    runner = CandidateRunner(world)
    try:
        return {tool.name: BoundarySearch(runner, tool, seed, proved).run() for tool in world.blueprint.tools}
    finally:
        runner.close()


def _guards_unmet(tool: Tool, result: BoundaryCases) -> list[str]:
    own = [guard for guard in tool.guards if guard.enforced_by == "tool"]
    agent = [guard for guard in tool.guards if guard.enforced_by == "agent"]
    missed = [guard for place, guard in enumerate(own) if place not in result.breaking]
    missed += [guard for place, guard in enumerate(agent) if place not in result.breaking_agent]
    return [f"{tool.name} {guard.rule}" for guard in missed]
