"""Trials of goals: whether anybody can have what a template wants, and if not, why, in words for the goal's author."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.planner.nearest import PERSONS, near_of
from synth.tasks.builder import NOTHING_TO_TELL, Builder
from synth.tasks.combine import callers_of, combinations_of
from synth.tasks.instance import NoInstance, Stop

TELLING = (
    "what `tell` names is empty, small enough to be guessed, of a record that came to nothing, or the same in several "
    "rows; name amounts, dates or names that differ from row to row"
)


def infeasible(
    blueprint: Blueprint, database: Path | bytes, now: str, templates: Sequence[TaskTemplate], seed: str
) -> dict[str, str]:
    """Template -> why nobody has an instance; templates that somebody can have are left out.

    Pure; `seed` is that with which instances are chosen later, so that the first one is the same.
    """
    world = World(blueprint, database, now=now)
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
    return {
        template.id: _why(world, template, callers, seed)
        for template in templates
        if not any(isinstance(one, Combination) for one in combinations_of(world, template, callers, 1, seed))
    }


def _why(world: World, template: TaskTemplate, callers: Sequence[str], seed: str) -> str:
    stuck: list[tuple[Stop, str]] = []
    for caller, _ in islice(callers_of(template, callers, seed), PERSONS):
        with world.session(caller=caller) as session:
            random = Random(f"{seed}/{template.id}/{caller}")
            try:
                Builder(world, template, session, random, explains=True).build()
            except NoInstance as none:
                after_all = Stop(len(template.calls), 0) if str(none) == NOTHING_TO_TELL else Stop(none.call, -1)
                stuck.append((none.stop or after_all, str(none)))
    if not stuck:
        return "nobody is there who could want it"
    furthest = max(stop[:2] for stop, _ in stuck)
    stop, reason = max((one for one in stuck if one[0][:2] == furthest), key=lambda one: one[0].rows)
    if stop.call == len(template.calls):
        return f"everybody can make its calls, and nobody has a value to be told: {TELLING}"
    tool = world.blueprint.tool(template.calls[stop.call].tool)
    where = f"call {stop.call + 1}, {tool.name}"
    if stop.rows:
        return f"{where}: {stop.rows}"
    if stop.guard < 0:
        detail = "" if reason.startswith("no lawful call") else f": {reason}"
        return f"{where}: nobody has rows or values for its arguments{detail}"
    near = near_of(tool, [found.guard if found.call == stop.call else None for found, _ in stuck])
    return f"{where}: no lawful call; {near}"
