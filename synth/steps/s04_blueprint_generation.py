"""s04: write the blueprint of each domain's server: relationships, rule book, contracts, invariants; then try it.

Only entities that the graph connects with the core person are used. The rule book comes first and whole: the tools, and
every rule as one sentence. Contracts then say the same in SQL, a few tools a question, each with the whole book in
sight. In the end the blueprint is tried (`synth/trial/trial.py`); what goes wrong is repaired or taken out.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.elements import ElementCheck
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.entity import Domain, Entity, Relation
from synth.artifacts import DOMAIN_TOPICS, DRAFTS, ENTITIES, ENTITY_GRAPH
from synth.engine.context import Context
from synth.engine.step import step
from synth.policy.review import DECIDE, REWORD, review_rules
from synth.questions.types import Contract, RuleBook, Rules, ask_partial, in_groups
from synth.steps.s03_entity_graph import reachable
from synth.trial.draft import draft_of, fatal_faults, relationship_faults, with_rules
from synth.trial.rule_book import book_faults, contract_faults, tools_of
from synth.trial.trial import MEND, AcceptanceParams, accepted_blueprint, require_world

RELATIONSHIPS = question("blueprint.relationships", returns=list[Entity], most=32, under="relationships")
BOOK = question("blueprint.book", returns=RuleBook)
CONTRACTS = question("blueprint.contracts", returns=list[Contract], most=40, under="contracts")
RULES = question("blueprint.rules", returns=Rules)
NO_CONTRACT = "no sound contract for a tool"


class BlueprintParams(AcceptanceParams):
    tools: int = Field(default=14, ge=3, le=40)
    """Tools to ask for."""
    contracts_at_once: int = Field(default=8, ge=1)
    """Tools whose contracts are asked for in one question."""


@step(
    each=ENTITY_GRAPH,
    reads=[DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH],
    writes=[DRAFTS],
    params=BlueprintParams,
    questions=[RELATIONSHIPS, BOOK, CONTRACTS, RULES, REWORD, DECIDE, MEND],
)
async def blueprint_generation(ctx: Context[BlueprintParams], key: str) -> None:
    domain, graph = ctx.read(DOMAIN_TOPICS), ctx.read(ENTITY_GRAPH)
    connected = reachable(graph)
    entities = [entity for entity in ctx.read(ENTITIES) if entity.name in connected]
    relations = [relation for relation in graph.relations if {relation.source, relation.target} <= connected]
    relationships = await _relationships(ctx, domain, entities, relations)
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
    require_world(ctx, draft)
    rules = await ctx.ask(
        RULES,
        domain=domain,
        tables=draft.tables,
        tools=draft.tools,
        now=ctx.now,
        check=lambda answer: fatal_faults(with_rules(draft, answer)),
    )
    blueprint = await accepted_blueprint(ctx, domain, with_rules(draft, rules))
    ctx.count("tools", len(blueprint.tools))
    ctx.count("guards", sum(len(tool.guards) for tool in blueprint.tools))
    ctx.write(DRAFTS, key, blueprint)


async def _relationships(
    ctx: Context[BlueprintParams], domain: Domain, entities: list[Entity], relations: list[Relation]
) -> list[Entity]:
    """The tables of what happens between entities: one for each name that a relation goes through."""
    wanted = {relation.through for relation in relations if relation.through}
    if not wanted:
        return []
    faults = partial(relationship_faults, domain, entities, wanted)
    check: ElementCheck[list[Entity]] = ElementCheck(faults, lambda entity: entity.name, sorted(wanted))
    return await ctx.ask(RELATIONSHIPS, domain=domain, entities=entities, relations=relations, now=ctx.now, check=check)


async def _contracts(ctx: Context[BlueprintParams], domain: Domain, draft: Blueprint, book: RuleBook) -> list[Contract]:
    """The contracts of the book's tools, without those that stay wrong."""

    async def contracts_of(names: Sequence[str]) -> list[Contract]:
        try:
            return await ask_partial(
                ctx,
                CONTRACTS,
                lambda answer: [contract_faults(contract, draft, book) for contract in answer],
                NO_CONTRACT,
                name=lambda contract: contract.tool,
                wanted=names,
                key=f"{ctx.key}/{names[0]}",
                domain=domain,
                draft=draft,
                book=book,
                asked=names,
                now=ctx.now,
            )
        except AuthorError as error:
            ctx.reject(f"{', '.join(names)}: {error}", NO_CONTRACT)
            return []

    groups = in_groups([tool.name for tool in book.tools], ctx.params.contracts_at_once)
    return [contract for group in await asyncio.gather(*map(contracts_of, groups)) for contract in group]
