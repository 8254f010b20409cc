"""Step-level truth: at each step of the golden calls the best next calls, and how many are still needed.

Each step is a search of its own from the state there, with what the calls before have returned. The best are the
fewest writes, and of these the fewest calls.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import Call
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.step_truth import GoldenStep, StepTruth
from skillweave.schema.task import Criteria, Task
from skillweave.world.replay import rebound
from skillweave.world.world import World
from synth.planner.knowledge import Reading
from synth.planner.plan import Planner
from synth.planner.planned import Solution, sign_in, solutions_of
from synth.planner.problem import BOUNDS, Bounds, Problem, problem_of


def truths(
    blueprint: Blueprint,
    database: Path,
    now: str,
    validated: Sequence[ValidatedTask],
    tasks: Sequence[Task],
    bounds: Bounds = BOUNDS,
) -> list[StepTruth]:
    """The truth of each task that has an end state to plan for and no planted faults."""
    world = World(blueprint, database, now=now)
    proved = {one.combination.id: one for one in validated}
    found = []
    for task in tasks:
        kept = proved[task.lineage.combo]
        truth = step_truth(world, kept.combination, kept.criteria, task.id, bounds) if task.noise is None else None
        found += [truth] if truth else []
    world.close()
    return found


def step_truth(
    world: World, combination: Combination, criteria: Criteria, identity: str, bounds: Bounds = BOUNDS
) -> StepTruth | None:
    """The truth of one task; None where its kind has no end state to plan for."""
    if combination.kind not in ("do", "inform", "clarify"):
        return None
    problem = problem_of(world, combination, criteria)
    steps = [_step(problem, combination, made, bounds) for made in range(len(combination.golden) + 1)]
    return StepTruth(task_id=identity, steps=steps)


def _step(problem: Problem, combination: Combination, made: int, bounds: Bounds) -> GoldenStep:
    with problem.open() as session:
        for call in combination.golden[:made]:
            session.call(call.tool, rebound(call, session.results))
        before = [result for result in session.results if result.ok]
        signing_in = sign_in(session, problem) if session.caller is None else []
        given = [Reading(problem, result) for result in [*before, *signing_in]]
        planner = Planner(problem, session, bounds, given=given)
        plans = planner.search()
        solutions = solutions_of(problem, session, planner, plans, given, orders=True)
        found = [one for one in solutions if one.calls is not None]
    cost = min((one.calls for one in found if one.calls is not None), default=None)
    if plans.status != "proved" or cost is None:
        status = "undecided" if plans.status == "proved" else plans.status
        return GoldenStep(step=made, status=status, optimal=[], cost_to_go=None)
    best = [one for one in found if one.calls == cost]
    optimal = [result.call for result in signing_in] or _distinct([call for one in best for call in _next(one)])
    return GoldenStep(step=made, status="proved", optimal=optimal, cost_to_go=cost + len(signing_in))


def _next(solution: Solution) -> Iterator[Call]:
    """The calls that a solution can begin with."""
    lookups, first = solution.lookups, solution.stages[0].write
    for chosen in lookups.sets:
        for look in sorted(chosen):
            reading = solution.stages[look.stage].shown[look.tool, look.arguments]
            if look.stage == 0 and not lookups.needs_of(look):
                yield Call(tool=reading.tool, arguments=reading.arguments)
        if first is not None and not lookups.needs_of_first():
            yield Call(tool=first.call.tool, arguments=first.call.arguments)


def _distinct(calls: Sequence[Call]) -> list[Call]:
    by_text = {call.model_dump_json(): call for call in calls}
    return [by_text[text] for text in sorted(by_text)]
