"""The trial of a blueprint: first rows are drawn, people use the tools for weeks, and what goes wrong is named.

A short history shows what reading the contract cannot: a tool that nobody can use, an invariant that a call breaks, a
table that stays empty, a rule whose breach corrupts the data. Pure: the same blueprint gives the same faults.

Acceptance of a blueprint: it is tried and repaired until nothing in it is fatal.

What a trial shows goes back to the author, all of it together, a bounded number of times. What stays wrong is taken
out, with its reason, as long as what remains is a world.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from pydantic import Field
from sqlglot import exp

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.sandbox.folder import SandboxLimits
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Enforcer, Guard, Tool
from skillweave.schema.entity import Domain
from skillweave.schema.record import Row
from skillweave.world.contract import problems
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.contracts.visibility import hidden_deciding_columns
from synth.engine.context import Context
from synth.policy.review import ReviewParams
from synth.questions.types import Mended
from synth.search.blocking_rules import why_nobody_can
from synth.simulation.build import HistoryResult, close_gaps, simulate_history
from synth.simulation.coverage import BRIEF
from synth.simulation.events import broken_invariants
from synth.simulation.generation import filled_tables, run_generator, state_of
from synth.simulation.history import HistoryPlan
from synth.trial.draft import PLACEHOLDER_INVARIANT, problem_text, server_initials, with_prefixes
from synth.trial.faults import BlueprintFault, BlueprintPart, hidden_rows, indistinguishable_rows, unfilled_tables
from synth.trial.generator import write_generator
from synth.trial.repair import REMOVAL_REASONS, apply_repair, repair_context, repair_faults, without_part

LONGER_HISTORY = 4
"""Factor on the visits, if nobody could use some tool in the first history."""
MOST_BROKEN_PARTS = 8
"""Parts of the contract that may break before no further history is simulated."""


@dataclass(frozen=True)
class TrialOutcome:
    """What a trial has shown."""

    faults: list[BlueprintFault]
    unsound: Collection[str] = ()
    """Rules whose breach would corrupt the data, so that the tools must hold them."""


def try_blueprint(blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits, plan: HistoryPlan) -> TrialOutcome:
    """Try a blueprint.

    Args:
        blueprint: The blueprint, with the enforcer of each rule decided.
        seed: The run's seed.
        now: The clock at the history's end.
        limits: Of the sandbox in which first rows are drawn.
        plan: How much happens in the history.
    """
    static_faults = [*unfilled_tables(blueprint), *hidden_rows(blueprint)]
    if any(fault.fatal for fault in static_faults):
        return TrialOutcome(static_faults)
    blueprint_with_ids = with_prefixes(blueprint, server_initials([blueprint.server])[blueprint.server])
    rows, faults = _first_rows(blueprint_with_ids, seed, now, limits)
    if faults:
        return TrialOutcome([*static_faults, *faults])
    result, broken = _simulated(blueprint_with_ids, rows, now, plan, f"{seed}/{blueprint_with_ids.server}/trial")
    return TrialOutcome([*static_faults, *broken, *_faults_of_history(blueprint_with_ids, result, now)], result.unsound)


def _simulated(
    blueprint: Blueprint, rows: Mapping[str, Sequence[Row]], now: str, plan: HistoryPlan, seed: str
) -> tuple[HistoryResult, list[BlueprintFault]]:
    """A history, and a fault for each part that broke; after each the history is simulated again without that part."""
    faults: list[BlueprintFault] = []
    while (result := simulate_history(blueprint, rows, now, plan, seed, BRIEF)).fault:
        tools = (result.broken,) if result.part == "tool" else ()
        faults.append(
            BlueprintFault(result.part, result.broken, f"{result.fault}{_hint(blueprint, result)}", tools=tools)
        )
        remaining = without_part(blueprint, faults[-1])
        if remaining is None or len(faults) == MOST_BROKEN_PARTS:
            break
        blueprint = remaining
    if result.summary is not None and result.summary.coverage.failing_tools:
        # Some tools can be used only after others. A longer history, with its gaps closed, gives them a chance.
        longer = simulate_history(blueprint, rows, now, replace(plan, visits=LONGER_HISTORY * plan.visits), seed)
        result = close_gaps(blueprint, longer if longer.summary else result, now, seed)
    return result, faults


def _hint(blueprint: Blueprint, result: HistoryResult) -> str:
    """What the author has to see of the part that broke; contracts of tools are shown anyway."""
    if result.part == "tool":
        return ""
    if result.part == "event":
        (event,) = (event for event in blueprint.events if event.name == result.broken)
        return f". It picks by {event.pick!r}. Mend the event"
    (never,) = (invariant.never for invariant in blueprint.invariants if invariant.id == result.broken)
    return f" (no row may ever come of {never!r}). Mend the invariant, or what broke it"


def _first_rows(
    blueprint: Blueprint, seed: int, now: str, limits: SandboxLimits
) -> tuple[dict[str, list[Row]], list[BlueprintFault]]:
    """The rows that are there before anybody uses a tool, by table, and what is wrong with them."""
    filled = filled_tables(blueprint)
    try:
        script = write_generator(blueprint.server, blueprint.core_entity, filled, blueprint.tables)
    except AuthorError as error:
        return {}, [BlueprintFault("company", "", str(error))]
    # The rows first, without invariants: an invariant can only be checked on sound rows.
    rows, complaints = run_generator(
        script, blueprint.model_copy(update={"invariants": [PLACEHOLDER_INVARIANT]}), seed, now, limits
    )
    if complaints:
        return {}, [
            BlueprintFault(*_part_named(text, blueprint), f"drawing the first rows: {text}") for text in complaints
        ]
    connection = state_of(rows, blueprint)
    broken = broken_invariants(connection, blueprint)
    connection.close()
    never = {invariant.id: invariant.never for invariant in blueprint.invariants}
    return rows, [
        BlueprintFault(
            "invariant",
            one.invariant,
            f"of the first rows, drawn as the tables say: {one} ({never[one.invariant]!r}). Let `generate` draw rows "
            "that keep it (`sql` for what follows from other columns), or mend the invariant",
        )
        for one in broken
    ]


def _part_named(text: str, blueprint: Blueprint) -> tuple[BlueprintPart, str]:
    """The table that a complaint is about: the one whose rows were being drawn, or the first one named."""
    drawing = [entity.name for entity in blueprint.tables if f", in rows_of_{entity.table}\n" in text]
    if drawing:
        return "table", drawing[-1]
    for mark in "',:.":
        text = text.replace(mark, " ")
    words = text.split()
    named = next((entity.name for word in words for entity in blueprint.tables if entity.table == word), None)
    return ("table", named) if named else ("company", "")


def _faults_of_history(blueprint: Blueprint, result: HistoryResult, now: str) -> Iterator[BlueprintFault]:
    if result.summary is None:
        return
    world = World(blueprint, state_of(result.rows, blueprint), now=now)
    yield from indistinguishable_rows(world)
    for name in result.summary.coverage.failing_tools:
        why = why_nobody_can(world, blueprint.tool(name), Random(name))
        yield BlueprintFault("tool", name, f"people lived with the company for weeks, and {why}", tools=(name,))
    for entity in blueprint.tables:
        if not result.summary.rows.get(entity.table):
            makers = [tool.name for tool in blueprint.tools if _inserts(tool, entity.table)]
            yield BlueprintFault(
                "table",
                entity.name,
                f"the table {entity.table} stays empty, though {', '.join(makers)} could fill it",
                fatal=False,
                tools=tuple(makers),
            )


def _inserts(tool: Tool, table: str) -> bool:
    statements = (parse(effect.sql) for effect in tool.effects)
    return any(isinstance(one.tree, exp.Insert) and one.target == table for one in statements)


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
