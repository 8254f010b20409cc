"""Feasibility of goals: whether anybody can have what a goal wants and, if not, why, in words for its author.

Goals are tried on the data by building an instance, as is done later, with the same seed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, TaskTemplate, ToolGraph
from skillweave.world.world import World
from synth.artifacts import DATABASE
from synth.contracts.visibility import column_origins
from synth.engine.context import Context
from synth.engine.step import Params
from synth.search.arguments import argument_search
from synth.search.blocking_rules import MOST_NODES, MOST_PERSONS, furthest_blocking_rule
from synth.simulation.coverage import RowVisibility
from synth.tasks.builder import InstanceBuilder
from synth.tasks.combinations import callers_of, combinations_of
from synth.tasks.kinds import FailurePoint, NoInstance
from synth.tasks.templates import goal_faults, template_of_goal

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


def persons_able(blueprint: Blueprint, database: Path | bytes, now: str) -> tuple[dict[str, int], int]:
    """How many persons can make each write as things stand, on rows that reads show them.

    Returns:
        Write -> number of persons; and how many persons there are.
    """
    world = World(blueprint, database, now=now)
    visibility = RowVisibility(blueprint)
    callers = _callers(world)
    return {
        tool.name: _able(world, tool, callers, visibility) for tool in blueprint.tools if tool.kind == "write"
    }, len(callers)


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
