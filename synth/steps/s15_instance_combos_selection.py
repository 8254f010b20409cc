"""s15: choose instances for each template: persons, rows and values with which its calls can be carried out.

Instances are built by doing: arguments are searched for in the data, rows are looked up as an agent would, and each
call is made before the next one is sought. In a fused world, where few persons have all that a story needs, rows are
created as well, and more candidates are chosen than are wanted: s16 keeps those that pass first.
"""

from pydantic import Field

from skillweave.schema.combination import Combination
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    FUSIONS,
    LACKING,
    MEDIATIONS,
    QUOTAS,
    TEMPLATES,
    contract_of,
    is_fused,
    servers_of,
)
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.gates.clarification_needed import no_clarification_reason
from synth.gates.indirect_route import indirect_route_reason
from synth.tasks.forms import FORMS
from synth.tasks.kinds import KINDS
from synth.tasks.selection import ENOUGH, SelectionInput, choose_instances, fewer_one_way, find_candidates
from synth.tasks.splits import split_of_customer, splits_of
from synth.tasks.turns import is_goal


class ComboParams(Params):
    per_template: int = Field(default=5, ge=1)
    """Instances of one plain goal, at most."""
    per_form: int = Field(default=2, ge=0)
    """Instances of one goal in one form (`choice`, `condition`, ...), at most; 0 leaves forms of goals out."""
    per_storyline: int = Field(default=8, ge=1)
    """Instances of one story of a fused world, at most; an eighth of that for a story in which some domain is
    needed by no other, and none of it in a form. Of a request that is
    declined there, `per_refusal`."""
    per_refusal: int = Field(default=2, ge=0)
    """Instances of one request that a rule forbids, at most; 0 leaves this kind out."""
    per_clarification: int = Field(default=2, ge=0)
    """Instances of one request that leaves something out, at most; 0 leaves this kind out."""
    per_unavailable: int = Field(default=2, ge=0)
    """Instances of one request that no offered tool serves, at most; 0 leaves this kind out."""
    enough: int = Field(default=0, ge=0)
    """Instances of a world that plain goals, goals in each form and the other kinds share: what has its share gets no
    further template. 0: no template goes untried. In a fused world all stories are tried. A quarter more than `most` of
    s16, which judges them, leaves it something to reject."""

    def most_of(self, template: TaskTemplate, *, is_fused: bool = False) -> int:
        """Instances of one template, at most; `is_fused`: of a fused world."""
        of_goals = "per_form" if template.forms else "per_storyline" if is_fused else "per_template"
        return int(getattr(self, KINDS[template.kind].limit or of_goals))


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[BLUEPRINTS, CONTRACTS, FUSIONS, MEDIATIONS, DATABASE, TEMPLATES],
    writes=[COMBINATIONS, QUOTAS, LACKING],
    params=ComboParams,
    registries=[KINDS, FORMS],
)
async def instance_combos_selection(ctx: Context[ComboParams], key: str) -> None:
    blueprint, templates = contract_of(ctx), ctx.read(TEMPLATES)
    most = {one.id: ctx.params.most_of(one, is_fused=is_fused(ctx)) for one in templates}
    if is_fused(ctx):
        most = fewer_one_way(most, templates, ctx.read(FUSIONS))
    splits = splits_of(templates, servers_of(blueprint), ctx.splits, str(ctx.seed))
    seed = f"{ctx.seed}/combinations"
    levels = ctx.difficulty.shares
    inputs = SelectionInput(
        blueprint,
        ctx.path(DATABASE),
        ctx.now,
        templates,
        most,
        splits,
        seed,
        ctx.params.enough,
        levels,
        split_of_customer(servers_of(blueprint), ctx.splits, str(ctx.seed)),
    )
    if is_fused(ctx):
        selection = await ctx.offload(find_candidates, inputs)
        ctx.count("candidates", len(selection.combinations))
    else:
        selection = await ctx.offload(choose_instances, inputs, misfit, indirect_route_reason)
        ctx.count("combinations", len(selection.combinations))
    reject_templates(ctx, [one for one in selection.lacking if one.reason != ENOUGH], templates)
    ctx.write(COMBINATIONS, key, selection.combinations)
    ctx.write(QUOTAS, key, most if is_fused(ctx) else {})
    ctx.write(LACKING, key, selection.lacking)


def misfit(world: World, combination: Combination) -> str | None:
    """Why a combination cannot pass the gate on what is left out: cheaper to see than all gates."""
    return no_clarification_reason(world, combination) if combination.withheld else None


def reject_templates(
    ctx: Context[ComboParams], lacking: list[TemplateWithoutTasks], templates: list[TaskTemplate]
) -> None:
    """Reject templates without an instance: plain goals one by one, what was derived by its sort."""
    known = {template.id: template for template in templates}
    for one in lacking:
        template = known[one.template]
        if is_goal(template) and not template.forms:
            ctx.reject(ctx.key, one.text)
        else:
            ctx.reject(one.text, f"no instance of a {' and '.join([template.kind, *template.forms])} template")
