"""s15: choose instances for each template: persons, rows and values with which its calls can be carried out.

Instances are built by doing: arguments are searched for in the data, rows are looked up as an agent would, and each
call is made before the next one is sought. In a fused world, where few persons have all that a story needs, rows are
created as well, and each instance is put through the gates at once: what falls is replaced.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pydantic import Field

from evaluator.kinds import KINDS as SCORED_KINDS
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Policy
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.task import Kind, Split
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    LACKING,
    MEDIATIONS,
    POLICIES,
    TEMPLATES,
    VALIDATED,
)
from synth.engine.context import Context
from synth.engine.step import step
from synth.gates.clarification_needed import no_clarification_reason
from synth.gates.indirect_route import indirect_route_reason
from synth.gates.judging import judged_instances
from synth.planner.problem import PlannerParams
from synth.steps.item_world import fused_contract, is_fused, servers_of
from synth.tasks.combinations import combinations_of
from synth.tasks.kinds import KINDS, NoInstance
from synth.tasks.splits import SPARE_FACTOR, SplitDemand, allot_persons, balanced_combinations, splits_of


class ComboParams(PlannerParams):
    per_template: int = Field(default=5, ge=1)
    """Instances of one goal; twice as many at most where all other kinds together outnumber those of goals."""
    per_storyline: int = Field(default=8, ge=1)
    """Instances of one story of a fused world, at most; of a request that is declined there, `per_refusal`."""
    per_refusal: int = Field(default=2, ge=0)
    """Instances of one request that a rule forbids, at most; 0 leaves this kind out."""
    per_clarification: int = Field(default=2, ge=0)
    """Instances of one request that leaves something out, at most; 0 leaves this kind out."""
    per_unavailable: int = Field(default=2, ge=0)
    """Instances of one request that no offered tool serves, at most; 0 leaves this kind out."""

    def most_of(self, kind: Kind, *, is_fused: bool = False) -> int:
        """Instances of one template of a kind, at most; `is_fused`: of a joined world."""
        limit = KINDS[kind].limit or ("per_storyline" if is_fused else "per_template")
        return int(getattr(self, limit))


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[BLUEPRINTS, CONTRACTS, MEDIATIONS, DATABASE, POLICIES, TEMPLATES],
    writes=[COMBINATIONS, LACKING, VALIDATED],
    params=ComboParams,
    registries=[KINDS],
)
async def instance_combos_selection(ctx: Context[ComboParams], key: str) -> None:
    await (_validate(ctx, key) if is_fused(ctx) else _choose(ctx, key))


async def _choose(ctx: Context[ComboParams], key: str) -> None:
    blueprint, templates = ctx.read(BLUEPRINTS), ctx.read(TEMPLATES)
    found, lacking = await ctx.offload(
        choose,
        blueprint,
        ctx.path(DATABASE),
        ctx.now,
        templates,
        ctx.params,
        f"{ctx.seed}/combinations",
        _splits(ctx, blueprint),
    )
    _tell_lacking(ctx, lacking, templates)
    ctx.count("combinations", len(found))
    ctx.write(COMBINATIONS, key, found)
    ctx.write(LACKING, key, lacking)


async def _validate(ctx: Context[ComboParams], key: str) -> None:
    templates = ctx.read(TEMPLATES)
    made = await ctx.offload(
        judged_instances,
        fused_contract(ctx),
        ctx.path(DATABASE),
        ctx.now,
        templates,
        Policy(world=key, text=ctx.read(POLICIES)).rules,
        {one.id: ctx.params.most_of(one.kind, is_fused=True) for one in templates},
        f"{ctx.seed}/combinations",
        _splits(ctx, fused_contract(ctx)),
        ctx.params.bounds,
    )
    _tell_lacking(ctx, made.lacking, templates)
    for identity, reason, detail in made.fallen:
        ctx.reject(f"{identity} ({detail})", reason)
    ctx.count("validated", len(made.validated))
    ctx.count("validated on created rows", made.created)
    ctx.write(VALIDATED, key, made.validated)
    ctx.write(LACKING, key, made.lacking)


def _tell_lacking(
    ctx: Context[ComboParams], lacking: list[TemplateWithoutTasks], templates: list[TaskTemplate]
) -> None:
    """Goals without an instance are told one by one; of what was derived from rules and goals, how many of a kind."""
    kinds = {template.id: template.kind for template in templates}
    for one in lacking:
        kind = kinds[one.template]
        if SCORED_KINDS[kind].is_goal:
            ctx.reject(ctx.key, one.text)
        else:
            ctx.reject(one.text, f"no instance of a {kind} template")


def _splits(ctx: Context[ComboParams], blueprint: Blueprint) -> dict[str, Split]:
    """The split of each of the world's templates."""
    templates = ctx.read(TEMPLATES)
    return splits_of(templates, servers_of(blueprint), ctx.splits, str(ctx.seed))


def _misfit(world: World, combination: Combination) -> str | None:
    """Why a combination cannot pass the gates on what is left out or asked in vain: cheaper to see than all gates."""
    if combination.withheld:
        return no_clarification_reason(world, combination)
    return indirect_route_reason(world, combination)


def choose(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: list[TaskTemplate],
    params: ComboParams,
    seed: str,
    splits: Mapping[str, Split],
) -> tuple[list[Combination], list[TemplateWithoutTasks]]:
    """Instances of all templates, and for each template that has none the commonest reason.

    Where the other kinds outnumber goals, goals have further instances, as far as there are any.
    """
    world = World(blueprint, database, now=now)
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
    made: dict[str, list[Combination | NoInstance]] = {}
    wants: list[SplitDemand] = []
    for template in templates:
        most = params.most_of(template.kind)
        count, misfit = SPARE_FACTOR * most, partial(_misfit, world)
        made[template.id] = list(combinations_of(world, template, callers, count, seed, misfit=misfit))
        persons = frozenset(one.caller for one in made[template.id] if isinstance(one, Combination))
        wants.append(SplitDemand(splits[template.id], persons, most))
    place = allot_persons(callers, wants)
    fitting: dict[str, list[Combination]] = {}
    lacking: list[TemplateWithoutTasks] = []
    for template in templates:
        found = [one for one in made[template.id] if isinstance(one, Combination)]
        fitting[template.id] = [one for one in found if place[one.caller] == splits[template.id]]
        failed = [str(one) for one in made[template.id] if isinstance(one, NoInstance)]
        failed = ["other splits have everybody who could have it"] if found else failed
        if not fitting[template.id] and failed:
            lacking.append(
                TemplateWithoutTasks(template=template.id, reason=max(sorted(set(failed)), key=failed.count))
            )
    return balanced_combinations(templates, fitting, {one.id: params.most_of(one.kind) for one in templates}), lacking
