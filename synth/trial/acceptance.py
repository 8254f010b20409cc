"""Acceptance of a blueprint: it is tried and repaired until nothing in it is fatal.

What a trial shows goes back to the author, all of it together, a bounded number of times. What stays wrong is taken
out, with its reason, as long as what remains is a world.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Enforcer, Guard
from skillweave.schema.entity import Domain
from skillweave.world.contract import problems
from synth.contracts.visibility import hidden_deciding_columns
from synth.engine.context import Context
from synth.policy.review import ReviewParams
from synth.questions.types import Mended
from synth.simulation.history import HistoryPlan
from synth.trial.draft import problem_text
from synth.trial.faults import BlueprintFault
from synth.trial.repair import REMOVAL_REASONS, apply_repair, repair_context, repair_faults, without_part
from synth.trial.trial import TrialOutcome, try_blueprint

MEND = question("blueprint.mend", returns=Mended)
TRIAL_DAYS = 60
"""Days of the history in which a blueprint is tried."""


class AcceptanceParams(ReviewParams):
    """Parameters of a step that accepts a blueprint."""

    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the business rules that the agent holds, not the tool."""
    min_tools: int = Field(default=8, ge=3)
    """Fewer tools than this make no world."""
    trial_visits: int = Field(default=250, ge=0)
    """Visits of the history in which a blueprint is tried."""
    mends: int = Field(default=2, ge=0)
    """How often what a trial has shown goes back to the author."""


P = TypeVar("P", bound=AcceptanceParams)


async def accepted_blueprint(ctx: Context[P], domain: Domain, blueprint: Blueprint) -> Blueprint:
    """Try a blueprint, have its author repair it, and take out what stays wrong.

    What a later step has sent back (`ctx.sent_back`) goes to the author together with the first trial's faults.

    Raises:
        AuthorError: A fatal fault lies in a part that cannot be spared, or too little is left for a world.
    """
    sent_back = [BlueprintFault("company", "", reason, fatal=False) for reason in ctx.sent_back]
    blueprint, trial = await _trial(ctx, blueprint)
    for _ in range(ctx.params.mends):
        faults = [*sent_back, *trial.faults]
        repaired = await _repaired(ctx, domain, blueprint, faults) if faults else blueprint
        if repaired == blueprint:
            break
        sent_back = []
        blueprint, trial = await _trial(ctx, repaired)
    while (fault := next((fault for fault in trial.faults if fault.fatal), None)) is not None:
        blueprint, trial = await _trial(ctx, _without(ctx, blueprint, fault, trial.faults))
    for noted in trial.faults:
        ctx.log(f"note: {noted.says}")
    for problem in problems(blueprint):
        ctx.log(f"note: {problem_text(problem)}")
    return blueprint


def require_world(ctx: Context[P], draft: Blueprint) -> None:
    """Raise AuthorError if too few tools are left, nobody can sign in, or nothing can be done."""
    for fault in _world_faults(ctx, draft):
        raise AuthorError(fault)


def with_enforcers(blueprint: Blueprint, share: float, shuffle: Callable[[list[str]], None]) -> Blueprint:
    """Decide who holds each rule: the tool, or the agent.

    A rule that keeps the data sound is the tool's. Of the business rules the agent gets a share, and only such whose
    facts some read shows: nobody can be held to what they cannot see.

    Args:
        blueprint: The blueprint; who holds its rules so far does not matter.
        share: Share of the business rules that the agent holds, 0 to 1.
        shuffle: Puts the names of the business rules in a random order.
    """
    concerns: dict[str, set[str]] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            concerns.setdefault(guard.rule, set()).add(guard.concern)
    business_rules = sorted(rule for rule, of_guards in concerns.items() if not of_guards & STRUCTURAL)
    shuffle(business_rules)
    hidden = {rule for _, rule, _ in hidden_deciding_columns(blueprint)}
    agents = [rule for rule in business_rules if rule not in hidden][: round(len(business_rules) * share)]
    return _enforced(blueprint, lambda guard: "agent" if guard.rule in agents else "tool")


def _held_by_tools(blueprint: Blueprint, rules: Collection[str]) -> Blueprint:
    """The blueprint with these rules taken from the agent, because their breach would spoil the data."""
    return _enforced(blueprint, lambda guard: "tool" if guard.rule in rules else guard.enforced_by)


def _enforced(blueprint: Blueprint, enforcer: Callable[[Guard], Enforcer]) -> Blueprint:
    tools = [
        tool.model_copy(
            update={"guards": [guard.model_copy(update={"enforced_by": enforcer(guard)}) for guard in tool.guards]}
        )
        for tool in blueprint.tools
    ]
    return blueprint.model_copy(update={"tools": tools})


async def _trial(ctx: Context[P], blueprint: Blueprint) -> tuple[Blueprint, TrialOutcome]:
    """The blueprint with its rules' enforcers decided, and what its trial has shown."""
    shuffle = ctx.random(ctx.key, "enforcers").shuffle
    ready = with_enforcers(blueprint, ctx.params.agent_rules, shuffle)
    plan = HistoryPlan(visits=ctx.params.trial_visits, days=TRIAL_DAYS)
    trial = await ctx.offload(try_blueprint, ready, ctx.seed, ctx.now, ctx.sandbox, plan)
    return _held_by_tools(ready, trial.unsound), trial


async def _repaired(
    ctx: Context[P], domain: Domain, blueprint: Blueprint, faults: Sequence[BlueprintFault]
) -> Blueprint:
    """The blueprint as its author repairs it; unchanged if the author gives no usable answer."""

    def check(mended: Mended) -> list[str]:
        return repair_faults(blueprint, mended) or _world_faults(ctx, apply_repair(blueprint, mended))

    try:
        answer = await ctx.ask(
            MEND,
            domain=domain,
            blueprint=blueprint,
            concerned=repair_context(blueprint, faults),
            faults=[fault.says for fault in faults],
            now=ctx.now,
            check=check,
        )
    except AuthorError as error:
        ctx.log(f"not mended: {error}")
        return blueprint
    repaired = apply_repair(blueprint, answer)
    # An empty repair may still write an equal blueprint in another order; that is no change.
    return blueprint if repaired == apply_repair(blueprint, Mended()) else repaired


def _without(
    ctx: Context[P], blueprint: Blueprint, fault: BlueprintFault, faults: Sequence[BlueprintFault]
) -> Blueprint:
    """The blueprint without the part at fault, and without all invariants and events among the other fatal faults."""
    left = without_part(blueprint, fault)
    if left is None:
        raise AuthorError(f"{ctx.key} cannot be lived in: {fault.says}")
    ctx.reject(f"{fault.name}: {fault.says}", REMOVAL_REASONS[fault.part])
    for other in faults:
        # Nothing depends on invariants and events, so all of these can go at once.
        if other.part in ("invariant", "event") and other != fault and other.fatal:
            left = without_part(left, other) or left
            ctx.reject(f"{other.name}: {other.says}", REMOVAL_REASONS[other.part])
    require_world(ctx, left)
    return left


def _world_faults(ctx: Context[P], draft: Blueprint) -> list[str]:
    """Why a draft is no world: too few tools, nobody can sign in, or nothing can be done."""
    kinds = [tool.kind for tool in draft.tools]
    least = ctx.params.min_tools
    if len(kinds) < least or not {"auth", "write"} <= {*kinds}:
        return [
            f"only {len(kinds)} tools of {ctx.key} are sound; at least {least} make a world, one of them of kind auth "
            "and one a write"
        ]
    return []
