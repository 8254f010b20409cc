"""Solutions of a task, found without its golden calls: writes with their reads, and which calls are right next."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import SESSION_TOOLS, Call, CallResult
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.record import Json
from skillweave.schema.score import GoldenStep, StepTruth
from skillweave.schema.task import Criteria, Task
from skillweave.world.canonical import canonical
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.planner.plan import PlannedWrite, Planner, PlanSearchResult, WritePlan, bind_minted
from synth.planner.problem import (
    DEFAULT_BOUNDS,
    WIDEST_BOUNDS,
    ExpansionBudget,
    Knowledge,
    PlannerBounds,
    PlanningProblem,
    ShownResult,
    problem_of,
)
from synth.planner.reads import PlanStage, ReadExplorer, SmallestReads
from synth.search.slots import slots
from synth.tasks.replay import Rejected, make_calls, open_session

Figure = dict[str, Json]
FORBIDDEN_BOUNDS = PlannerBounds(calls=2, expansions=400)
"""How far an end state is looked for that must not be reached: one write more than what was asked for."""
REPEATED_READ = "reads again behind a write what was read before"
SEPARATE_READ = "looks up in a read of its own what another call shows as well"


class Solution(NamedTuple):
    """A shortest plan with the reads that it needs."""

    plan: WritePlan
    stages: list[PlanStage]
    lookups: SmallestReads

    @property
    def calls(self) -> int | None:
        """Writes and reads; None where no reads show what is needed."""
        sets = self.lookups.sets
        return len(self.plan) + len(sets[0]) if sets else None


def check_reachable(
    world: World, combination: Combination, criteria: Criteria, bounds: PlannerBounds = DEFAULT_BOUNDS
) -> Figure:
    """The gate's figure. Rejected where the golden calls are more than need be, or a lawful way leads where none may.

    `calls` of the shortest solution: its writes, the fewest reads that show what they need, and the sign-in.
    """
    if combination.kind == "unavailable":
        return {"status": "by effects"}
    if combination.kind == "refuse":
        return _never(world, combination, criteria)
    problem = problem_of(world, combination, criteria)
    with problem.open() as session:
        signing_in = sign_in(session, problem)
        given = [ShownResult(problem, result) for result in signing_in]
        planner = Planner(problem, session, bounds, given=given)
        plans = planner.search()
        figure = _searched(plans, bounds)
        if plans.status != "proved":
            why = "the bound on expansions" if plans.status == "undecided" else _unknown(problem, session, combination)
            return {**figure, "why": why}
        solutions = [*solutions_of(problem, session, planner, plans, given)]
    return {**figure, **_solved(problem, combination, plans, solutions, len(signing_in))}


def _never(world: World, combination: Combination, criteria: Criteria) -> Figure:
    """That no lawful plan comes to what the call asked for would change. Rejected where one does."""
    if combination.asked is None:
        return {"status": "skipped", "why": "nothing is asked for"}
    looked = [call for call in combination.golden if call.tool not in SESSION_TOOLS]
    with open_session(world, combination) as session:
        results = make_calls(session, looked)
        result = session.call(combination.asked.tool, rebound(combination.asked, results))
        forbidden = canonical(session.diff(), session.minted)
    if not result.ok:
        return {"status": "skipped", "why": "the tool itself refuses the call; what it would change is not known"}
    problem = replace(problem_of(world, combination, criteria), ends=(forbidden,), tell=())
    with problem.open() as session:
        given = [ShownResult(problem, result) for result in sign_in(session, problem)]
        plans = Planner(problem, session, FORBIDDEN_BOUNDS, given=given).search()
    if plans.plans:
        way = " and ".join(move.tool for move in plans.plans[0])
        raise Rejected("forbidden and lawful", f"{way} comes to what {combination.asked.tool} must not do")
    if plans.status == "undecided":
        return {**_searched(plans, FORBIDDEN_BOUNDS), "why": "the bound on expansions"}
    return {**_searched(plans, FORBIDDEN_BOUNDS), "status": "never"}


def bounds_in(figure: Figure) -> PlannerBounds:
    """The bounds with which a figure was made; the default ones where it tells of none.

    Rejected where no configuration allows them: a search that a file asks for has to end.
    """
    told = figure.get("bounds")
    if not isinstance(told, dict):
        return DEFAULT_BOUNDS
    for name, most in zip(PlannerBounds._fields, WIDEST_BOUNDS, strict=True):
        number = told.get(name)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise Rejected("bounds of the planner", f"{name} is {number!r}; it is a number from 1 to {most}")
    return PlannerBounds(int(str(told["calls"])), int(str(told["expansions"])))


def sign_in(session: ContractSession, problem: PlanningProblem) -> list[CallResult]:
    """Sign the user in by what they say of themselves, where the channel has not; the calls that it took."""
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
    """Each plan with its look-ups: one order of those that make the same calls, unless all `orders` are wanted."""
    for plan in plans.plans if orders else plans.distinct.values():
        stages = [*_stages(problem, session, planner, plan, given)]
        yield Solution(plan, stages, SmallestReads(problem, stages, given).find())


def _stages(
    problem: PlanningProblem, session: ContractSession, planner: Planner, plan: WritePlan, given: Sequence[ShownResult]
) -> Iterator[PlanStage]:
    """The moments of a plan: before each of its writes, and at its end."""
    mark, shown = session.mark(), planner.first
    looking = ReadExplorer(problem, ExpansionBudget())
    minted: dict[PlannedWrite, list[str]] = {}
    results = [*given]
    for move in plan:
        result = session.call(move.tool, bind_minted(move, minted))
        minted[move] = result.minted
        yield PlanStage(shown, result)
        results.append(ShownResult(problem, result))
        shown = planner.look_after(looking, move.tool, results, shown)
    yield PlanStage(shown, None)
    session.forget(mark)


def _searched(plans: PlanSearchResult, bounds: PlannerBounds) -> Figure:
    return {
        "status": plans.status,
        "expansions": plans.expansions,
        "bounds": {"calls": bounds.calls, "expansions": bounds.expansions},
    }


def _solved(
    problem: PlanningProblem,
    combination: Combination,
    plans: PlanSearchResult,
    solutions: Sequence[Solution],
    signing_in: int,
) -> Figure:
    lengths = [solution.calls for solution in solutions if solution.calls is not None]
    calls = min(lengths) + signing_in if lengths else None
    best = [one for one in solutions if one.calls is not None and one.calls + signing_in == calls]
    used = {move.tool for one in best for move in one.plan}
    used |= {look.tool for one in best for chosen in one.lookups.sets for look in chosen}
    offered = [tool.name for tool in problem.tools if tool.kind != "auth"]
    own = [call.tool for call in combination.golden if call.tool not in SESSION_TOOLS]
    kinds = [problem.world.blueprint.tool(tool).kind for tool in own]
    return {
        "writes": plans.depth,
        "calls": calls,
        "solutions": len(solutions),
        "dead_ends": plans.dead_ends,
        "irrelevant_tools": [name for name in offered if name not in used],
        **_longer(combination, plans.depth, calls, kinds),
    }


def _longer(combination: Combination, writes: int, calls: int | None, kinds: Sequence[str]) -> Figure:
    """Why the golden calls are more than the shortest solution's. Rejected where there is no reason."""
    demanded = [f"{call.tool} for {call.demanded_by}" for call in combination.golden if call.demanded_by]
    more = kinds.count("write") - writes
    if more > 0 and len(demanded) < more:
        raise Rejected("longer than need be", f"{writes} writes do what {kinds.count('write')} golden ones do")
    if more > 0:
        return {"longer_because": f"a rule demands {', '.join(demanded)}"}
    if calls is None or len(kinds) <= calls:
        return {}
    again = len(combination.golden) - len({repr((call.tool, call.arguments)) for call in combination.golden})
    return {"longer_because": REPEATED_READ if again >= len(kinds) - calls else SEPARATE_READ}


def _unknown(problem: PlanningProblem, session: ContractSession, combination: Combination) -> str:
    """Which golden argument nobody can know: told once the search has ended, to say why it has found nothing."""
    looking = ReadExplorer(problem, ExpansionBudget())
    for call in combination.golden:
        tool = next((tool for tool in problem.tools if tool.name == call.tool), None)
        if tool is None or (tool.kind == "write" and session.caller is None):
            return f"{call.tool}: cannot be called"
        if tool.kind == "write":
            made = [ShownResult(problem, result) for result in session.results if result.ok]
            known = Knowledge(problem, [*looking.look(session, made, {}, None).values()], made)
            for name, value in call.arguments.items():
                if value not in known.values(slots(tool)[name]):
                    return f"{call.tool}.{name}: nobody says {value!r}, and no read shows it"
            session.call(call.tool, call.arguments)
    return "no end state within the bound on calls"


def step_truths(
    blueprint: Blueprint,
    database: Path,
    now: str,
    validated: Sequence[ValidatedTask],
    tasks: Sequence[Task],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
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
    world: World, combination: Combination, criteria: Criteria, identity: str, bounds: PlannerBounds = DEFAULT_BOUNDS
) -> StepTruth | None:
    """The truth of one task; None where its kind has no end state to plan for."""
    if combination.kind not in ("do", "inform", "clarify"):
        return None
    problem = problem_of(world, combination, criteria)
    steps = [_step(problem, combination, made, bounds) for made in range(len(combination.golden) + 1)]
    return StepTruth(task_id=identity, steps=steps)


def _step(problem: PlanningProblem, combination: Combination, made: int, bounds: PlannerBounds) -> GoldenStep:
    with problem.open() as session:
        for call in combination.golden[:made]:
            session.call(call.tool, rebound(call, session.results))
        before = [result for result in session.results if result.ok]
        signing_in = sign_in(session, problem) if session.caller is None else []
        given = [ShownResult(problem, result) for result in [*before, *signing_in]]
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
