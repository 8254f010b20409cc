"""Gate: the outcome sees every argument of a write.

An argument is free if another lawful value leads to the same end state: then no check could tell the values apart. Two
writes of one tool may come in either order: the same writes in another order do not count as another value.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json, Value
from skillweave.world.canonical import dump
from skillweave.world.replay import result_reference
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.writes import columns_filled_by
from synth.gates.gate import Gate
from synth.search.arguments import argument_search
from synth.tasks.replay import GoldenRun, Rejected, make_calls, open_session, scalar, successful_run

OTHERS = 3
"""Other values to try for each argument."""


GATE = Gate(
    name="observable",
    proves="The outcome sees every argument of a write.",
    runs="The golden calls with other lawful values of each argument; the same end state rejects the task.",
    figures={
        "grounded.varied": "`arguments` varied, and the other values tried for them",
    },
    reasons=(
        "unobservable argument",
        "free argument",
    ),
    check=lambda judged: {"grounded": {"varied": check_observable(judged.world, judged.combination, judged.criteria)}},
)


def check_observable(world: World, combination: Combination, criteria: Criteria) -> dict[str, Json]:
    """The figure: how many arguments the gate varied, and how many other values it tried."""
    arguments = tried = 0
    for place, call in enumerate(combination.golden):
        tool = tool_of(world.blueprint, call.tool)
        # What the user thinks better of leaves no trace where the second wish takes its place.
        if tool.kind != "write" or place in combination.replaced:
            continue
        for name in call.arguments:
            if tool.parameter(name).observable is False:
                raise Rejected("unobservable argument", f"{tool.name}.{name}")
            if result_reference(call.grounding[name]) and tool.parameter(name).refers_to is None:
                continue
            if _fills_only_free(world, tool, name):
                continue
            arguments += 1
            for value in _others(world, combination, place, name):
                tried += 1
                run = successful_run(world, combination, instead={(place, name): value})
                if run is None or _same_writes(world, combination, run):
                    continue
                if check_state(criteria, run.changes, world.comparison).score == 1:
                    raise Rejected("free argument", f"{tool.name}.{name} may as well be {value!r}")
    return {"arguments": arguments, "others_tried": tried}


def _same_writes(world: World, combination: Combination, run: GoldenRun) -> bool:
    """Whether the run made exactly the golden writes: a later argument that is read again may undo the replacement."""
    writes = {tool.name for tool in world.blueprint.tools if tool.kind == "write"}
    made_now = [(result.call.tool, dump(result.call.arguments)) for result in run.results]
    golden = [(call.tool, dump(call.arguments)) for call in combination.golden]
    now, before = (sorted(call for call in calls if call[0] in writes) for calls in (made_now, golden))
    return now == before


def _others(world: World, combination: Combination, place: int, name: str) -> Iterator[Value]:
    """Other values of an argument with which its call succeeds at its position."""
    call = combination.golden[place]
    tool = world.blueprint.tool(call.tool)
    with open_session(world, combination) as session:
        results = make_calls(session, combination.golden[:place])
        del results
        fixed = {other: scalar(value) for other, value in call.arguments.items() if other != name}
        fixed |= {p.name: None for p in tool.parameters if p.name not in call.arguments}
        random = Random(f"{combination.id}/{place}/{name}")
        search = argument_search(session, tool, random, fixed, nodes=40)
        values = (arguments.get(name) for arguments in search.meeting())
        yield from islice((value for value in values if value is not None and value != call.arguments[name]), OTHERS)


def _fills_only_free(world: World, tool: Tool, name: str) -> bool:
    filled = columns_filled_by(tool, name)
    return filled is not None and all(
        world.comparison(table, column) == "free" for table, columns in filled.items() for column in columns
    )
