"""Gate: an agent may give any lawful value for an optional argument on which the user has no preference.

The value may change only columns that the criteria leave open. Later calls have to succeed, and the facts to tell have
to stay the same: otherwise the task would fail an agent that is right.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

from evaluator.checks.state import check_state
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Parameter, ParameterType, Tool
from skillweave.schema.criteria import Criteria, GoldenCall
from skillweave.schema.record import Json, Value
from skillweave.schema.template import TaskTemplate
from skillweave.world.tools import tool_of
from skillweave.world.world import World
from synth.contracts.writes import columns_filled_by
from synth.gates.answers import told_values
from synth.gates.gate import Gate
from synth.search.arguments import argument_search
from synth.tasks.replay import GoldenRun, Rejected, make_calls, open_session, run_golden

OTHERS = 3
"""Values to try for each argument."""
_ANY_VALUE: dict[ParameterType, Value] = {"string": "as you like", "integer": 1, "number": 1.0, "boolean": True}


GATE = Gate(
    name="optional_arguments",
    proves="Optional arguments that the user leaves open do not matter.",
    runs="Each of them with lawful values: later calls succeed, and the end state and the facts told are the same.",
    figures={
        "equivalents.open_arguments": "optional arguments that the user leaves open",
        "equivalents.filled": "values tried for them",
    },
    reasons=(
        "open argument matters",
        "said argument not compared",
    ),
    check=lambda judged: {
        "equivalents": check_optional_arguments(
            judged.world, judged.combination, judged.template, judged.criteria, judged.golden
        )
    },
)


def check_optional_arguments(
    world: World, combination: Combination, template: TaskTemplate, criteria: Criteria, run: GoldenRun
) -> dict[str, Json]:
    """The figures: how many optional arguments the gate filled, and with how many values."""
    _check_unsaid(world, combination)
    arguments = tried = 0
    for place, call in enumerate(combination.golden):
        for parameter in open_parameters(tool_of(world.blueprint, call.tool), place, call, combination):
            arguments += 1
            for value in lawful_values(world, combination, place, parameter):
                other = run_golden(world, combination, instead={(place, parameter.name): value})
                if not other.results[place].ok or other.results[place].violations:
                    continue
                tried += 1
                fault = _fault(world, combination, template, criteria, run, other)
                if fault:
                    raise Rejected("open argument matters", f"{call.tool}.{parameter.name} = {value!r}: {fault}")
    return {"open_arguments": arguments, "filled": tried}


def _check_unsaid(world: World, combination: Combination) -> None:
    """Check that the criteria compare every column that a golden argument fills."""
    for call in combination.golden:
        for name in call.arguments:
            for table, columns in (columns_filled_by(tool_of(world.blueprint, call.tool), name) or {}).items():
                if {*columns} & {*combination.open_columns.get(table, [])}:
                    raise Rejected("said argument not compared", f"{call.tool}.{name}")


def open_parameters(tool: Tool, place: int, call: GoldenCall, combination: Combination) -> list[Parameter]:
    """Optional parameters that a golden write leaves out, except those that the user asks to leave out."""
    unwanted = {known.parameter for known in combination.values if known.call == place and known.value is None}
    return [
        parameter
        for parameter in tool.parameters
        if tool.kind == "write"
        and parameter.name not in call.arguments
        and parameter.name not in unwanted
        and columns_filled_by(tool, parameter.name)
    ]


def lawful_values(world: World, combination: Combination, place: int, parameter: Parameter) -> Iterator[Value]:
    """Values with which the call is lawful at its position; any value if nothing is compared with the parameter."""
    call = combination.golden[place]
    tool = world.blueprint.tool(call.tool)
    fixed: dict[str, Value] = {p.name: None for p in tool.parameters if p.name != parameter.name}
    fixed |= {name: value for name, value in call.arguments.items() if not isinstance(value, (list, dict))}
    with open_session(world, combination) as session:
        make_calls(session, combination.golden[:place])
        random = Random(f"{combination.id}/{place}/{parameter.name}")
        search = argument_search(session, tool, random, fixed, optional=1.0, nodes=40)
        values = [a[parameter.name] for a in islice(search.meeting(), OTHERS + 1) if parameter.name in a]
    if not values and parameter.enum is None:
        values = [value for value in [_ANY_VALUE.get(parameter.type)] if value is not None]
    yield from values[:OTHERS]


def _fault(
    world: World,
    combination: Combination,
    template: TaskTemplate,
    criteria: Criteria,
    run: GoldenRun,
    other: GoldenRun,
) -> str | None:
    if not other.succeeded or not other.lawful:
        return "a later call does not go through"
    if check_state(criteria, other.changes, world.comparison).score != 1:
        return "the end state is another one"
    values = [told_values(template, combination, each.results) for each in (run, other)]
    return None if values[0] == values[1] else "what is told is something else"
