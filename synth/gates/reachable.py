"""Gate: a planner that has not seen the golden calls reaches the goal, in no fewer writes than they take.

It starts from what the user says and what reads return. The gate rejects a golden run with a needless write. If a run
has more reads than the shortest solution, the figure records why. If the search meets a bound, the figure says
`undecided`. In a `refuse` task, no lawful plan may lead to the changes that the requested call would make.
"""

from collections.abc import Sequence
from dataclasses import replace

from skillweave.schema.combination import Combination
from skillweave.schema.contract import SESSION_TOOLS
from skillweave.schema.criteria import Criteria
from skillweave.schema.record import Json
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.gates.gate import Gate
from synth.planner.plan import Planner, PlanSearchResult
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
from synth.planner.reads import ReadExplorer
from synth.planner.solutions import Solution, sign_in, solutions_of
from synth.search.slots import slots
from synth.tasks.kinds import is_declined, is_transferred
from synth.tasks.replay import Rejected, make_calls, open_session

Figure = dict[str, Json]
FORBIDDEN_BOUNDS = PlannerBounds(calls=2, expansions=400)
"""Bounds on the search for a forbidden end state: one write more than the requested call."""
REPEATED_READ = "reads again behind a write what was read before"
SEPARATE_READ = "looks up in a read of its own what another call shows as well"


GATE = Gate(
    name="reachable",
    proves=("The golden calls have no write too many, and what a rule of the agent's forbids cannot be had lawfully."),
    runs=(
        "A search over the contract without the golden calls, from what the user says and what reads return: for the "
        "goal, or, in `refuse` tasks, for the changes that the requested call would make."
    ),
    figures={
        "planner.status": (
            "`proved`; `undecided` or `not_reached` if a bound was met; for a forbidden state `never`, "
            "`by effects` or `skipped`"
        ),
        "planner.expansions": "calls made and guards looked up",
        "planner.bounds": "the bounds on writes of a plan (`calls`) and on `expansions`",
        "planner.why": "why there is no solution",
        "planner.writes": "writes of the shortest solutions",
        "planner.calls": "calls of the shortest solution: sign-in, reads and writes",
        "planner.solutions": "shortest solutions",
        "planner.dead_ends": "lawful calls after which no end was in reach",
        "planner.irrelevant_tools": "offered tools that no shortest solution uses",
        "planner.longer_because": "why the golden run is longer than the shortest solution",
    },
    reasons=("longer than need be", "forbidden and lawful", "bounds of the planner"),
    check=lambda judged: {"planner": check_reachable(judged.world, judged.combination, judged.criteria, judged.bounds)},
)


def check_reachable(
    world: World, combination: Combination, criteria: Criteria, bounds: PlannerBounds = DEFAULT_BOUNDS
) -> Figure:
    """The gate's figure. Raises Rejected if a golden call is needless, or if a lawful plan reaches a forbidden state.

    The figure `calls` counts the shortest solution: its writes, the fewest reads that they need, and the sign-in.
    """
    if is_transferred(combination):
        return {"status": "by effects"}
    if is_declined(combination):
        return _check_unreachable_by_plan(world, combination, criteria)
    problem = problem_of(world, combination, criteria)
    with problem.open() as session:
        signing_in = sign_in(session, problem)
        given = [ShownResult(problem, result) for result in signing_in]
        planner = Planner(problem, session, bounds, given=given)
        plans = planner.search()
        figure = _search_figures(plans, bounds)
        if plans.status != "proved":
            why = (
                "the bound on expansions"
                if plans.status == "undecided"
                else _unknown_argument(problem, session, combination)
            )
            return {**figure, "why": why}
        solutions = [*solutions_of(problem, session, planner, plans, given)]
    return {**figure, **_solution_figures(problem, combination, plans, solutions, len(signing_in))}


def _check_unreachable_by_plan(world: World, combination: Combination, criteria: Criteria) -> Figure:
    """Check that no lawful plan makes the changes of the requested call. Raises Rejected if one does."""
    if combination.asked is None:
        return {"status": "skipped", "why": "nothing is asked for"}
    looked = [call for call in combination.golden if call.tool not in SESSION_TOOLS]
    with open_session(world, combination) as session:
        results = make_calls(session, looked)
        result = session.call(combination.asked.tool, rebound(combination.asked, results))
        forbidden = session.canonical()
    if not result.ok:
        return {"status": "skipped", "why": "the tool itself refuses the call; what it would change is not known"}
    problem = replace(problem_of(world, combination, criteria), ends=(forbidden,), tell=())
    with problem.open() as session:
        given = [ShownResult(problem, result) for result in sign_in(session, problem)]
        plans = Planner(problem, session, FORBIDDEN_BOUNDS, given=given).search()
    if plans.plans:
        names = " and ".join(write.tool for write in plans.plans[0])
        raise Rejected("forbidden and lawful", f"{names} comes to what {combination.asked.tool} must not do")
    if plans.status == "undecided":
        return {**_search_figures(plans, FORBIDDEN_BOUNDS), "why": "the bound on expansions"}
    return {**_search_figures(plans, FORBIDDEN_BOUNDS), "status": "never"}


def bounds_in(figure: Figure) -> PlannerBounds:
    """The bounds of the search behind a figure; the default ones if it records none.

    Raises Rejected if no configuration allows them, so that a file cannot start an endless search.
    """
    recorded = figure.get("bounds")
    if not isinstance(recorded, dict):
        return DEFAULT_BOUNDS
    for name, most in zip(PlannerBounds._fields, WIDEST_BOUNDS, strict=True):
        number = recorded.get(name)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise Rejected("bounds of the planner", f"{name} is {number!r}; it is a number from 1 to {most}")
    return PlannerBounds(int(str(recorded["calls"])), int(str(recorded["expansions"])))


def _search_figures(plans: PlanSearchResult, bounds: PlannerBounds) -> Figure:
    return {
        "status": plans.status,
        "expansions": plans.expansions,
        "bounds": {"calls": bounds.calls, "expansions": bounds.expansions},
    }


def _solution_figures(
    problem: PlanningProblem,
    combination: Combination,
    plans: PlanSearchResult,
    solutions: Sequence[Solution],
    signing_in: int,
) -> Figure:
    lengths = [solution.calls for solution in solutions if solution.calls is not None]
    calls = min(lengths) + signing_in if lengths else None
    best = [solution for solution in solutions if solution.calls is not None and solution.calls + signing_in == calls]
    used = {write.tool for solution in best for write in solution.plan}
    used |= {read.tool for solution in best for chosen in solution.reads.sets for read in chosen}
    offered = [tool.name for tool in problem.tools if tool.kind != "auth"]
    own = [call.tool for call in combination.golden if call.tool not in SESSION_TOOLS]
    kinds = [problem.world.blueprint.tool(tool).kind for tool in own]
    return {
        "writes": plans.depth,
        "calls": calls,
        "solutions": len(solutions),
        "dead_ends": plans.dead_ends,
        "irrelevant_tools": [name for name in offered if name not in used],
        **_length_figures(combination, plans.depth, calls, kinds),
    }


def _length_figures(combination: Combination, writes: int, calls: int | None, kinds: Sequence[str]) -> Figure:
    """Why the golden run is longer than the shortest solution. Raises Rejected if there is no reason."""
    demanded = [f"{call.tool} for {call.demanded_by}" for call in combination.golden if call.demanded_by]
    replaced = [call.tool for place, call in enumerate(combination.golden) if place in combination.replaced]
    more = kinds.count("write") - writes
    if more > 0 and len(demanded) + len(replaced) < more:
        raise Rejected("longer than need be", f"{writes} writes do what {kinds.count('write')} golden ones do")
    if more > 0:
        why = [f"a rule demands {', '.join(demanded)}"] if demanded else []
        why += [f"the user thinks better of {', '.join(replaced)}"] if replaced else []
        return {"longer_because": "; ".join(why)}
    if calls is None or len(kinds) <= calls:
        return {}
    repeated = len(combination.golden) - len({repr((call.tool, call.arguments)) for call in combination.golden})
    return {"longer_because": REPEATED_READ if repeated >= len(kinds) - calls else SEPARATE_READ}


def _unknown_argument(problem: PlanningProblem, session: ContractSession, combination: Combination) -> str:
    """Which golden argument nobody can know, to explain a search without a solution."""
    explorer = ReadExplorer(problem, ExpansionBudget())
    for call in combination.golden:
        tool = next((tool for tool in problem.tools if tool.name == call.tool), None)
        if tool is None or (tool.kind == "write" and session.caller is None):
            return f"{call.tool}: cannot be called"
        if tool.kind == "write":
            results = [ShownResult(problem, result) for result in session.results if result.ok]
            known = Knowledge(problem, [*explorer.read_all(session, results, {}, None).values()], results)
            for name, value in call.arguments.items():
                if value not in known.values(slots(tool)[name]):
                    return f"{call.tool}.{name}: nobody says {value!r}, and no read shows it"
            session.call(call.tool, call.arguments)
    return "no end state within the bound on calls"
