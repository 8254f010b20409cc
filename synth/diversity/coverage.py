"""Coverage: what of the contracts golden calls reach. A tool, rule or value that no task needs is named."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.diversity import Covered, Reach
from skillweave.schema.task import Task


def coverage_of(blueprint: Blueprint, tasks: Sequence[Task]) -> Reach:
    """What the tasks of a world reach of its contract."""
    tools = {tool.name: tool for tool in blueprint.tools}
    rows = [[call.tool for call in task.golden if call.tool in tools] for task in tasks]
    calls = [call for task in tasks for call in (*task.golden, *([task.criteria.asked] if task.criteria.asked else []))]
    made = {name for row in rows for name in row}
    forbidden = {ban.rule for task in tasks for ban in task.criteria.must_not}
    rules = {guard.rule for tool in tools.values() for guard in tool.guards}
    enums = {
        (tool.name, parameter.name): parameter.enum
        for tool in tools.values()
        for parameter in tool.parameters
        if parameter.enum
    }
    given = {
        f"{call.tool}.{name}={value}"
        for call in calls
        for name, value in call.arguments.items()
        if isinstance(value, str) and value in enums.get((call.tool, name), [])
    }
    pairs = {pair for row in rows for pair in pairwise(row)}
    return Reach(
        tools=_covered(tools, {call.tool for call in calls}),
        rules=_covered(rules, {guard.rule for name in made for guard in tools[name].guards} | forbidden),
        effects=_covered(
            {effect.rule for tool in tools.values() for effect in tool.effects},
            {effect.rule for name in made for effect in tools[name].effects},
        ),
        pairs=Covered(reached=len(pairs), all=len(tools) ** 2),
        values=_covered({f"{tool}.{name}={value}" for (tool, name), enum in enums.items() for value in enum}, given),
    )


def together(found: Iterable[Reach]) -> Reach:
    """The coverage of several worlds, as sums; what is missing is told by each of them."""
    every = list(found)
    return Reach(
        tools=_sum(one.tools for one in every),
        rules=_sum(one.rules for one in every),
        effects=_sum(one.effects for one in every),
        pairs=_sum(one.pairs for one in every),
        values=_sum(one.values for one in every),
    )


def _covered(there: Iterable[str], reached: set[str]) -> Covered:
    names = set(there)
    return Covered(reached=len(names & reached), all=len(names), missing=sorted(names - reached))


def _sum(parts: Iterable[Covered]) -> Covered:
    every = list(parts)
    return Covered(reached=sum(one.reached for one in every), all=sum(one.all for one in every))
