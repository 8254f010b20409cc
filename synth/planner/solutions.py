"""Solutions of a task, searched without its golden calls: writes with their reads, and the best next calls."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluator.kinds import KINDS as SCORED_KINDS
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.contract import Call, CallResult
from skillweave.schema.criteria import Criteria
from skillweave.schema.score import GoldenStep, StepTruth
from skillweave.schema.task import Task
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.plan import PlannedWrite, Planner, PlanSearchResult, WritePlan, bind_minted
from synth.planner.problem import (
    DEFAULT_BOUNDS,
    PlannerBounds,
    PlanningProblem,
    ShownResult,
    problem_of,
)
from synth.planner.reads import PlanStage, SmallestReads


class Solution(NamedTuple):
    """A shortest plan with the reads that it needs."""

    plan: WritePlan
    stages: list[PlanStage]
    reads: SmallestReads

    @property
    def calls(self) -> int | None:
        """Number of writes and reads; None if no reads show the needed values."""
        sets = self.reads.sets
        return len(self.plan) + len(sets[0]) if sets else None


def sign_in(session: ContractSession, problem: PlanningProblem) -> list[CallResult]:
    """Sign the user in with their credentials if the channel has not done so, and return the results."""
    if problem.caller is not None:
        return []
    for tool in problem.tools:
        required = {parameter.name for parameter in tool.parameters if parameter.required}
        if tool.kind == "auth" and required <= problem.credentials.keys():
            arguments = {p.name: problem.credentials[p.name] for p in tool.parameters if p.name in problem.credentials}
            result = session.call(tool.name, arguments)
            if result.ok:
                return [result]
    return []


def solutions_of(
    problem: PlanningProblem,
    session: ContractSession,
    planner: Planner,
    plans: PlanSearchResult,
    given: Sequence[ShownResult] = (),
    *,
    orders: bool = False,
) -> Iterator[Solution]:
    """Each plan with its reads. Plans with the same calls appear in one order, unless `orders` asks for all."""
    for plan in plans.plans if orders else plans.distinct.values():
        stages = [*_plan_stages(problem, session, planner, plan, given)]
        yield Solution(plan, stages, SmallestReads(problem, stages, given).find())


def _plan_stages(
    problem: PlanningProblem, session: ContractSession, planner: Planner, plan: WritePlan, given: Sequence[ShownResult]
) -> Iterator[PlanStage]:
    """The stages of a plan: before each of its writes, and at its end."""
    mark, shown = session.mark(), planner.first
    minted: dict[PlannedWrite, list[str]] = {}
    results = [*given]
    for place, write in enumerate(plan, start=1):
        result = session.call(write.tool, bind_minted(write, minted))
        minted[write] = result.minted
        yield PlanStage(shown, result)
        results.append(ShownResult(problem, result))
        if place < len(plan) or problem.tell:
            # Behind the last write only what the user wants to know is looked up.
            shown = planner.shown_after(plan[:place], results, shown)
    yield PlanStage(shown, None)
    session.forget(mark)


def step_truths(
    blueprint: Blueprint,
    database: Path,
    now: str,
    validated: Sequence[ValidatedTask],
    tasks: Sequence[Task],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
) -> list[StepTruth]:
    """The step truth of each task that has an end state to plan for and no planted faults."""
    world = World(blueprint, database, now=now)
    proved = {validated_task.combination.id: validated_task for validated_task in validated}
    truths = []
    for task in tasks:
        kept = proved[task.lineage.combo]
        truth = step_truth(world, kept.combination, kept.criteria, task.id, bounds) if task.noise is None else None
        truths += [truth] if truth else []
    world.close()
    return truths


def step_truth(
    world: World, combination: Combination, criteria: Criteria, identity: str, bounds: PlannerBounds = DEFAULT_BOUNDS
) -> StepTruth | None:
    """The step truth of one task; None if its kind has no end state to plan for."""
    if not SCORED_KINDS[combination.kind].is_carried_out:
        return None
    problem = problem_of(world, combination, criteria)
    steps = [_golden_step(problem, combination, place, bounds) for place in range(len(combination.golden) + 1)]
    return StepTruth(task_id=identity, steps=steps)


def _golden_step(problem: PlanningProblem, combination: Combination, place: int, bounds: PlannerBounds) -> GoldenStep:
    with problem.open() as session:
        for call in combination.golden[:place]:
            session.call(call.tool, rebound(call, session.results))
        before = [result for result in session.results if result.ok]
        signing_in = sign_in(session, problem) if session.caller is None else []
        given = [ShownResult(problem, result) for result in [*before, *signing_in]]
        planner = Planner(problem, session, bounds, given=given)
        plans = planner.search()
        solutions = solutions_of(problem, session, planner, plans, given, orders=True)
        known = [solution for solution in solutions if solution.calls is not None]
    cost = min((solution.calls for solution in known if solution.calls is not None), default=None)
    if plans.status != "proved" or cost is None:
        status = "undecided" if plans.status == "proved" else plans.status
        return GoldenStep(step=place, status=status, optimal=[], cost_to_go=None)
    best = [solution for solution in known if solution.calls == cost]
    optimal = [result.call for result in signing_in] or _without_repeats(
        [call for solution in best for call in _first_calls(solution)]
    )
    return GoldenStep(step=place, status="proved", optimal=optimal, cost_to_go=cost + len(signing_in))


def _first_calls(solution: Solution) -> Iterator[Call]:
    """The possible first calls of a solution."""
    reads, first = solution.reads, solution.stages[0].write
    for chosen in reads.sets:
        for read in sorted(chosen):
            reading = solution.stages[read.stage].shown[read.tool, read.arguments]
            if read.stage == 0 and not reads.needs_of(read):
                yield Call(tool=reading.tool, arguments=reading.arguments)
        if first is not None and not reads.needs_of_first():
            yield Call(tool=first.call.tool, arguments=first.call.arguments)


def _without_repeats(calls: Sequence[Call]) -> list[Call]:
    by_text = {call.model_dump_json(): call for call in calls}
    return [by_text[text] for text in sorted(by_text)]
