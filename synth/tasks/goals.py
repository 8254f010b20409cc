"""Goals: how each becomes a task template, what is wrong with its form, and whether anybody can have what it wants.

Goals are tried on the data by building an instance, as is done later, with the same seed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, TaskTemplate, TemplateCall, ToolGraph
from skillweave.world.world import World
from synth.artifacts import DATABASE
from synth.contracts.visibility import column_origins
from synth.contracts.writes import lookup_sources, row_sources
from synth.engine.context import Context
from synth.engine.step import Params
from synth.search.arguments import argument_search
from synth.search.blocking_rules import MOST_NODES, MOST_PERSONS, furthest_blocking_rule
from synth.simulation.coverage import RowVisibility
from synth.tasks.builder import InstanceBuilder
from synth.tasks.combinations import callers_of, combinations_of
from synth.tasks.kinds import KINDS, FailurePoint, NoInstance

WORTH_TELLING = "name amounts, dates or names that differ from row to row"
CALLS_PER_PERSON = 4
"""Lawful calls of one person that are looked at to find one whose rows they can see."""


P = TypeVar("P", bound=Params)


class GoalTrials(Generic[P]):
    """Judges the goals of one world by their form and by whether anybody can have what they want.

    Each template is tried once, however often the author repeats its goal.
    """

    def __init__(
        self, ctx: Context[P], blueprint: Blueprint, graph: ToolGraph, referred_by: Mapping[str, Sequence[str]]
    ) -> None:
        self.blueprint, self.graph, self.referred_by = blueprint, graph, referred_by
        self.columns = {tool.name: list(column_origins(tool)) for tool in blueprint.tools}
        self.failed: dict[str, Goal] = {}
        """Goals that nobody can have, by name."""
        self.why: dict[str, str] = {}
        """Why nobody can have them, by name."""
        self._ctx = ctx
        self._reasons: dict[str, str | None] = {}
        """Template as text -> why nobody has an instance; None: somebody has."""

    def template(self, goal: Goal) -> TaskTemplate:
        """The template of a goal."""
        return template_of_goal(goal, self.blueprint, self.graph, self.referred_by)

    async def faults(self, goals: Sequence[Goal]) -> list[list[str]]:
        """What is wrong with each goal, in words for its author; empty if nothing is."""
        form_faults = goal_faults(goals, self.blueprint, self.graph, self.columns)
        well_formed = [goal for goal, faults in zip(goals, form_faults, strict=True) if not faults]
        await self._try([self.template(goal) for goal in well_formed])
        reasons = {goal.name: self._reasons[self.template(goal).model_dump_json()] for goal in well_formed}
        self.failed |= {goal.name: goal for goal in well_formed if reasons[goal.name]}
        self.why |= {name: reason for name, reason in reasons.items() if reason}
        return [
            [f"goal {goal.name!r}: {reason}"] if (reason := reasons.get(goal.name)) else faults
            for goal, faults in zip(goals, form_faults, strict=True)
        ]

    async def _try(self, templates: Sequence[TaskTemplate]) -> None:
        ctx = self._ctx
        new = {template.id: template for template in templates if template.model_dump_json() not in self._reasons}
        if new:
            reasons = await ctx.offload(
                infeasible_templates,
                self.blueprint,
                ctx.path(DATABASE),
                ctx.now,
                [*new.values()],
                f"{ctx.seed}/combinations",
            )
            self._reasons |= {template.model_dump_json(): reasons.get(template.id) for template in new.values()}


def unwanted_writes(goals: Sequence[Goal], blueprint: Blueprint) -> list[Tool]:
    """The writes of a blueprint that no goal needs."""
    wanted = {call.tool for goal in goals for call in goal.calls}
    return [tool for tool in blueprint.tools if tool.kind == "write" and tool.name not in wanted]


def persons_able(blueprint: Blueprint, database: Path | bytes, now: str) -> tuple[dict[str, int], int]:
    """How many persons can make each write as things stand, on rows that reads show them.

    Returns:
        Write -> number of persons; and how many persons there are.
    """
    world = World(blueprint, database, now=now)
    visibility = RowVisibility(blueprint)
    callers = _callers(world)
    with world.sharing():
        able = {tool.name: _able(world, tool, callers, visibility) for tool in blueprint.tools if tool.kind == "write"}
    return able, len(callers)


def infeasible_templates(
    blueprint: Blueprint, database: Path | bytes, now: str, templates: Sequence[TaskTemplate], seed: str
) -> dict[str, str]:
    """The templates of which nobody has an instance.

    Args:
        seed: The seed with which instances are chosen later, so that the first one is the same.

    Returns:
        Template -> why nobody has one, in words for the goal's author.
    """
    world = World(blueprint, database, now=now)
    callers = _callers(world)
    with world.sharing():
        return {
            template.id: _why(world, template, callers, seed)
            for template in templates
            if not any(isinstance(one, Combination) for one in combinations_of(world, template, callers, 1, seed))
        }


def _callers(world: World) -> list[str]:
    with world.session() as session:
        return [str(row[world.blueprint.core.key]) for row in session.rows(world.blueprint.core.table)]


def _able(world: World, tool: Tool, callers: Sequence[str], visibility: RowVisibility) -> int:
    """How many of the callers can make a lawful call of a tool, on rows that reads show them."""
    count = 0
    for caller in callers:
        with world.session(caller=caller) as session:
            search = argument_search(session, tool, Random(f"{tool.name}/{caller}"), nodes=MOST_NODES)
            calls = islice(search.meeting(), CALLS_PER_PERSON)
            count += any(visibility.shows(session, tool, arguments) for arguments in calls)
    return count


def _why(world: World, template: TaskTemplate, callers: Sequence[str], seed: str) -> str:
    """Why nobody has an instance: what stops those who get furthest."""
    failures = _failures(world, template, callers, seed)
    if not failures:
        return "nobody is there who could want it"
    furthest = max(failure[:2] for failure, _ in failures)
    stopped_there = [one for one in failures if one[0][:2] == furthest]
    failure, reason = max(stopped_there, key=lambda one: one[0].why)
    if failure.call == len(template.calls):
        return _nothing_to_tell([failure for failure, _ in stopped_there], len(failures))
    tool = world.blueprint.tool(template.calls[failure.call].tool)
    where = f"call {failure.call + 1}, {tool.name}"
    if failure.why:
        return f"{where}: {failure.why}"
    if failure.guard < 0:
        detail = "" if reason.startswith("no lawful call") else f": {reason}"
        return f"{where}: nobody has rows or values for its arguments{detail}"
    guards = [other.guard if other.call == failure.call else None for other, _ in failures]
    count = _able(world, tool, callers, RowVisibility(world.blueprint))
    return (
        f"{where}: no lawful call; {furthest_blocking_rule(tool, guards)}; as things stand, {count} of {len(callers)} "
        "people can make one"
    )


def _failures(
    world: World, template: TaskTemplate, callers: Sequence[str], seed: str
) -> list[tuple[FailurePoint, str]]:
    """Where some callers got stuck, each with the reason that is counted."""
    failures = []
    for caller, _ in islice(callers_of(template, callers, seed), MOST_PERSONS):
        with world.session(caller=caller) as session:
            random = Random(f"{seed}/{template.id}/{caller}")
            try:
                InstanceBuilder(world, template, session, random, explains=True).build()
            except NoInstance as none:
                failures.append((none.stop or FailurePoint(none.call, -1), str(none)))
    return failures


def _nothing_to_tell(failures: Sequence[FailurePoint], tried: int) -> str:
    """Why those who can make all calls have nothing to be told: the commonest reason, with an example."""
    why, times = Counter(failure.why for failure in failures).most_common(1)[0]
    examples = (f" (such as {failure.example})" for failure in failures if failure.why == why and failure.example)
    most = "" if times == len(failures) else f" for {times} of them"
    return (
        f"of {tried} people tried, {len(failures)} can make its calls, and none has a value to be told:{most} "
        f"{why}{next(examples, '')}; {WORTH_TELLING}"
    )


def template_of_goal(
    goal: Goal, blueprint: Blueprint, graph: ToolGraph, referred_by: Mapping[str, Sequence[str]]
) -> TaskTemplate:
    """The template of a goal.

    Args:
        referred_by: Read -> columns of its result by which people refer to its rows, best first.
    """
    calls = [
        TemplateCall(
            tool=call.tool, same=call.same, found_by=row_sources(blueprint.tool(call.tool), blueprint, graph, call.same)
        )
        for call in goal.calls
    ]
    return TaskTemplate(
        id=f"{blueprint.server}/{goal.name}",
        server=blueprint.server,
        kind=goal.kind,
        title=goal.title,
        calls=calls,
        lookups=lookup_sources(blueprint, graph),
        referred_by={read: list(columns) for read, columns in referred_by.items()},
        tell=goal.tell,
        reasons=goal.reasons,
    )


def goal_faults(
    goals: Sequence[Goal], blueprint: Blueprint, graph: ToolGraph, columns: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Why each goal cannot become a template, in words for its author; empty if it can.

    Args:
        columns: Tool -> the columns of its result.
    """
    names: set[str] = set()
    complaints = []
    for goal in goals:
        faults = ["there is another goal of that name"] if goal.name in names else []
        faults += _call_faults(goal, blueprint, graph, columns)
        faults += [*KINDS[goal.kind].goal_faults(goal, blueprint), *_tell_faults(goal, columns)]
        complaints.append([f"goal {goal.name!r}: {fault}" for fault in faults])
        names.add(goal.name)
    return complaints


def _call_faults(
    goal: Goal, blueprint: Blueprint, graph: ToolGraph, columns: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    tools = {tool.name: tool for tool in blueprint.tools if tool.kind != "auth"}
    for place, call in enumerate(goal.calls, start=1):
        if call.tool not in tools:
            yield f"call {place}: there is no tool {call.tool!r} to call; there are {', '.join(tools)}"
            continue
        tool = tools[call.tool]
        for name, link in call.same.items():
            yield from (f"call {place}: {fault}" for fault in _link_faults(place, name, link, tools, goal, columns))
        for parameter in tool.parameters:
            open_row = parameter.refers_to and parameter.required and parameter.name not in call.same
            if open_row and not row_sources(tool, blueprint, graph, {}).get(parameter.name):
                yield f"call {place}: no read shows the row that {tool.name}.{parameter.name} names; leave the goal out"


def _link_faults(
    place: int,
    parameter: str,
    link: str,
    tools: Mapping[str, Tool],
    goal: Goal,
    columns: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    tool = tools[goal.calls[place - 1].tool]
    taken = [one.name for one in tool.parameters]
    if parameter not in taken:
        yield f"{tool.name} takes no {parameter!r}; it takes {', '.join(taken) or 'nothing'}"
    earlier = {f"{number}": call.tool for number, call in enumerate(goal.calls[: place - 1], start=1)}
    number, _, column = link.partition(".")
    if number not in earlier:
        yield f"{link!r} is not of the form '<call>.<column>' with a call before this one"
    elif column not in columns.get(earlier[number], []):
        yield f"{link!r}: {earlier[number]} returns {', '.join(columns.get(earlier[number], []))}"
    elif (read := tools.get(earlier[number])) and read.returns.rows == "many" and not _takes(read, column):
        yield (
            f"{link!r}: {read.name} lists many rows, and `same` does not say which; leave that call and the link out: "
            f"the row that {tool.name} takes is found by itself"
        )


def _takes(tool: Tool, name: str) -> bool:
    return any(parameter.name == name for parameter in tool.parameters)


def _tell_faults(goal: Goal, columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for told in goal.tell:
        name = goal.calls[told.call - 1].tool if told.call <= len(goal.calls) else ""
        if told.column not in columns.get(name, []):
            returned = f"it returns {', '.join(columns.get(name, []))}" if name else f"it has {len(goal.calls)} calls"
            yield f"tell names {told.column!r} of call {told.call}; {returned}"
