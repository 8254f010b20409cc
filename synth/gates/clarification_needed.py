"""Gate: the outcome depends on the argument that the request leaves out, so the agent has to ask for it.

The gate tries other values for that argument: another row that the caller can see, another day, another choice. If the
golden calls take more from the row, those values change with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Parameter
from skillweave.schema.criteria import Criteria, GoldenCall
from skillweave.schema.record import Json, Value
from skillweave.schema.template import OmittedSlot
from skillweave.world.canonical import dump
from skillweave.world.replay import ResultReference, result_reference
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.contracts.visibility import keys_shown
from synth.gates.gate import Gate
from synth.search.arguments import argument_search
from synth.tasks.criteria import KnownValue, criteria_of, known_from_reads, said_by_user
from synth.tasks.kinds import KINDS
from synth.tasks.replay import (
    GoldenRun,
    Rejected,
    ReplacedArguments,
    all_shown_rows,
    make_calls,
    open_session,
    run_golden,
    scalar,
)

OTHERS = 4
"""Other readings to count; there may be more."""
TRIED = 40
"""Other values to try."""


GATE = Gate(
    name="clarification_needed",
    proves="Without what the user leaves out the request has several lawful outcomes; with it, one.",
    runs="The golden calls with other values for it; each lawful run with another end state is a reading.",
    figures={
        "grounded.withheld": (
            "each argument that the request leaves out, with the readings without it; `clarify` tasks only"
        ),
    },
    reasons=("nothing to ask for",),
    check=lambda judged: {"grounded": check_clarification(judged.world, judged.combination, judged.criteria)},
)


def check_clarification(
    world: World, combination: Combination, criteria: Criteria, said: Sequence[KnownValue] | None = None
) -> dict[str, Json]:
    """The figure of a `clarify` task, empty for others: the readings of its request, including the golden one.

    Args:
        said: All that the user says; None takes it from the combination.

    Raises:
        Rejected: The agent need not ask for what the request leaves out.
    """
    if not KINDS[combination.kind].withholds:
        return {}
    if not combination.withheld:
        raise Rejected("nothing to ask for", "nothing is left out")
    figures: list[Json] = []
    for left_out in combination.withheld:
        call = combination.golden[left_out.call]
        words = said_by_user(combination) if said is None else said
        others = [*islice(readings(world, combination, criteria, left_out, words), OTHERS)]
        if not others:
            raise Rejected("nothing to ask for", f"only one {left_out.parameter} of {call.tool} will do")
        figures.append({"call": left_out.call, "parameter": left_out.parameter, "readings": 1 + len(others)})
    return {"withheld": figures}


def no_clarification_reason(world: World, combination: Combination) -> str | None:
    """Why the agent need not ask for what a combination leaves out; None if the agent has to ask."""
    run = run_golden(world, combination)
    if not run.succeeded:
        return "golden call fails"
    try:
        check_clarification(world, combination, criteria_of(world, combination, run))
    except Rejected as rejected:
        return rejected.reason
    return None


def readings(
    world: World, combination: Combination, criteria: Criteria, left_out: OmittedSlot, said: Sequence[KnownValue]
) -> Iterator[ReplacedArguments]:
    """Other lawful readings of a request that leaves an argument out; no two lead to the same end state."""
    ends: set[str] = set()
    for value in islice(_others(world, combination, left_out, said), TRIED):
        reading = _meant(world, combination, left_out, value)
        run = run_golden(world, combination, instead=reading) if reading else None
        if run is None or not _is_carried_out(world, combination, run):
            continue
        end = dump([change.model_dump(mode="json") for change in run.changes])
        if end not in ends and check_state(criteria, run.changes, world.comparison).score != 1:
            ends.add(end)
            yield reading


def _others(
    world: World, combination: Combination, left_out: OmittedSlot, said: Sequence[KnownValue]
) -> Iterator[Value]:
    """Other values with which the call is lawful at its position; of rows, only those that the caller can see."""
    call = combination.golden[left_out.call]
    tool = world.blueprint.tool(call.tool)
    parameter = tool.parameter(left_out.parameter)
    row = _row_of(combination, left_out)
    open_too = {name for name, source in call.grounding.items() if row and _place(source) == row}
    fixed: dict[str, Value] = {
        other.name: scalar(call.arguments.get(other.name))
        for other in tool.parameters
        if other.name not in open_too | {parameter.name}
    }
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[: left_out.call])
        random = Random(f"{combination.id}/{left_out.call}/{parameter.name}/withheld")
        search = argument_search(session, tool, random, fixed, nodes=100)
        candidates = dict.fromkeys(arguments.get(parameter.name) for arguments in islice(search.meeting(), TRIED * 4))
        others = [value for value in candidates if value not in (None, call.arguments[parameter.name])]
        if others and parameter.refers_to:
            source = result_reference(call.grounding.get(parameter.name, ""))
            lookup = combination.golden[source.call] if source else None
            shown = _shown(session, combination, parameter.refers_to.partition(".")[0], lookup, said)
            others = [value for value in others if value in shown]
    yield from others


def _shown(
    session: ContractSession,
    combination: Combination,
    entity: str,
    lookup: GoldenCall | None,
    said: Sequence[KnownValue],
) -> set[Json]:
    """Keys of rows that reads show the caller: a user can only mean one of these, and an agent can only offer these."""
    world = session.world
    reads = [tool for tool in world.blueprint.tools if tool.kind == "read"]
    names = {name for tool in reads for name in keys_shown(world.blueprint, tool).get(entity, ())}
    keys = {known.value for known in known_from_reads(session, reads, said) if known.name in names}
    for row in all_shown_rows(world, session, combination, lookup) if lookup else ():
        keys |= {value for name, value in row.items() if name in names and isinstance(value, str)}
    return keys


def _meant(world: World, combination: Combination, left_out: OmittedSlot, value: Value) -> ReplacedArguments:
    """The arguments if the user means that value; empty if no read shows the row's other values that the calls need."""
    golden = combination.golden
    parameter = world.blueprint.tool(golden[left_out.call].tool).parameter(left_out.parameter)
    if not parameter.refers_to:
        return {(left_out.call, parameter.name): value}
    key = golden[left_out.call].arguments[parameter.name]
    reading: ReplacedArguments = {
        (place, name): value
        for place, call in enumerate(golden)
        for name, argument in call.arguments.items()
        if argument == key and world.blueprint.tool(call.tool).parameter(name).refers_to == parameter.refers_to
    }
    try:
        return reading | _beside(world, combination, parameter, value, reading)
    except LookupError:
        return {}


def _beside(
    world: World, combination: Combination, parameter: Parameter, key: Value, named: ReplacedArguments
) -> ReplacedArguments:
    """The other values that the golden calls take from a row, from the row with this key. LookupError if not shown."""
    golden = combination.golden
    rows = {_place(golden[place].grounding.get(name, "")) for place, name in named} - {None}
    beside: ReplacedArguments = {}
    for place, call in enumerate(golden):
        for name, grounding in call.grounding.items():
            source = result_reference(grounding)
            if source is None or (place, name) in named or _place(grounding) not in rows:
                continue
            value = _seen(world, combination, source, parameter, key)[source.path.rpartition(".")[2]]
            beside[place, name] = str(value)[:10] if source.as_date else value
    return beside


def _seen(
    world: World, combination: Combination, source: ResultReference, parameter: Parameter, key: Value
) -> Mapping[str, Json]:
    """Another row, as the read of a golden call shows it. LookupError if it does not show that row."""
    call = combination.golden[source.call]
    entity = (parameter.refers_to or "").partition(".")[0]
    names = keys_shown(world.blueprint, world.blueprint.tool(call.tool)).get(entity, set())
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[: source.call])
        shown = all_shown_rows(world, session, combination, call)
        matching = next((row for row in shown if any(row.get(name) == key for name in names)), None)
    if matching is None:
        raise LookupError(key)
    return matching


def _row_of(combination: Combination, left_out: OmittedSlot) -> tuple[int, str] | None:
    return _place(combination.golden[left_out.call].grounding.get(left_out.parameter, ""))


def _place(grounding: str) -> tuple[int, str] | None:
    """The row that a source refers to: its call, and its path without the column."""
    source = result_reference(grounding)
    row = source.path.rpartition(".")[0] if source else ""
    return (source.call, row) if source and row else None


def _is_carried_out(world: World, combination: Combination, run: GoldenRun) -> bool:
    """Whether every write succeeded lawfully. A read may return nothing."""
    kinds = [world.blueprint.tool(call.tool).kind for call in combination.golden]
    needed = (result.ok for place, result in enumerate(run.results) if kinds[place] != "read")
    return run.lawful and all(needed)
