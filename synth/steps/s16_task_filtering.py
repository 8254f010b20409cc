"""s16: put every combination through the gates, by execution; the rest is counted by reason."""

from pathlib import Path

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.policy import Policy
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.artifacts import BLUEPRINTS, COMBINATIONS, DATABASE, POLICIES, TEMPLATES, VALIDATED
from synth.context import Context
from synth.gates.gauntlet import validated
from synth.gates.rejection import Rejected
from synth.step import Params, step


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS, DATABASE, POLICIES, TEMPLATES, COMBINATIONS],
    writes=[VALIDATED],
    params=Params,
)
async def task_filtering(ctx: Context[Params], key: str) -> None:
    stated = Policy(world=key, text=ctx.read(POLICIES)).rules
    passed, fallen = await ctx.offload(
        judge,
        ctx.read(BLUEPRINTS),
        ctx.path(DATABASE),
        ctx.now,
        ctx.read(TEMPLATES),
        ctx.read(COMBINATIONS),
        stated,
    )
    for identity, reason, detail in fallen:
        ctx.reject(f"{identity} ({detail})", reason)
    ctx.count("validated", len(passed))
    ctx.write(VALIDATED, key, passed)


def judge(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: list[TaskTemplate],
    combinations: list[Combination],
    stated: list[str],
) -> tuple[list[ValidatedTask], list[tuple[str, str, str]]]:
    """Combinations that pass all gates, and the others with their reason and its detail."""
    world = World(blueprint, database, now=now)
    by_id = {template.id: template for template in templates}
    passed: list[ValidatedTask] = []
    fallen: list[tuple[str, str, str]] = []
    for combination in combinations:
        try:
            passed.append(validated(world, combination, by_id[combination.template], stated))
        except Rejected as rejected:
            fallen.append((combination.id, rejected.reason, rejected.detail))
    return passed, fallen
