"""The two test suites of a server: the tests that its author writes, and the differential suite.

The author writes tests from examples, and pytest runs them in the sandbox, in their final folders. The differential
suite holds all cases, the contract's answers, and the guards that no case covers. It is prepared once for a world and
runs against every version of the server. All functions take and return plain values, because they run in another
process.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skillweave.sandbox.folder import SandboxLimits
from skillweave.sandbox.run import run
from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.contract import RowChange, Tool, ToolError
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json, Record
from skillweave.world.world import World
from synth.servers.boundaries import BoundaryCases, BoundarySearch
from synth.servers.candidates import CandidateRunner
from synth.servers.cases import Observed, ServerCase
from synth.servers.differential import ExpectedAnswers, ServerDifference, differences, run_contract
from synth.servers.fuzzing import PER_PARAMETER, bridge_cases, fused_cases, odd_cases, random_sessions
from synth.servers.runtime import runtime_files

LARGEST = 4000
"""Characters of a result beyond which a case is no example, unless a tool has no other success."""


class CallExample(Record):
    """A call with what the contract answers."""

    tool: str
    caller: str | None
    arguments: dict[str, Json]
    patch: list[RowChange]
    """Row changes made before the call."""
    value: Json = None
    """The result, if the call succeeds."""
    error: ToolError | None = None

    @property
    def as_python(self) -> str:
        """The call and its answer as one line of Python."""
        given = [repr(self.tool), repr(self.arguments), f"caller={self.caller!r}"]
        if self.patch:
            rows = [
                change.model_dump(include={"table", "op", "key", "after"}, exclude_none=True) for change in self.patch
            ]
            given.append(f"patch={rows!r}")
        if self.error is not None:
            return f"call({', '.join(given)}) is refused: {self.error.code!r}, rule {self.error.rule!r}"
        return f"call({', '.join(given)}) == { ({'ok': True, 'value': self.value})!r}"


def examples_of(tools: Sequence[Tool], cases: Sequence[ServerCase], observed: Sequence[Observed]) -> list[CallExample]:
    """Choose one success of each tool and one refusal of each kind.

    If there are several, prefer one with a result that is not empty, few changed rows and a short answer.

    Args:
        tools: The tools, in the order of the examples.
        cases: The cases; those of one call are considered.
        observed: What the contract answered to each case.
    """
    best: dict[tuple[str, str], tuple[tuple[bool, bool, int, int], CallExample]] = {}
    for case, seen in zip(cases, observed, strict=True):
        if len(case.calls) != 1 or not isinstance(answer := seen.answers[0], dict):
            continue
        example = _example(case, answer)
        kind = f"{example.error.code} {example.error.rule}" if example.error else ""
        length = len(str(answer))
        size = length > LARGEST, example.value == [], len(case.patch), length
        known = best.get((example.tool, kind))
        if (length <= LARGEST or not kind) and (known is None or size < known[0]):
            best[example.tool, kind] = size, example
    order = {tool.name: place for place, tool in enumerate(tools)}
    chosen = [(key, example) for key, (_, example) in best.items() if key[0] in order and _is_worth_testing(example)]
    return [example for _, example in sorted(chosen, key=lambda entry: (order[entry[0][0]], entry[0][1]))]


def _example(case: ServerCase, answer: dict[str, Json]) -> CallExample:
    call = case.calls[0]
    error = answer.get("error")
    return CallExample(
        tool=call.tool,
        caller=case.caller,
        arguments={name: value for name, value in call.arguments.items() if value is not None},
        patch=list(case.patch),
        value=answer.get("value"),
        error=ToolError.model_validate(error) if error is not None else None,
    )


def _is_worth_testing(example: CallExample) -> bool:
    """Whether an author should test it: a success, or a refusal by a rule."""
    return example.error is None or example.error.rule is not None


PASSED = re.compile(r"^(\d+) passed\b.* in [\d.]+s.*\s*\Z", re.MULTILINE)
"""pytest's last line. The exit status is no proof: code that ends the process can set it to 0."""
TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)
FAILED = re.compile(r"^_{3,} (.+?) _{3,}\n(.*?)(?=^_{3,} |^={3,} |\Z)", re.MULTILINE | re.DOTALL)
"""A test that fails, with pytest's report on it."""
MOST = 12
"""Most failing tests to report; pytest stops after them."""
LINES = 12
"""Lines of pytest's report on one test."""
COMMAND = ("-m", "pytest", "-q", f"--maxfail={MOST}", "--tb=short", "-o", "verbosity_assertions=2")


def failures(server: str, source: str, tests: str, database: bytes, limits: SandboxLimits | None = None) -> list[str]:
    """Run a server's tests in the sandbox.

    Args:
        server: The server's name.
        source: Its Python source.
        tests: The source of its tests.
        database: The world's SQLite file.
        limits: The limits of the sandbox; None for its defaults.

    Returns:
        The failures, in words; empty if all tests pass.
    """
    files: dict[str, str | bytes] = {f"mcp_servers/{name}": text for name, text in runtime_files().items()}
    files[f"mcp_servers/{server}.py"] = source
    files[f"mcp_servers/tests/test_{server}.py"] = tests
    files[f"database/{server}.sqlite"] = database
    command = [*COMMAND, "-p", "no:cacheprovider", "--disable-plugin-autoload", "mcp_servers/tests"]
    outcome = run(files, command, limits=limits, packages=True)
    passed = PASSED.search(outcome.stdout)
    if outcome.ok and passed and int(passed[1]) >= len(set(TEST.findall(tests))):
        return []
    why = outcome.reason or "pytest did not report that all of them passed"
    reports = [f"{name}:\n{_report(text)}" for name, text in FAILED.findall(outcome.stdout)]
    if reports:
        return [f"these tests do not pass on the right server:\n{reports[0]}", *reports[1:]]
    last = (outcome.stdout + outcome.stderr).strip().splitlines()[-LINES:]
    return ["\n".join([f"the tests do not pass: {why}", *last])]


def _report(text: str) -> str:
    """The lines that failed and pytest's explanation, without the code around them."""
    lines = [line for line in text.splitlines() if line.startswith(("E ", "    "))]
    return "\n".join(lines[:LINES])


PER_PARAMETER_BRIEF = 2
"""Odd values to try at each parameter in a fused world, and in a brief search."""


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
    """All cases of a world, and the guards and tools that they do not reach."""

    cases: tuple[ServerCase, ...]
    tools_unmet: tuple[str, ...]
    """Tools that no case makes succeed."""
    guards_unmet: tuple[str, ...]
    """`tool rule`: guards that no case breaks first; of the agent's, those that no successful call breaks."""
    guards: int
    """Number of guards."""


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
    # Other proofs cover each domain of a fused world; only the interplay of the domains is new.
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
