"""A server's proof: what its contract gives for all cases, made once and held against every attempt of its author.

Pure functions of plain values: they run in another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.sandbox.limits import Limits
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import Call
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Record
from skillweave.world.world import World
from synth.codegen.coverage import cases_of
from synth.codegen.differential import Difference, Expected, differences, expect
from synth.codegen.example import Example, examples_of


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
class Proof:
    expected: Expected
    examples: tuple[Example, ...]
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


def prepare(
    blueprint: Blueprint,
    database: bytes,
    now: str,
    seed: str,
    likely: Sequence[tuple[str | None, Call]] = (),
    bridges: Sequence[BridgeProof] = (),
) -> Proof:
    """Make the cases of a world and run them on its contract."""
    world = World(blueprint, database, now=now)
    made = cases_of(world, seed, likely, bridges)
    expected = expect(world, made.cases)
    world.close()
    examples = tuple(examples_of(blueprint.tools, expected.cases, expected.observed))
    return Proof(expected, examples, made.guards, made.guards_unmet, made.tools_unmet)


def faults(proof: Proof, source: str, limits: Limits | None = None) -> list[Difference]:
    """Where a server differs from its contract, a cause each."""
    return differences(proof.expected, source, limits=limits)
