"""s11: have stories written that need several domains at once, and prove that they do.

First each domain's part of a story is tried on its own world, with what the other side would supply. A story that fails
there is rejected at little cost. The others are carried out on the fused world, and each domain's calls are left out in
turn: what remains must break, at a rule or at an argument that has lost its only source.
"""

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.fusion import Storyline
from synth.artifacts import BLUEPRINTS, DATABASE, DOMAIN_COMBINATIONS, ENTITY_ROWS, FUSIONS, TOOL_GRAPHS
from synth.contracts.visibility import column_origins
from synth.engine.artifact import every
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.blueprint import fuse
from synth.fusion.links import fused_graph
from synth.questions.partial import ask_partial
from synth.search.row_words import REFERENCES, ask_row_words
from synth.stories.faults import faults_by_story
from synth.stories.proof import StoryInputs, try_stories

STORIES = question("fusion.stories", returns=list[Storyline], most=64, under="storylines")


class FusionParams(Params):
    stories: int = Field(default=10, ge=1)
    """Stories to ask for in each combination, at most."""


@step(
    each=DOMAIN_COMBINATIONS,
    reads=[DOMAIN_COMBINATIONS, every(BLUEPRINTS), every(DATABASE), every(ENTITY_ROWS), every(TOOL_GRAPHS)],
    writes=[FUSIONS],
    params=FusionParams,
    questions=[STORIES, REFERENCES],
    mode="cross",
)
async def trajectory_fusion(ctx: Context[FusionParams], key: str) -> None:
    combination = ctx.read(DOMAIN_COMBINATIONS)
    blueprints = {server: ctx.read(BLUEPRINTS, server) for server in combination.domains}
    fused = fuse(list(blueprints.values()))
    columns = {tool.name: list(column_origins(tool)) for tool in fused.tools}
    stories = await ask_partial(
        ctx,
        STORIES,
        lambda answer: faults_by_story(answer, fused),
        "a story of what is not there",
        name=lambda story: story.name,
        blueprint=fused,
        links=combination.links,
        columns=columns,
        count=ctx.params.stories,
    )
    if len(stories) > ctx.params.stories:
        ctx.reject(f"{len(stories) - ctx.params.stories} stories", "more than were asked for")
        stories = stories[: ctx.params.stories]
    people = ctx.read(ENTITY_ROWS, combination.person)
    inputs = StoryInputs(
        fused=fused,
        blueprints=blueprints,
        databases={server: ctx.path(DATABASE, server) for server in combination.domains},
        people=people,
        graph=fused_graph(fused, {server: ctx.read(TOOL_GRAPHS, server) for server in combination.domains}),
        referred_by=await ask_row_words(ctx, fused),
        now=ctx.now,
        seed=f"{ctx.seed}/{key}",
    )
    fusion = await ctx.offload(try_stories, inputs, stories)
    for pruned in fusion.pruned:
        ctx.reject(f"{pruned.storyline} ({pruned.reason})", "not feasible on a single world")
    for name, reason in fusion.rejected.items():
        ctx.reject(f"{name} ({reason})", "not carried out, or not interlocked, on the fused world")
    ctx.count("stories", len(stories))
    ctx.count("stories proven", len(fusion.storylines))
    ctx.count("searches", fusion.searches)
    ctx.count("searches saved", sum(pruned.saved for pruned in fusion.pruned))
    if not fusion.storylines:
        raise AuthorError(f"no story joins {', '.join(combination.domains)}; the step's log says why for each")
    ctx.write(FUSIONS, key, fusion)
