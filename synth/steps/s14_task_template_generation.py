"""s14: turn goals and stories into task templates over the tool graph.

Authors say what people want; the graph says how each row that it takes can be found. Each goal is tried on the data as
it comes. One whose tools, links or rows are not there, or that nobody can have, goes back to its author with the
reason, and is left out where it stays so. Writes of which nobody wants anything are asked about once more.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, TaskTemplate, ToolGraph
from synth.artifacts import BLUEPRINTS, CONTRACTS, DATABASE, FUSIONS, MEDIATIONS, SUMMARIES, TEMPLATES, TOOL_GRAPHS
from synth.contracts.visibility import column_origins
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.gates.interlock import refusable_bridge_rules
from synth.questions.partial import ask_partial
from synth.questions.types import RowWords
from synth.search.row_words import ambiguous_reads
from synth.steps.item_world import fused_contract, is_fused
from synth.stories.proof import NoTemplateError, template_of
from synth.tasks.feasibility import infeasible_templates, persons_able
from synth.tasks.kinds.derived import derived_templates
from synth.tasks.kinds.refuse import refuse_templates
from synth.tasks.templates import goal_faults, template_of_goal

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
    reads=[BLUEPRINTS, DATABASE, SUMMARIES, CONTRACTS, FUSIONS, MEDIATIONS, TOOL_GRAPHS],
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
    """What people want of one domain, and what follows from it."""
    blueprint, graph = ctx.read(BLUEPRINTS), ctx.read(TOOL_GRAPHS)
    trials = Trials(ctx, blueprint, graph, await _referred_by(ctx, blueprint))
    goals = await _asked(ctx, trials, [])
    if _unwanted(goals, blueprint) and len(goals) < ctx.params.goals:
        try:
            goals += await _asked(ctx, trials, goals)
        except AuthorError as error:
            ctx.log(f"no goals for {', '.join(tool.name for tool in _unwanted(goals, blueprint))}: {error}")
    made = [trials.template(goal) for goal in goals]
    # Where nobody wants anything, nobody wants what is forbidden either.
    return [*made, *(derived_templates(made, blueprint, graph, trials.referred_by) if made else [])]


async def _asked(ctx: Context[TemplateParams], trials: "Trials", known: list[Goal]) -> list[Goal]:
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


class Trials:
    """Goals of one world, judged by their form and by whether anybody can have what they want."""

    def __init__(
        self,
        ctx: Context[TemplateParams],
        blueprint: Blueprint,
        graph: ToolGraph,
        referred_by: Mapping[str, Sequence[str]],
    ) -> None:
        self.blueprint, self.graph, self.referred_by = blueprint, graph, referred_by
        self.columns = {tool.name: list(column_origins(tool)) for tool in blueprint.tools}
        self.failed: dict[str, Goal] = {}
        """Goals that nobody can have, by name."""
        self.why: dict[str, str] = {}
        """Why, by name."""
        self._ctx = ctx
        self._why: dict[str, str | None] = {}
        """Template as text -> why nobody has an instance; None: somebody has."""

    def template(self, goal: Goal) -> TaskTemplate:
        """What a goal becomes."""
        return template_of_goal(goal, self.blueprint, self.graph, self.referred_by)

    async def faults(self, goals: Sequence[Goal]) -> list[list[str]]:
        """What is wrong with each goal, in words for its author."""
        found = goal_faults(goals, self.blueprint, self.graph, self.columns)
        formed = [goal for goal, faults in zip(goals, found, strict=True) if not faults]
        await self._try([self.template(goal) for goal in formed])
        why = {goal.name: self._why[self.template(goal).model_dump_json()] for goal in formed}
        self.failed |= {goal.name: goal for goal in formed if why[goal.name]}
        self.why |= {name: reason for name, reason in why.items() if reason}
        return [
            [f"goal {goal.name!r}: {reason}"] if (reason := why.get(goal.name)) else faults
            for goal, faults in zip(goals, found, strict=True)
        ]

    async def _try(self, templates: Collection[TaskTemplate]) -> None:
        ctx = self._ctx
        new = {one.id: one for one in templates if one.model_dump_json() not in self._why}
        if new:
            stuck = await ctx.offload(
                infeasible_templates,
                self.blueprint,
                ctx.path(DATABASE),
                ctx.now,
                [*new.values()],
                f"{ctx.seed}/combinations",
            )
            self._why |= {one.model_dump_json(): stuck.get(one.id) for one in new.values()}


async def _stories(ctx: Context[TemplateParams]) -> list[TaskTemplate]:
    """The stories of a fused world whose bridge rules were all kept, and requests that such a rule forbids."""
    contract, graph = fused_contract(ctx), ctx.read(TOOL_GRAPHS)
    referred_by = await _referred_by(ctx, contract)
    numbers = ctx.read(MEDIATIONS).numbers
    kept = []
    for story in ctx.read(FUSIONS).storylines:
        try:
            kept.append(template_of(story, contract, graph, referred_by, numbers))
        except NoTemplateError as fault:
            ctx.reject(f"{story.name} ({fault})", "a bridge rule that it leans on was not kept")
    return [
        *kept,
        *(refuse_templates(kept, contract, graph, referred_by, refusable_bridge_rules(contract)) if kept else []),
    ]


async def _referred_by(ctx: Context[TemplateParams], blueprint: Blueprint) -> dict[str, list[str]]:
    """Read -> the columns by which people refer to its rows."""
    reads = {tool.name: list(column_origins(tool)) for tool in blueprint.tools if tool.kind == "read"}
    told: set[str] = set()

    async def judge(answer: Sequence[RowWords]) -> list[list[str]]:
        found = [word_faults(row, reads) for row in answer]
        if is_fused(ctx):
            return found
        columns = {row.read: row.columns for row, faults in zip(answer, found, strict=True) if not faults}
        vague = await ctx.offload(
            ambiguous_reads, blueprint, ctx.path(DATABASE), ctx.now, columns, f"{ctx.seed}/referring"
        )
        # Told once: the author knows whether people would say more.
        new = {name: [fault] for name, fault in vague.items() if name not in told}
        told.update(new)
        return [faults or new.get(row.read, []) for row, faults in zip(answer, found, strict=True)]

    words = await ask_partial(
        ctx,
        REFERENCES,
        judge,
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
