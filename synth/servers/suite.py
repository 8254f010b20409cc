"""The differential suite of a server: all cases, the contract's answers, and the guards that no case covers.

It is prepared once for a world and runs against every version of the server. Of a tool that a fused world's server has
carried over from a domain's proven server, the cases of each guard are not searched again: the calls on which that
proof stands are made in the fused world. All functions take and return plain values, because they run in another
process.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from skillweave.sandbox.folder import SandboxLimits
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import KeyCall, RowChange, Tool, ToolError
from skillweave.schema.fusion import BridgeProof
from skillweave.schema.record import Json, Record
from skillweave.world.world import World
from synth.servers.boundaries import BoundaryCases, BoundarySearch
from synth.servers.candidates import CandidateRunner
from synth.servers.cases import CandidateCall, Observed, ServerCase, row_edits
from synth.servers.differential import ExpectedAnswers, ServerDifference, differences, run_contract
from synth.servers.fuzzing import (
    PER_PARAMETER,
    bridge_calls,
    bridge_cases,
    fused_cases,
    odd_cases,
    random_sessions,
)

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
    carried: int
    """Tools whose functions are those of the domains' servers."""
    rounds: int
    """Repairs that the author needed."""
    tests: int
    """Tests that the author wrote; all pass."""


@dataclass(frozen=True)
class CarriedTools:
    """What of a fused world's server is carried over from the proven servers of its domains."""

    tools: frozenset[str] = frozenset()
    """Tools whose functions are carried over as they are."""
    calls: Mapping[str, list[KeyCall]] = field(default_factory=dict)
    """Domain's server -> the calls on which its proof stands."""


NOT_CARRIED = CarriedTools()


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
    key_calls: tuple[KeyCall, ...]


@dataclass(frozen=True)
class DifferentialSuite:
    """The cases of a world with the contract's answers, ready to be run against a server."""

    expected: ExpectedAnswers
    cases: int
    calls: int
    examples: tuple[CallExample, ...]
    """Calls from which the author writes the server's own tests."""
    guards: int
    guards_unmet: tuple[str, ...]
    tools_unmet: tuple[str, ...]
    key_calls: tuple[KeyCall, ...]
    """For each tool a success, and a breach of each of its rules, where there is one."""
    carried: frozenset[str]
    """Tools whose functions are proven in another world."""

    def report(self, rounds: int, tests: int) -> ServerReport:
        """The record of a server that has passed, after so many repairs and with so many tests of the author."""
        return ServerReport(
            cases=self.cases,
            calls=self.calls,
            guards=self.guards,
            guards_unmet=list(self.guards_unmet),
            tools_unmet=list(self.tools_unmet),
            carried=len(self.carried),
            rounds=rounds,
            tests=tests,
        )


def prepare_suite(
    blueprint: Blueprint,
    database: bytes,
    now: str,
    seed: str,
    bridges: Sequence[BridgeProof] = (),
    carried: CarriedTools = NOT_CARRIED,
) -> DifferentialSuite:
    """Make the cases of a world and run them on its contract.

    Args:
        blueprint: The contract.
        database: The world's SQLite file.
        now: The clock, `YYYY-MM-DD HH:MM:SS`.
        seed: Where the random choices of the search come from.
        bridges: Proofs of the bridge rules of a fused world.
        carried: What of its server is carried over.
    """
    world = World(blueprint, database, now=now)
    found = make_cases(world, seed, bridges, carried)
    expected = run_contract(world, found.cases)
    world.close()
    examples = tuple(examples_of(blueprint.tools, expected.cases, expected.observed))
    cases, calls = len(expected.cases), sum(len(case.calls) for case in expected.cases)
    unmet = found.guards_unmet, found.tools_unmet
    return DifferentialSuite(expected, cases, calls, examples, found.guards, *unmet, found.key_calls, carried.tools)


def run_suite(suite: DifferentialSuite, source: str, limits: SandboxLimits | None = None) -> list[ServerDifference]:
    """Run a server in the sandbox. Returns where it differs from its contract, one entry for each cause."""
    return differences(suite.expected, source, limits=limits)


def make_cases(
    world: World,
    seed: str,
    bridges: Sequence[BridgeProof] = (),
    carried: CarriedTools = NOT_CARRIED,
    *,
    is_brief: bool = False,
) -> CaseSet:
    """Make the cases of a world.

    Args:
        world: The world.
        seed: Where the random choices of the search come from.
        bridges: Proofs of the bridge rules of a fused world; each becomes a case that meets the rule and one that
            breaks it.
        carried: What of the server of a fused world is carried over.
        is_brief: Search only one call that breaks each rule, instead of the boundary of each rule.
    """
    blueprint = world.blueprint
    fused = blueprint if isinstance(blueprint, FusedBlueprint) else None
    searched = _boundaries(world, seed, bridges, carried, is_brief)
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
    key_calls = [call for tool in blueprint.tools for call in _key_calls(world, tool, searched[tool.name])]
    shown = {(call.tool, call.rule) for call in key_calls} | {(proof.broken["tool"], proof.rule) for proof in bridges}
    guards = [(tool.name, guard.rule) for tool in blueprint.tools for guard in tool.guards]
    return CaseSet(
        cases=tuple({repr((case.caller, case.calls, case.patch)): case for case in cases}.values()),
        tools_unmet=tuple(tool.name for tool in blueprint.tools if tool.name not in successes),
        guards_unmet=tuple(" ".join(guard) for guard in guards if guard not in shown),
        guards=len(guards),
        key_calls=tuple(key_calls),
    )


def _boundaries(
    world: World, seed: str, bridges: Sequence[BridgeProof], carried: CarriedTools, is_brief: bool
) -> dict[str, BoundaryCases]:
    """The boundary cases of each tool, by its name."""
    runner = CandidateRunner(world)
    bases = bridge_calls(world, bridges)
    try:
        return {
            tool.name: _carried_boundaries(runner, tool, seed, carried, bases.get(tool.name, []))
            if isinstance(tool, FusedTool) and tool.name in carried.tools
            else BoundarySearch(runner, tool, seed, {guard.rule for guard in tool.guards} if is_brief else ()).run()
            for tool in world.blueprint.tools
        }
    finally:
        runner.close()


def _carried_boundaries(
    runner: CandidateRunner, tool: FusedTool, seed: str, carried: CarriedTools, bases: Sequence[CandidateCall]
) -> BoundaryCases:
    """A tool's key calls in its domain, made here, and the boundaries of bridge rules around the calls of their proofs.

    What key calls fail to show is searched.
    """
    fused, rules = runner.world.blueprint, {guard.rule for guard in tool.guards}
    assert isinstance(fused, FusedBlueprint)
    member = fused.member(tool.server)
    calls = [call for call in carried.calls[tool.server] if call.tool == tool.origin]
    candidates = [_fused_candidate(runner.world, tool, member, call) for call in calls]
    search = BoundarySearch(runner, tool, seed, rules)
    search.take([*(candidate for candidate in candidates if candidate is not None), *bases])
    result = search.around(bases, rules & fused.bridge_rules)
    wanted = {call.rule and member.rules[call.rule] for call in calls}
    # Where a bridge rule forbids a key call, another call shows its rule.
    for base in [result.success] if result.success else []:
        result = search.around([base], rules & wanted - _shown(runner.world, tool, result))
    return result if _shown(runner.world, tool, result) >= wanted else search.run()


def _shown(world: World, tool: Tool, result: BoundaryCases) -> set[str | None]:
    """The rules that a call breaks, and None if one breaks none."""
    return {call.rule for call in _key_calls(world, tool, result)}


def _fused_candidate(world: World, tool: FusedTool, member: FusedMember, call: KeyCall) -> CandidateCall | None:
    """A domain's key call in a fused world; None if its person or its row changes are not possible there."""
    caller = None if call.caller is None else world.person_of(member.account, call.caller)
    if caller is None and call.caller is not None:
        return None
    changes = [fused for change in call.patch for fused in _fused_changes(world, member, change)]
    if any(change.table == member.person and change.op != "update" for change in changes):
        return None
    arguments = tuple((parameter.name, call.arguments.get(parameter.name)) for parameter in tool.parameters)
    return CandidateCall(tool, caller, arguments, row_edits(changes))


def _fused_changes(world: World, member: FusedMember, change: RowChange) -> Iterator[RowChange]:
    """A change of one of a domain's rows, in the tables of the fused world: a person's row is in two."""
    entity = world.entity(member.tables[change.table])
    own = {attribute.name for attribute in entity.attributes}
    cells = change.after or {}
    yield change.model_copy(
        update={"table": entity.table, "after": {name: cell for name, cell in cells.items() if name in own}}
    )
    shared = {name: cell for name, cell in cells.items() if name not in own}
    if shared:
        person = world.person_of(member.account, str(change.key[entity.key]))
        key: dict[str, Json] = {world.people.key: person}
        yield change.model_copy(update={"table": world.people.table, "key": key, "after": shared})


def _key_calls(world: World, tool: Tool, result: BoundaryCases) -> Iterator[KeyCall]:
    """A success of the tool, and a breach of each of its rules."""
    own = [guard.rule for guard in tool.guards if guard.enforced_by == "tool"]
    agent = [guard.rule for guard in tool.guards if guard.enforced_by == "agent"]
    found: list[tuple[str | None, CandidateCall]] = [(None, result.success)] if result.success else []
    found += [(own[place], call) for place, call in sorted(result.breaking.items())]
    found += [(agent[place], call) for place, call in sorted(result.breaking_agent.items())]
    for rule, call in found:
        patch = list(call.as_case("", world).patch)
        yield KeyCall(tool=tool.name, rule=rule, caller=call.caller, arguments=call.given(), patch=patch)
