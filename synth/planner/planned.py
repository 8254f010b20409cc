"""What a search finds out about a task that has not seen its golden calls: its figure, and whether the task is kept.

Of a request that a rule forbids it is shown that nothing lawful comes to the same; of one that no tool serves, the
effects of the tools that are offered show it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from skillweave.schema.call import SESSION_TOOLS, CallResult
from skillweave.schema.combination import Combination
from skillweave.schema.record import Json
from skillweave.schema.task import Criteria
from skillweave.world.canonical import canonical
from skillweave.world.replay import rebound
from skillweave.world.session import ContractSession
from skillweave.world.world import World
from synth.gates.attempt import carry_out, opened
from synth.gates.rejection import Rejected
from synth.planner.knowledge import Knowledge, Reading
from synth.planner.looking import Looking
from synth.planner.lookups import Lookups, Stage
from synth.planner.plan import Move, Plan, Planner, Plans, bound
from synth.planner.problem import BOUNDS, MOST, Bounds, Budget, Problem, problem_of
from synth.planner.slots import slots

Figure = dict[str, Json]
REFUSED = Bounds(calls=2, expansions=400)
"""How far an end state is looked for that must not be reached: one write more than what was asked for."""
AGAIN = "reads again behind a write what was read before"
APART = "looks up in a read of its own what another call shows as well"


class Solution(NamedTuple):
    """A shortest plan with the reads that it needs."""

    plan: Plan
    stages: list[Stage]
    lookups: Lookups

    @property
    def calls(self) -> int | None:
        """Writes and reads; None where no reads show what is needed."""
        sets = self.lookups.sets
        return len(self.plan) + len(sets[0]) if sets else None


def planned(world: World, combination: Combination, criteria: Criteria, bounds: Bounds = BOUNDS) -> Figure:
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
        given = [Reading(problem, result) for result in signing_in]
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
    with opened(world, combination) as session:
        results = carry_out(session, looked)
        result = session.call(combination.asked.tool, rebound(combination.asked, results))
        forbidden = canonical(session.diff(), session.minted)
    if not result.ok:
        return {"status": "skipped", "why": "the tool itself refuses the call; what it would change is not known"}
    problem = replace(problem_of(world, combination, criteria), ends=(forbidden,), tell=())
    with problem.open() as session:
        given = [Reading(problem, result) for result in sign_in(session, problem)]
        plans = Planner(problem, session, REFUSED, given=given).search()
    if plans.plans:
        way = " and ".join(move.tool for move in plans.plans[0])
        raise Rejected("forbidden and lawful", f"{way} comes to what {combination.asked.tool} must not do")
    if plans.status == "undecided":
        return {**_searched(plans, REFUSED), "why": "the bound on expansions"}
    return {**_searched(plans, REFUSED), "status": "never"}


def bounds_in(figure: Figure) -> Bounds:
    """The bounds with which a figure was made; the default ones where it tells of none.

    Rejected where no configuration allows them: a search that a file asks for has to end.
    """
    told = figure.get("bounds")
    if not isinstance(told, dict):
        return BOUNDS
    for name, most in zip(Bounds._fields, MOST, strict=True):
        number = told.get(name)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise Rejected("bounds of the planner", f"{name} is {number!r}; it is a number from 1 to {most}")
    return Bounds(int(str(told["calls"])), int(str(told["expansions"])))


def sign_in(session: ContractSession, problem: Problem) -> list[CallResult]:
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
    problem: Problem,
    session: ContractSession,
    planner: Planner,
    plans: Plans,
    given: Sequence[Reading] = (),
    *,
    orders: bool = False,
) -> Iterator[Solution]:
    """Each plan with its look-ups: one order of those that make the same calls, unless all `orders` are wanted."""
    for plan in plans.plans if orders else plans.distinct.values():
        stages = [*_stages(problem, session, planner, plan, given)]
        yield Solution(plan, stages, Lookups(problem, stages, given).find())


def _stages(
    problem: Problem, session: ContractSession, planner: Planner, plan: Plan, given: Sequence[Reading]
) -> Iterator[Stage]:
    """The moments of a plan: before each of its writes, and at its end."""
    mark, shown = session.mark(), planner.first
    looking = Looking(problem, Budget())
    minted: dict[Move, list[str]] = {}
    results = [*given]
    for move in plan:
        result = session.call(move.tool, bound(move, minted))
        minted[move] = result.minted
        yield Stage(shown, result)
        results.append(Reading(problem, result))
        shown = planner.look_after(looking, move.tool, results, shown)
    yield Stage(shown, None)
    session.forget(mark)


def _searched(plans: Plans, bounds: Bounds) -> Figure:
    return {
        "status": plans.status,
        "expansions": plans.expansions,
        "bounds": {"calls": bounds.calls, "expansions": bounds.expansions},
    }


def _solved(
    problem: Problem, combination: Combination, plans: Plans, solutions: Sequence[Solution], signing_in: int
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
    return {"longer_because": AGAIN if again >= len(kinds) - calls else APART}


def _unknown(problem: Problem, session: ContractSession, combination: Combination) -> str:
    """Which golden argument nobody can know: told once the search has ended, to say why it has found nothing."""
    looking = Looking(problem, Budget())
    for call in combination.golden:
        tool = next((tool for tool in problem.tools if tool.name == call.tool), None)
        if tool is None or (tool.kind == "write" and session.caller is None):
            return f"{call.tool}: cannot be called"
        if tool.kind == "write":
            made = [Reading(problem, result) for result in session.results if result.ok]
            known = Knowledge(problem, [*looking.look(session, made, {}, None).values()], made)
            for name, value in call.arguments.items():
                if value not in known.values(slots(tool)[name]):
                    return f"{call.tool}.{name}: nobody says {value!r}, and no read shows it"
            session.call(call.tool, call.arguments)
    return "no end state within the bound on calls"
