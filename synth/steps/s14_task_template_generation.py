"""s14: turn goals and stories into task templates over the tool graph.

Authors say what people want; the graph says how each row that it takes can be found. A goal whose tools, links or rows
are not there goes back to its author. Random walks would run too, and make no sense.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from skillweave.llm.question import question
from skillweave.schema.goal import Goal
from synth.artifacts import BLUEPRINTS, SUMMARIES, TEMPLATES, TOOL_GRAPHS
from synth.context import Context
from synth.graph.columns import origins
from synth.questions.types import RowWords
from synth.step import Params, step
from synth.tasks.templates import faults, template

GOALS = question("tasks.goals", returns=list[Goal])
REFERENCES = question("tasks.references", returns=list[RowWords])


class TemplateParams(Params):
    goals: int = Field(default=30, ge=1)
    """Goals to ask for in each world, at most."""


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS, SUMMARIES, TOOL_GRAPHS],
    writes=[TEMPLATES],
    params=TemplateParams,
    questions=[GOALS, REFERENCES],
)
async def task_template_generation(ctx: Context[TemplateParams], key: str) -> None:
    blueprint, graph, summary = ctx.read(BLUEPRINTS), ctx.read(TOOL_GRAPHS), ctx.read(SUMMARIES)
    columns = {tool.name: list(origins(tool)) for tool in blueprint.tools}
    reads = {tool.name: columns[tool.name] for tool in blueprint.tools if tool.kind == "read"}
    words = await ctx.ask(
        REFERENCES, blueprint=blueprint, columns=reads, check=lambda answer: word_faults(answer, reads)
    )
    goals = await ctx.ask(
        GOALS,
        blueprint=blueprint,
        columns=columns,
        counts=summary.rows,
        stories=[edge for edge in graph.edges if edge.kind == "story"],
        count=ctx.params.goals,
        check=lambda answer: [fault for goal in answer for fault in faults(goal, blueprint, graph, columns)],
    )
    referred_by = {row.read: row.columns for row in words}
    templates = [template(goal, blueprint, graph, referred_by) for goal in goals]
    for made in templates:
        ctx.count(f"{made.kind} templates")
    ctx.write(TEMPLATES, key, templates)


def word_faults(words: Sequence[RowWords], reads: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with the columns by which people are said to refer to rows."""
    found = [f"there is no read {row.read!r}; there are {', '.join(reads)}" for row in words if row.read not in reads]
    for row in words:
        found += [f"{row.read} returns no {c!r}" for c in row.columns if row.read in reads and c not in reads[row.read]]
    return found
