"""s08: draw each server's tool graph: what signs in, what feeds what, what enables what, what people do in a row.

Data and state edges follow from the contract, and each is executed on the database. Story edges come from the author;
those that name tools which do not exist are left out.
"""

from pathlib import Path
from random import Random

from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.template import ToolEdge, ToolGraph
from skillweave.world.world import World
from synth.artifacts import BLUEPRINTS, DATABASE, TOOL_GRAPHS
from synth.contracts.writes import auth_edges, data_edges, state_edges
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.questions.types import Story, ask_partial
from synth.simulation.coverage import EdgeProver

STORIES = question("tools.stories", returns=list[Story], most=64, under="stories")


@step(each=BLUEPRINTS, reads=[BLUEPRINTS, DATABASE], writes=[TOOL_GRAPHS], params=Params, questions=[STORIES])
async def tool_graph_generation(ctx: Context[Params], key: str) -> None:
    blueprint, database = ctx.read(BLUEPRINTS), ctx.path(DATABASE)
    stories = await ask_partial(
        ctx,
        STORIES,
        lambda answer: [story_faults(story, blueprint) for story in answer],
        "a story between tools that are not there",
        name=lambda story: f"{story.source} -> {story.target}",
        blueprint=blueprint,
    )
    edges = await ctx.offload(run_edges, blueprint, database, ctx.now, f"{ctx.seed}/{key}/edges")
    story_edges = [ToolEdge(source=s.source, target=s.target, kind="story", reason=s.reason) for s in stories]
    for edge in edges:
        ctx.count(f"{edge.kind} edges {edge.proof}")
    ctx.count("story edges", len(story_edges))
    tools = [tool.name for tool in blueprint.tools]
    ctx.write(TOOL_GRAPHS, key, ToolGraph(server=key, tools=tools, edges=[*edges, *story_edges]))


def run_edges(blueprint: Blueprint, database: Path, now: str, seed: str) -> list[ToolEdge]:
    """The edges that follow from the contract, executed on the database.

    A state edge that no execution shows is left out; a data edge is kept as unproven.
    """
    world = World(blueprint, database, now=now)
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
    prover = EdgeProver(world, callers, Random(seed))
    edges = prover.proven([*data_edges(blueprint), *state_edges(blueprint)])
    return [*auth_edges(blueprint), *(edge for edge in edges if edge.kind == "data" or edge.proof == "executed")]


def story_faults(story: Story, blueprint: Blueprint) -> list[str]:
    """What is wrong with a story, in words for its author."""
    kinds = {tool.name: tool.kind for tool in blueprint.tools}
    where = f"{story.source} -> {story.target}"
    unknown = sorted({story.source, story.target} - kinds.keys())
    if unknown:
        return [f"{where}: there is no tool {unknown[0]!r}; there are {', '.join(sorted(kinds))}"]
    if kinds[story.target] != "write":
        writes = ", ".join(sorted(name for name, kind in kinds.items() if kind == "write"))
        return [f"{where}: a story ends in a write, and {story.target} is a {kinds[story.target]}; writes are {writes}"]
    return []
