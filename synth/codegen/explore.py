"""Sessions that a model might lead: several calls of one person, later ones with what earlier ones returned."""

from collections.abc import Mapping
from random import Random

from skillweave.schema.call import Call
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.world.world import World
from synth.codegen.case import Case

SESSIONS = 30
CALLS = 10
PLAIN: Mapping[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def sessions(world: World, successes: Mapping[str, dict[str, Json]], seed: str) -> list[Case]:
    """Seeded sessions; `successes` are arguments with which a tool has succeeded for someone."""
    core = world.blueprint.core
    with world.session() as opened:
        people = [str(row[core.key]) for row in opened.rows(core.table)]
    if not people:
        return []
    return [
        _session(world, successes, people, Random(f"{seed}/session {number}"), number) for number in range(SESSIONS)
    ]


def _session(
    world: World, successes: Mapping[str, dict[str, Json]], people: list[str], random: Random, number: int
) -> Case:
    caller = random.choice(people)
    tools = [tool for tool in world.blueprint.tools if tool.kind != "auth"]
    known: dict[str, list[Json]] = {}
    calls: list[Call] = []
    with world.session(caller=caller) as session:
        for _ in range(CALLS):
            tool = random.choice(tools)
            arguments = {
                parameter.name: _value(parameter, tool, known, successes, random)
                for parameter in tool.parameters
                if parameter.required or random.random() < 0.4
            }
            calls.append(Call(tool=tool.name, arguments=arguments))
            _learn(known, session.call(tool.name, arguments).value)
    return Case(f"session {number} of {CALLS} calls", tuple(calls), caller=caller)


def _value(
    parameter: Parameter,
    tool: Tool,
    known: Mapping[str, list[Json]],
    successes: Mapping[str, dict[str, Json]],
    random: Random,
) -> Json:
    column = (parameter.refers_to or "").partition(".")[2]
    returned = known.get(parameter.name) or known.get(column)
    if returned and random.random() < 0.8:
        return random.choice(returned)
    if parameter.enum:
        return random.choice(parameter.enum)
    return successes.get(tool.name, {}).get(parameter.name, PLAIN.get(parameter.type, "x"))


def _learn(known: dict[str, list[Json]], value: Json) -> None:
    """Remember what a result holds, by column."""
    for row in value if isinstance(value, list) else [value]:
        if isinstance(row, dict):
            for name, cell in row.items():
                if cell is not None and cell not in known.setdefault(name, []):
                    known[name].append(cell)
