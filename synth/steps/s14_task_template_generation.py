"""s14: turn goals and stories into task templates over the tool graph.

Authors say what people want; the graph says how each row that it takes can be found. A goal whose tools, links or rows
are not there goes back to its author, and is left out where it stays so. Random walks would run too, and make no sense.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.goal import Goal
from skillweave.schema.template import TaskTemplate
from synth.artifacts import BLUEPRINTS, CONTRACTS, FUSIONS, MEDIATIONS, SUMMARIES, TEMPLATES, TOOL_GRAPHS
from synth.context import Context
from synth.fusion.contract import fused_contract, is_fused
from synth.fusion.stories import NoTemplate, template_of
from synth.gates.across import refusable
from synth.graph.columns import origins
from synth.partial import sound_part
from synth.questions.types import RowWords
from synth.step import Params, step
from synth.tasks.kinds.derived import derived
from synth.tasks.kinds.refusals import refusals
from synth.tasks.templates import goal_faults, template

GOALS = question("tasks.goals", returns=list[Goal], most=200, under="goals")
REFERENCES = question("tasks.references", returns=list[RowWords], most=128, under="references")


NO_WORDS = "words for what no read returns"
"""Why a read's words are left out."""


class TemplateParams(Params):
    goals: int = Field(default=30, ge=1)
    """Goals to ask for in each world, at most."""


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[BLUEPRINTS, SUMMARIES, CONTRACTS, FUSIONS, MEDIATIONS, TOOL_GRAPHS],
    writes=[TEMPLATES],
    params=TemplateParams,
    questions=[GOALS, REFERENCES],
)
async def task_template_generation(ctx: Context[TemplateParams], key: str) -> None:
    templates = await (_stories(ctx) if is_fused(ctx) else _goals(ctx))
    for made in templates:
        ctx.count(f"{made.kind} templates")
    ctx.write(TEMPLATES, key, templates)


async def _goals(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """What people want of one domain."""
    blueprint, graph, summary = ctx.read(BLUEPRINTS), ctx.read(TOOL_GRAPHS), ctx.read(SUMMARIES)
    columns = {tool.name: list(origins(tool)) for tool in blueprint.tools}
    referred_by = await _referred_by(ctx, blueprint)
    goals = await sound_part(
        ctx,
        GOALS,
        lambda answer: goal_faults(answer, blueprint, graph, columns),
        "a goal that no call reaches",
        name=lambda goal: goal.name,
        blueprint=blueprint,
        columns=columns,
        counts=summary.rows,
        stories=[edge for edge in graph.edges if edge.kind == "story"],
        count=ctx.params.goals,
    )
    if len(goals) > ctx.params.goals:
        ctx.reject(f"{len(goals) - ctx.params.goals} goals", "more than were asked for")
        goals = goals[: ctx.params.goals]
    made = [template(goal, blueprint, graph, referred_by) for goal in goals]
    # Where nobody wants anything, nobody wants what is forbidden either.
    return [*made, *(derived(made, blueprint, graph, referred_by) if made else [])]


async def _stories(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """The stories of a fused world whose bridge rules were all kept, and requests that such a rule forbids."""
    contract, graph = fused_contract(ctx), ctx.read(TOOL_GRAPHS)
    referred_by = await _referred_by(ctx, contract)
    numbers = ctx.read(MEDIATIONS).numbers
    kept = []
    for story in ctx.read(FUSIONS).storylines:
        try:
            kept.append(template_of(story, contract, graph, referred_by, numbers))
        except NoTemplate as fault:
            ctx.reject(f"{story.name} ({fault})", "a bridge rule that it leans on was not kept")
    return [*kept, *(refusals(kept, contract, graph, referred_by, refusable(contract)) if kept else [])]


async def _referred_by(ctx: Context[TemplateParams], blueprint: Blueprint) -> dict[str, list[str]]:
    """Read -> the columns by which people refer to its rows."""
    reads = {tool.name: list(origins(tool)) for tool in blueprint.tools if tool.kind == "read"}
    words = await sound_part(
        ctx,
        REFERENCES,
        lambda answer: [word_faults(row, reads) for row in answer],
        NO_WORDS,
        name=lambda row: row.read,
        blueprint=blueprint,
        columns=reads,
    )
    return {row.read: list(row.columns) for row in words}


def word_faults(words: RowWords, reads: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the columns by which people are said to refer to a read's rows."""
    if words.read not in reads:
        return [f"there is no read {words.read!r}; there are {', '.join(reads)}"]
    returned = reads[words.read]
    return [
        f"{words.read} returns no {column!r}; it returns {', '.join(returned)}"
        for column in words.columns
        if column not in returned
    ]
