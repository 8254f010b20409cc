"""s14: turn goals and stories into task templates over the tool graph.

Authors say what people want; the graph says how each row that it takes can be found. Each goal is tried on the data at
once. A goal whose tools, links or rows do not exist, or that nobody can have, goes back to its author with the reason,
and is left out if that remains. The author is asked once more for goals of writes that no goal needs.
"""

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.template import Goal, TaskTemplate
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    FUSIONS,
    MEDIATIONS,
    SUMMARIES,
    TEMPLATES,
    TOOL_GRAPHS,
    fused_contract,
    is_fused,
)
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.gates.interlock import refusable_bridge_rules
from synth.questions.types import ask_partial
from synth.search.row_words import REFERENCES, ask_row_words
from synth.stories.proof import NoTemplateError, template_of
from synth.tasks.able_persons import templates_on_data
from synth.tasks.forms import FORMS, templates_from
from synth.tasks.goals import GoalTrials, persons_able, unwanted_writes
from synth.tasks.kinds import KINDS, TemplateSource

GOALS = question("tasks.goals", returns=list[Goal], most=200, under="goals")


class TemplateParams(Params):
    goals: int = Field(default=30, ge=1)
    """Goals to ask for in each world, at most."""


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[BLUEPRINTS, DATABASE, SUMMARIES, CONTRACTS, FUSIONS, MEDIATIONS, TOOL_GRAPHS],
    writes=[TEMPLATES],
    params=TemplateParams,
    questions=[GOALS, REFERENCES],
    registries=[KINDS, FORMS],
)
async def task_template_generation(ctx: Context[TemplateParams], key: str) -> None:
    templates = await (_stories(ctx) if is_fused(ctx) else _goals(ctx))
    for template in templates:
        ctx.count(f"{template.kind} templates")
    ctx.write(TEMPLATES, key, templates)


async def _goals(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """The templates of what people want of one domain, and those that follow from them."""
    blueprint, graph = ctx.read(BLUEPRINTS), ctx.read(TOOL_GRAPHS)
    trials = GoalTrials(ctx, blueprint, graph, await ask_row_words(ctx, blueprint, on_data=True))
    goals = await _ask_goals(ctx, trials, [])
    if unwanted_writes(goals, blueprint) and len(goals) < ctx.params.goals:
        try:
            goals += await _ask_goals(ctx, trials, goals)
        except AuthorError as error:
            ctx.log(f"no goals for {', '.join(tool.name for tool in unwanted_writes(goals, blueprint))}: {error}")
    source = TemplateSource(blueprint, graph, trials.referred_by)
    made = [trials.template(goal) for goal in goals]
    return await ctx.offload(templates_on_data, made, source, ctx.path(DATABASE), ctx.now, ctx.splits, str(ctx.seed))


async def _ask_goals(ctx: Context[TemplateParams], trials: GoalTrials[TemplateParams], known: list[Goal]) -> list[Goal]:
    """Ask for goals; if some are known, for further ones that need the writes which those leave out."""
    blueprint, summary = trials.blueprint, ctx.read(SUMMARIES)
    able_to, persons = await ctx.offload(persons_able, blueprint, ctx.path(DATABASE), ctx.now)
    most = ctx.params.goals - len(known)
    goals = await ask_partial(
        ctx,
        GOALS,
        trials.faults,
        "a goal that nobody can have",
        name=lambda goal: goal.name,
        key=f"{ctx.key}/more" if known else None,
        blueprint=blueprint,
        columns=trials.columns,
        counts=summary.rows,
        values=summary.values,
        able=able_to,
        persons=persons,
        stories=[edge for edge in trials.graph.edges if edge.kind == "story"],
        now=ctx.now,
        count=most,
        known=known,
        failed=[*trials.failed.values()],
        why=trials.why,
        unwanted=unwanted_writes(known, blueprint) if known else [],
    )
    names = {goal.name for goal in known}
    goals = [goal for goal in goals if goal.name not in names]
    if len(goals) > most:
        ctx.reject(f"{len(goals) - most} goals", "more than were asked for")
    return goals[:most]


async def _stories(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """The templates of a fused world's stories whose bridge rules were all kept, and those that follow from them."""
    contract, graph = fused_contract(ctx), ctx.read(TOOL_GRAPHS)
    referred_by = await ask_row_words(ctx, contract)
    numbers = ctx.read(MEDIATIONS).numbers
    kept = []
    for story in ctx.read(FUSIONS).storylines:
        try:
            kept.append(template_of(story, contract, graph, referred_by, numbers))
        except NoTemplateError as fault:
            ctx.reject(f"{story.name} ({fault})", "a bridge rule that it leans on was not kept")
    source = TemplateSource(contract, graph, referred_by, refusable_bridge_rules(contract))
    return templates_from(kept, source)
