"""s04: write the blueprint of each domain's server: relationships, the rule book, contracts, invariants, and a trial.

Only what the graph connects with the core person is built on. The rule book comes first and whole: the tools, and every
rule as a sentence that stands there once. Contracts then say the same in SQL, a few tools a question, each with the
whole book in sight. Who holds a rule is decided here: what keeps the data sound is the tool's, and of the business
rules a share is left to the agent, who has to know the policy and be able to see what decides.

Nothing is accepted untried: rows are drawn, people live with the tools for a while, and what goes wrong is sent back to
the author, all of it together, a bounded number of times. What stays wrong is taken out, with its reason, as long as
what is left is a world. So is what a later step has sent back.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.elements import ElementCheck
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Enforcer, Guard
from skillweave.schema.entity import Domain, Entity, EntityGraph
from skillweave.world.contract import problems
from synth.artifacts import DOMAIN_TOPICS, DRAFTS, ENTITIES, ENTITY_GRAPH
from synth.contracts.visibility import hidden_deciding_columns
from synth.engine.context import Context
from synth.engine.step import step
from synth.policy.review import DECIDE, REWORD, ReviewParams, review_rules
from synth.questions.partial import ask_partial
from synth.questions.types import Contract, Mended, RuleBook, Rules
from synth.simulation.history import HistoryPlan
from synth.steps.s03_entity_graph import reachable
from synth.trial.draft import draft_of, fatal_faults, faults_by_table, problem_text, table_faults
from synth.trial.faults import BlueprintFault
from synth.trial.repair import REMOVAL_REASONS, apply_repair, repair_context, repair_faults, without_part
from synth.trial.rule_book import book_faults, contract_faults, tools_of
from synth.trial.trial import TrialOutcome, try_blueprint

RELATIONSHIPS = question("blueprint.relationships", returns=list[Entity], most=32, under="relationships")
BOOK = question("blueprint.book", returns=RuleBook)
CONTRACTS = question("blueprint.contracts", returns=list[Contract], most=40, under="contracts")
RULES = question("blueprint.rules", returns=Rules)
MEND = question("blueprint.mend", returns=Mended)


class BlueprintParams(ReviewParams):
    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the business rules that the agent holds, not the tool."""
    tools: int = Field(default=14, ge=3, le=40)
    """Tools to ask for."""
    min_tools: int = Field(default=8, ge=3)
    """Fewer tools than this make no world."""
    contracts_at_once: int = Field(default=8, ge=1)
    """Tools whose contracts are asked for in one question."""
    trial_visits: int = Field(default=250, ge=0)
    """Visits of the history in which a blueprint is tried."""
    mends: int = Field(default=2, ge=0)
    """How often what a trial has shown goes back to the author."""


@step(
    each=ENTITY_GRAPH,
    reads=[DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH],
    writes=[DRAFTS],
    params=BlueprintParams,
    questions=[RELATIONSHIPS, BOOK, CONTRACTS, RULES, REWORD, DECIDE, MEND],
)
async def blueprint_generation(ctx: Context[BlueprintParams], key: str) -> None:
    domain, graph = ctx.read(DOMAIN_TOPICS), ctx.read(ENTITY_GRAPH)
    near = reachable(graph)
    entities = [entity for entity in ctx.read(ENTITIES) if entity.name in near]
    relationships = await _relationships(ctx, domain, entities, graph)
    book = await ctx.ask(
        BOOK,
        domain=domain,
        tables=[*entities, *relationships],
        now=ctx.now,
        count=ctx.params.tools,
        least=ctx.params.min_tools,
        check=lambda answer: book_faults(answer, ctx.params.min_tools),
    )
    draft = draft_of(domain, entities, relationships, book.title)
    draft = draft.model_copy(update={"tools": tools_of(book, await _contracts(ctx, domain, draft, book))})
    draft = await review_rules(ctx, draft)
    _must_be_a_world(ctx, draft)
    rules = await ctx.ask(
        RULES,
        domain=domain,
        tables=draft.tables,
        tools=draft.tools,
        now=ctx.now,
        check=lambda answer: fatal_faults(_with_rules(draft, answer)),
    )
    blueprint = await _lived_in(ctx, domain, _with_rules(draft, rules))
    for problem in problems(blueprint):
        ctx.log(f"note: {problem_text(problem)}")
    ctx.count("tools", len(blueprint.tools))
    ctx.count("guards", sum(len(tool.guards) for tool in blueprint.tools))
    ctx.write(DRAFTS, key, blueprint)


async def _contracts(ctx: Context[BlueprintParams], domain: Domain, draft: Blueprint, book: RuleBook) -> list[Contract]:
    """The contracts of the tools in the book, less those that stay wrong."""

    async def some(names: Sequence[str]) -> list[Contract]:
        try:
            return await ask_partial(
                ctx,
                CONTRACTS,
                lambda answer: [contract_faults(one, draft, book) for one in answer],
                "no sound contract for a tool",
                name=lambda one: one.tool,
                wanted=names,
                key=f"{ctx.key}/{names[0]}",
                domain=domain,
                draft=draft,
                book=book,
                asked=names,
                now=ctx.now,
            )
        except AuthorError as error:
            ctx.reject(f"{', '.join(names)}: {error}", "no sound contract for a tool")
            return []

    groups = in_groups([tool.name for tool in book.tools], ctx.params.contracts_at_once)
    found = await asyncio.gather(*map(some, groups))
    return [contract for some in found for contract in some]


def in_groups(names: Sequence[str], most: int) -> list[Sequence[str]]:
    """The names in their order, in as few groups as can be, of nearly equal size."""
    count = -(-len(names) // most)
    bounds = [round(place * len(names) / count) for place in range(count + 1)]
    return [names[start:end] for start, end in pairwise(bounds)]


async def _lived_in(ctx: Context[BlueprintParams], domain: Domain, blueprint: Blueprint) -> Blueprint:
    """The blueprint after its trial: mended by its author where anything went wrong, or without what stayed wrong."""
    sent_back = [BlueprintFault("company", "", reason, fatal=False) for reason in ctx.sent_back]
    blueprint, trial = await _tried(ctx, blueprint)
    for _ in range(ctx.params.mends):
        faults = [*sent_back, *trial.faults]
        changed = await _mended(ctx, domain, blueprint, faults) if faults else blueprint
        if changed == blueprint:
            break
        sent_back = []
        blueprint, trial = await _tried(ctx, changed)
    while (fault := next((fault for fault in trial.faults if fault.fatal), None)) is not None:
        left = without_part(blueprint, fault)
        if left is None:
            raise AuthorError(f"{ctx.key} cannot be lived in: {fault.says}")
        ctx.reject(f"{fault.name}: {fault.says}", REMOVAL_REASONS[fault.part])
        for also in trial.faults:
            # Nothing leans on these, so that all can go at once.
            if also.part in ("invariant", "event") and also != fault and also.fatal:
                left = without_part(left, also) or left
                ctx.reject(f"{also.name}: {also.says}", REMOVAL_REASONS[also.part])
        _must_be_a_world(ctx, left)
        blueprint, trial = await _tried(ctx, left)
    for noted in trial.faults:
        ctx.log(f"note: {noted.says}")
    return blueprint


async def _tried(ctx: Context[BlueprintParams], blueprint: Blueprint) -> tuple[Blueprint, TrialOutcome]:
    """The blueprint with its rules' enforcers settled, and what its trial has shown."""
    shuffle = ctx.random(ctx.key, "enforcers").shuffle
    held = with_enforcers(blueprint, ctx.params.agent_rules, shuffle)
    plan = HistoryPlan(visits=ctx.params.trial_visits, days=60)
    trial = await ctx.offload(try_blueprint, held, ctx.seed, ctx.now, ctx.sandbox, plan)
    return held_by_tools(held, trial.unsound), trial


async def _mended(
    ctx: Context[BlueprintParams], domain: Domain, blueprint: Blueprint, faults: Sequence[BlueprintFault]
) -> Blueprint:
    """The blueprint as its author mends it; as it is where they do not."""
    try:
        given = await ctx.ask(
            MEND,
            domain=domain,
            blueprint=blueprint,
            concerned=repair_context(blueprint, faults),
            faults=[fault.says for fault in faults],
            now=ctx.now,
            check=lambda answer: (
                repair_faults(blueprint, answer) or _world_faults(ctx, apply_repair(blueprint, answer))
            ),
        )
    except AuthorError as error:
        ctx.log(f"not mended: {error}")
        return blueprint
    changed = apply_repair(blueprint, given)
    return blueprint if changed == apply_repair(blueprint, Mended()) else changed


def _must_be_a_world(ctx: Context[BlueprintParams], draft: Blueprint) -> None:
    """Raise AuthorError where what is left is none."""
    for fault in _world_faults(ctx, draft):
        raise AuthorError(fault)


def _world_faults(ctx: Context[BlueprintParams], draft: Blueprint) -> list[str]:
    """Why a draft is no world: too few tools, nobody can sign in, or nothing can be done."""
    kinds = [tool.kind for tool in draft.tools]
    least = ctx.params.min_tools
    if len(kinds) < least or not {"auth", "write"} <= {*kinds}:
        return [
            f"only {len(kinds)} tools of {ctx.key} are sound; at least {least} make a world, one of them of kind auth "
            "and one a write"
        ]
    return []


def _with_rules(draft: Blueprint, rules: Rules) -> Blueprint:
    return draft.model_copy(update={"invariants": rules.invariants, "events": rules.events})


def with_enforcers(blueprint: Blueprint, share: float, shuffle: Callable[[list[str]], None]) -> Blueprint:
    """The blueprint with each rule's enforcer settled: a share of the business rules is the agent's.

    Only rules whose facts some read shows: nobody can be held to what they cannot see.
    """
    concerns: dict[str, set[str]] = {}
    for tool in blueprint.tools:
        for guard in tool.guards:
            concerns.setdefault(guard.rule, set()).add(guard.concern)
    soft = sorted(rule for rule, found in concerns.items() if not found & STRUCTURAL)
    shuffle(soft)
    hidden = {rule for _, rule, _ in hidden_deciding_columns(blueprint)}
    agents = [rule for rule in soft if rule not in hidden][: round(len(soft) * share)]
    return _enforced(blueprint, lambda guard: "agent" if guard.rule in agents else "tool")


def held_by_tools(blueprint: Blueprint, rules: Collection[str]) -> Blueprint:
    """The blueprint with some rules taken from the agent: their breach would spoil the data."""
    return _enforced(blueprint, lambda guard: "tool" if guard.rule in rules else guard.enforced_by)


def _enforced(blueprint: Blueprint, enforcer: Callable[[Guard], Enforcer]) -> Blueprint:
    tools = [
        tool.model_copy(
            update={
                "guards": [guard.model_copy(update={"enforced_by": enforcer(guard)}) for guard in tool.guards],
            }
        )
        for tool in blueprint.tools
    ]
    return blueprint.model_copy(update={"tools": tools})


async def _relationships(
    ctx: Context[BlueprintParams], domain: Domain, entities: list[Entity], graph: EntityGraph
) -> list[Entity]:
    near = reachable(graph)
    relations = [relation for relation in graph.relations if {relation.source, relation.target} <= near]
    wanted = {relation.through for relation in relations if relation.through}

    def faults(answer: Sequence[Entity]) -> list[list[str]]:
        found = [
            f"{entity.name}.{attribute.name} is shared; only {entities[0].name}, the person served, shares attributes"
            for entity in answer
            for attribute in entity.attributes
            if attribute.shared
        ]
        found += [f"{one.name} is in no relation; leave it out" for one in answer if one.name not in wanted]
        return faults_by_table(found or table_faults(draft_of(domain, entities, answer)), answer) if answer else []

    if not wanted:
        return []
    parts: ElementCheck[list[Entity]] = ElementCheck(faults, lambda entity: entity.name, sorted(wanted))
    return await ctx.ask(RELATIONSHIPS, domain=domain, entities=entities, relations=relations, now=ctx.now, check=parts)
