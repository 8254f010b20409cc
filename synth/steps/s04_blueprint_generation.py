"""s04: write the blueprint of each domain's server: relationships, tools in outline, contracts, rules.

Only what the graph connects with the core person is built on. Each part is asked for by itself and checked at once on
what is there already, so that an author mends one contract and not all. A tool whose contract stays wrong is left out
as long as enough others remain; it costs the domain only where it is the one that signs in. Who holds a rule is decided
here: what keeps the data sound is the tool's, and of the business rules a share is left to the agent, who has to know
the policy.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.call import SESSION_TOOLS
from skillweave.schema.contract import STRUCTURAL, Effect, Guard, Tool
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from skillweave.schema.graph import EntityGraph
from skillweave.world.contract import problems
from skillweave.world.contract.entities import duplicates
from synth.artifacts import DOMAIN_TOPICS, DRAFTS, ENTITIES, ENTITY_GRAPH
from synth.context import Context
from synth.draft import draft_of, fatal_faults, table_faults, told
from synth.policy.audit import audit
from synth.policy.settled import DECIDE, REWORD, SettledParams, settled
from synth.questions.types import Outline, Relationships, Rules, ToolOutline
from synth.step import step
from synth.steps.s03_entity_graph import reachable

RELATIONSHIPS = question("blueprint.relationships", returns=Relationships)
OUTLINE = question("blueprint.outline", returns=Outline)
TOOL = question("blueprint.tool", returns=Tool)
RULES = question("blueprint.rules", returns=Rules)


class BlueprintParams(SettledParams):
    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the business rules that the agent holds, not the tool."""
    min_tools: int = Field(default=8, ge=3)
    """Fewer tools than this make no world."""


@step(
    each=ENTITY_GRAPH,
    reads=[DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH],
    writes=[DRAFTS],
    params=BlueprintParams,
    questions=[RELATIONSHIPS, OUTLINE, TOOL, RULES, REWORD, DECIDE],
)
async def blueprint_generation(ctx: Context[BlueprintParams], key: str) -> None:
    domain, graph = ctx.read(DOMAIN_TOPICS), ctx.read(ENTITY_GRAPH)
    near = reachable(graph)
    entities = [entity for entity in ctx.read(ENTITIES) if entity.name in near]
    relationships = await _relationships(ctx, domain, entities, graph)
    outline = await ctx.ask(
        OUTLINE,
        domain=domain,
        entities=entities,
        relationships=relationships,
        least=ctx.params.min_tools,
        check=lambda answer: outline_faults(answer, ctx.params.min_tools),
    )
    draft = draft_of(domain, entities, relationships, outline.title)
    tools = told_apart(await _tools(ctx, domain, draft, outline))
    tools = (await settled(ctx, draft.model_copy(update={"tools": tools}))).tools
    if len(tools) < ctx.params.min_tools:
        needed = f"at least {ctx.params.min_tools} are needed"
        raise AuthorError(f"only {len(tools)} tools of {key} have rules whose sentences say what they do; {needed}")
    held = with_enforcers(tools, ctx.params.agent_rules, ctx.random(key, "enforcers").shuffle)
    draft = draft.model_copy(update={"tools": held})
    fatal = fatal_faults(draft)
    if fatal:
        raise AuthorError(f"the tools of {key} have {len(fatal)} faults: {'; '.join(fatal[:6])}")
    rules = await ctx.ask(
        RULES,
        domain=domain,
        entities=entities,
        relationships=relationships,
        tools=tools,
        check=lambda answer: fatal_faults(_with_rules(draft, answer)),
    )
    blueprint = _with_rules(draft, rules)
    found = problems(blueprint)
    for problem in found:
        ctx.log(f"note: {told(problem)}")
    ctx.count("tools", len(held))
    ctx.count("guards", sum(len(tool.guards) for tool in held))
    ctx.count("notes", len(found))
    ctx.write(DRAFTS, key, blueprint)


async def _tools(ctx: Context[BlueprintParams], domain: Domain, draft: Blueprint, outline: Outline) -> list[Tool]:
    """The contracts of the tools in outline, less those that stay wrong. AuthorError where too few are left."""
    lost: list[str] = []

    async def contract(tool: ToolOutline) -> Tool | None:
        try:
            return await ctx.ask(
                TOOL,
                key=f"{ctx.key}/{tool.name}",
                domain=domain,
                entities=draft.entities,
                relationships=draft.relationships,
                outlines=outline.tools,
                outline=tool,
                check=partial(tool_faults, draft, tool),
            )
        except AuthorError as error:
            ctx.reject(f"{tool.name}: {error}", "no sound contract for a tool")
            lost.append(str(error))
            return None

    answers = await asyncio.gather(*map(contract, outline.tools))
    tools = [tool for tool in answers if tool is not None]
    if len(tools) < ctx.params.min_tools or not any(tool.kind == "auth" for tool in tools):
        needed = f"at least {ctx.params.min_tools} are needed, one of them of kind auth"
        raise AuthorError(
            f"only {len(tools)} tools of {ctx.key} have a sound contract; {needed}: {'; '.join(sorted(lost))}"
        )
    return tools


def told_apart(tools: Sequence[Tool]) -> list[Tool]:
    """The tools, with a rule's name that two of them use for different sentences made into two.

    They were asked for one by one: the same name need not mean the same rule.
    """
    sentences: dict[str, str] = {}

    def name(part: Guard | Effect, tool: Tool) -> str:
        return part.rule if sentences.setdefault(part.rule, part.says) == part.says else f"{part.rule}/{tool.name}"

    return [
        tool.model_copy(
            update={
                "guards": [part.model_copy(update={"rule": name(part, tool)}) for part in tool.guards],
                "effects": [part.model_copy(update={"rule": name(part, tool)}) for part in tool.effects],
            }
        )
        for tool in tools
    ]


def _with_rules(draft: Blueprint, rules: Rules) -> Blueprint:
    return draft.model_copy(update={"invariants": rules.invariants, "events": rules.events})


def with_enforcers(tools: Sequence[Tool], share: float, shuffle: Callable[[list[str]], None]) -> list[Tool]:
    """The tools with each rule's enforcer settled: structural rules are the tool's, a share of the rest the agent's."""
    concerns: dict[str, set[str]] = {}
    for tool in tools:
        for guard in tool.guards:
            concerns.setdefault(guard.rule, set()).add(guard.concern)
    soft = sorted(rule for rule, found in concerns.items() if not found & STRUCTURAL)
    shuffle(soft)
    agents = set(soft[: round(len(soft) * share)])
    settled = []
    for tool in tools:
        guards = [
            guard.model_copy(update={"enforced_by": "agent" if guard.rule in agents else "tool"})
            for guard in tool.guards
        ]
        settled.append(tool.model_copy(update={"guards": guards}))
    return settled


async def _relationships(
    ctx: Context[BlueprintParams], domain: Domain, entities: list[Entity], graph: EntityGraph
) -> list[Entity]:
    near = reachable(graph)
    relations = [relation for relation in graph.relations if {relation.source, relation.target} <= near]
    wanted = {relation.through for relation in relations if relation.through}

    def faults(answer: Relationships) -> list[str]:
        given = [entity.name for entity in answer.relationships]
        found = [f"relationship {name!r} is missing" for name in sorted(wanted - set(given))]
        found += [f"relationship {name!r} is in no relation of the graph" for name in sorted(set(given) - wanted)]
        found += [
            f"{entity.name}.{attribute.name} is shared; only {entities[0].name}, the person served, shares attributes"
            for entity in answer.relationships
            for attribute in entity.attributes
            if attribute.shared
        ]
        return found or table_faults(draft_of(domain, entities, answer.relationships))

    answer = await ctx.ask(RELATIONSHIPS, domain=domain, entities=entities, relations=relations, check=faults)
    return answer.relationships


def outline_faults(outline: Outline, least: int) -> list[str]:
    """What is wrong with the tools in outline, in words for their author."""
    problem_list = duplicates("outline", "tool", [*(tool.name for tool in outline.tools), *sorted(SESSION_TOOLS)])
    found = [told(problem) for problem in problem_list]
    auth = [tool.name for tool in outline.tools if tool.kind == "auth"]
    if len(auth) != 1:
        found.append(f"exactly one tool must be of kind auth; {len(auth)} are: {', '.join(auth) or 'none'}")
    if len(outline.tools) < least:
        found.append(f"there are {len(outline.tools)} tools; at least {least} are needed")
    return found


def tool_faults(draft: Blueprint, outline: ToolOutline, tool: Tool) -> list[str]:
    """What is wrong with a contract by itself, on the tables of the draft, in words for its author."""
    if (tool.name, tool.kind) != (outline.name, outline.kind):
        return [f"the tool is {tool.name!r} of kind {tool.kind}; asked was {outline.name!r} of kind {outline.kind}"]
    alone = draft.model_copy(update={"tools": [tool]})
    fatal = [problem for problem in problems(alone) if problem.fatal and problem.where.startswith(f"tool {tool.name}")]
    return [told(problem) for problem in fatal] or audit(alone)
