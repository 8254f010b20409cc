"""s15: choose instances for each template: persons, rows and values with which its calls can be carried out.

Instances are built by doing: arguments are searched for in the data, rows are looked up as an agent would, and each
call is made before the next one is sought. In a fused world, where few persons have all that a story needs, rows are
created as well, and each instance is put through the gates at once: what falls is replaced.
"""

from pathlib import Path

from pydantic import Field

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.policy import Policy
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    MEDIATIONS,
    POLICIES,
    TEMPLATES,
    VALIDATED,
)
from synth.context import Context
from synth.fusion.contract import fused_contract, is_fused
from synth.gates.instances import instances
from synth.step import Params, step
from synth.tasks.combine import combinations_of
from synth.tasks.instance import NoInstance


class ComboParams(Params):
    per_template: int = Field(default=5, ge=1)
    """Instances of one template, at most."""
    per_storyline: int = Field(default=8, ge=1)
    """Instances of one story of a fused world, at most."""


@step(
    each=BLUEPRINTS,
    fused=CONTRACTS,
    reads=[BLUEPRINTS, CONTRACTS, MEDIATIONS, DATABASE, POLICIES, TEMPLATES],
    writes=[COMBINATIONS, VALIDATED],
    params=ComboParams,
)
async def instance_combos_selection(ctx: Context[ComboParams], key: str) -> None:
    await (_validate(ctx, key) if is_fused(ctx) else _choose(ctx, key))


async def _choose(ctx: Context[ComboParams], key: str) -> None:
    blueprint, templates = ctx.read(BLUEPRINTS), ctx.read(TEMPLATES)
    found, reasons = await ctx.offload(
        choose, blueprint, ctx.path(DATABASE), ctx.now, templates, ctx.params.per_template, f"{ctx.seed}/combinations"
    )
    for reason in reasons:
        ctx.reject(key, reason)
    ctx.count("combinations", len(found))
    ctx.write(COMBINATIONS, key, found)


async def _validate(ctx: Context[ComboParams], key: str) -> None:
    made = await ctx.offload(
        instances,
        fused_contract(ctx),
        ctx.path(DATABASE),
        ctx.now,
        ctx.read(TEMPLATES),
        Policy(world=key, text=ctx.read(POLICIES)).rules,
        ctx.params.per_storyline,
        f"{ctx.seed}/combinations",
    )
    for reason in made.lacking:
        ctx.reject(key, reason)
    for identity, reason, detail in made.fallen:
        ctx.reject(f"{identity} ({detail})", reason)
    ctx.count("validated", len(made.validated))
    ctx.count("validated on created rows", made.created)
    ctx.write(VALIDATED, key, made.validated)


def choose(
    blueprint: Blueprint, database: Path, now: str, templates: list[TaskTemplate], count: int, seed: str
) -> tuple[list[Combination], list[str]]:
    """Instances of all templates, and for each template that has none the commonest reason."""
    world = World(blueprint, database, now=now)
    with world.session() as session:
        callers = [str(row[blueprint.core.key]) for row in session.rows(blueprint.core.table)]
    kept: list[Combination] = []
    reasons: list[str] = []
    for template in templates:
        made = list(combinations_of(world, template, callers, count, seed))
        found = [one for one in made if isinstance(one, Combination)]
        failed = [str(one) for one in made if isinstance(one, NoInstance)]
        kept += found
        if not found and failed:
            reasons.append(f"no instance of {template.id}: {max(sorted(set(failed)), key=failed.count)}")
    return kept, reasons
