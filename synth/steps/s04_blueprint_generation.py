"""s04: write the blueprint of each domain's server: relationships, tools in outline, contracts, rules.

Only what the graph connects with the core person is built on. Each part is asked for by itself and checked at once, so
that an author mends one contract and not all; the whole is checked at the end. Who holds a rule is decided here: what
keeps the data sound is the tool's, and of the business rules a share is left to the agent, who has to know the policy.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from pydantic import Field

from skillweave.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import STRUCTURAL, Invariant, Tool
from skillweave.schema.domain import Domain
from skillweave.schema.entity import Entity
from skillweave.schema.graph import EntityGraph
from skillweave.world.contract import problems
from synth.artifacts import DOMAIN_TOPICS, DRAFTS, ENTITIES, ENTITY_GRAPH
from synth.context import Context
from synth.policy.audit import audit
from synth.questions.types import Outline, Relationships, Rules
from synth.step import Params, step
from synth.steps.s03_entity_graph import reachable

RELATIONSHIPS = question("blueprint.relationships", returns=Relationships)
OUTLINE = question("blueprint.outline", returns=Outline)
TOOL = question("blueprint.tool", returns=Tool)
RULES = question("blueprint.rules", returns=Rules)


class BlueprintParams(Params):
    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the business rules that the agent holds, not the tool."""
    min_tools: int = Field(default=8, ge=3)
    """Fewer tools than this make no world."""


@step(
    each=ENTITY_GRAPH,
    reads=[DOMAIN_TOPICS, ENTITIES, ENTITY_GRAPH],
    writes=[DRAFTS],
    params=BlueprintParams,
    questions=[RELATIONSHIPS, OUTLINE, TOOL, RULES],
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
        check=lambda answer: _outline_faults(answer, ctx.params.min_tools),
    )
    bare = Blueprint(
        server=key,
        domain=domain.topic,
        title=outline.title,
        core_entity=graph.core_entity,
        entities=entities,
        relationships=relationships,
        tools=[],
        invariants=[Invariant(id="placeholder", never="SELECT 1 WHERE 0")],
    )
    tools = await asyncio.gather(
        *(
            ctx.ask(
                TOOL,
                key=f"{key}/{tool.name}",
                domain=domain,
                entities=entities,
                relationships=relationships,
                outlines=outline.tools,
                outline=tool,
                check=partial(_tool_faults, bare, tool.name),
            )
            for tool in outline.tools
        )
    )
    rules = await ctx.ask(RULES, domain=domain, entities=entities, relationships=relationships, tools=tools)
    held = with_enforcers(tools, ctx.params.agent_rules, ctx.random(key, "enforcers").shuffle)
    blueprint = bare.model_copy(update={"tools": held, "invariants": rules.invariants, "events": rules.events})
    found = problems(blueprint)
    fatal = [f"{problem.where}: {problem.message}" for problem in found if problem.fatal]
    if fatal:
        raise AuthorError(f"the blueprint of {key} has {len(fatal)} faults: {'; '.join(fatal[:6])}")
    for problem in found:
        ctx.log(f"note: {problem.where}: {problem.message}")
    ctx.count("tools", len(held))
    ctx.count("guards", sum(len(tool.guards) for tool in held))
    ctx.count("notes", len(found))
    ctx.write(DRAFTS, key, blueprint)


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
        known = {entity.name for entity in entities} | set(given)
        for entity in answer.relationships:
            for attribute in entity.attributes:
                target = (attribute.references or "").partition(".")[0]
                if target and target not in known:
                    found.append(f"{entity.name}.{attribute.name} references {attribute.references!r}: no such entity")
        return found

    answer = await ctx.ask(RELATIONSHIPS, domain=domain, entities=entities, relations=relations, check=faults)
    return answer.relationships


def _outline_faults(outline: Outline, least: int) -> list[str]:
    names = [tool.name for tool in outline.tools]
    found = [f"tool {name!r} comes twice" for name in sorted({name for name in names if names.count(name) > 1})]
    if sum(tool.kind == "auth" for tool in outline.tools) != 1:
        found.append("exactly one tool must be of kind auth")
    if len(names) < least:
        found.append(f"{len(names)} tools, at least {least} are needed")
    return found


def _tool_faults(bare: Blueprint, name: str, tool: Tool) -> list[str]:
    if tool.name != name:
        return [f"the tool is named {tool.name!r}, not {name!r}"]
    alone = bare.model_copy(update={"tools": [tool]})
    fatal = [problem for problem in problems(alone) if problem.fatal and name in problem.where]
    return [f"{problem.where}: {problem.message}" for problem in fatal] or audit(alone)
