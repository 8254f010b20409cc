"""s14: turn goals and stories into task templates over the tool graph.

Authors say what people want; the graph says how each row that it takes can be found. Each goal is tried on the data as
it comes. One whose tools, links or rows are not there, or that nobody can have, goes back to its author with the
reason, and is left out where it stays so. Writes of which nobody wants anything are asked about once more.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, TaskTemplate
from synth.artifacts import BLUEPRINTS, CONTRACTS, DATABASE, FUSIONS, MEDIATIONS, SUMMARIES, TEMPLATES, TOOL_GRAPHS
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.gates.interlock import refusable_bridge_rules
from synth.questions.partial import ask_partial
from synth.search.row_words import REFERENCES, ambiguous_reads, ask_row_words
from synth.steps.item_world import fused_contract, is_fused
from synth.stories.proof import NoTemplateError, template_of
from synth.tasks.feasibility import GoalTrials, persons_able
from synth.tasks.kinds import KINDS, TemplateSource, derived_templates

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
    registries=[KINDS],
)
async def task_template_generation(ctx: Context[TemplateParams], key: str) -> None:
    templates = await (_stories(ctx) if is_fused(ctx) else _goals(ctx))
    for made in templates:
        ctx.count(f"{made.kind} templates")
    ctx.write(TEMPLATES, key, templates)


async def _goals(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """What people want of one domain, and what follows from it."""
    blueprint, graph = ctx.read(BLUEPRINTS), ctx.read(TOOL_GRAPHS)
    trials = GoalTrials(ctx, blueprint, graph, await _referred_by(ctx, blueprint))
    goals = await _asked(ctx, trials, [])
    if _unwanted(goals, blueprint) and len(goals) < ctx.params.goals:
        try:
            goals += await _asked(ctx, trials, goals)
        except AuthorError as error:
            ctx.log(f"no goals for {', '.join(tool.name for tool in _unwanted(goals, blueprint))}: {error}")
    templates = [trials.template(goal) for goal in goals]
    return [*templates, *derived_templates(templates, TemplateSource(blueprint, graph, trials.referred_by))]


async def _asked(ctx: Context[TemplateParams], trials: GoalTrials[TemplateParams], known: list[Goal]) -> list[Goal]:
    """Sound goals; with some known, further ones that need the writes that those leave out."""
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
        unwanted=_unwanted(known, blueprint) if known else [],
    )
    names = {goal.name for goal in known}
    goals = [goal for goal in goals if goal.name not in names]
    if len(goals) > most:
        ctx.reject(f"{len(goals) - most} goals", "more than were asked for")
    return goals[:most]


def _unwanted(goals: Sequence[Goal], blueprint: Blueprint) -> list[Tool]:
    """The writes that no goal needs."""
    wanted = {call.tool for goal in goals for call in goal.calls}
    return [tool for tool in blueprint.tools if tool.kind == "write" and tool.name not in wanted]


async def _stories(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """The stories of a fused world whose bridge rules were all kept, and requests that such a rule forbids."""
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
    return [*kept, *derived_templates(kept, source)]


async def _referred_by(ctx: Context[TemplateParams], blueprint: Blueprint) -> dict[str, list[str]]:
    """Read -> the columns by which people refer to its rows, tried on the data."""
    reported: set[str] = set()

    async def ambiguous(columns: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
        faults = await ctx.offload(
            ambiguous_reads, blueprint, ctx.path(DATABASE), ctx.now, columns, f"{ctx.seed}/referring"
        )
        # Each read is reported once: the author knows whether people would say more.
        new = {read: fault for read, fault in faults.items() if read not in reported}
        reported.update(new)
        return new

    return await ask_row_words(ctx, blueprint, ambiguous)
