"""s16: put every combination through the gates, by execution; the rest is counted by reason.

Of what passes, requests that are declined, unclear or not offered are kept as far as goals hold their share.
Where domains are joined, the golden calls of what is kept are then replayed in every fused world that has the domain:
its bridge rules apart, they must give there what they give at home.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pydantic import Field

from evaluator.kinds import KINDS
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination, ValidatedTask
from skillweave.schema.contract import Policy
from skillweave.schema.fusion import FusedReplays
from skillweave.schema.reports import TemplateWithoutTasks
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    FALLEN,
    FUSED_REPLAYS,
    MEDIATIONS,
    POLICIES,
    TEMPLATES,
    VALIDATED,
)
from synth.engine.context import Context
from synth.engine.step import step
from synth.fusion.replay import SingleWorld, replay_goldens
from synth.gates.judging import CombinationJudge
from synth.planner.problem import DEFAULT_BOUNDS, PlannerBounds, PlannerParams
from synth.tasks.replay import Rejected
from synth.tasks.splits import alternate_goals, combinations_over_share

TOO_MANY = "more than its share of the world's tasks"
"""Why something that passed all gates is left out."""


class FilterParams(PlannerParams):
    most: int = Field(default=60, ge=0)
    """Tasks of a world to stop at, goals and other kinds taking turns; 0 keeps all that pass."""
    share: float = Field(default=0.5, ge=0, le=1)
    """Of a world's tasks, what goals (`do` and `inform`) have at least; others are left out until it holds."""


async def replay_fused(ctx: Context[FilterParams], keys: list[str]) -> None:
    """Replay the golden calls of all single domains in the fused worlds."""
    kept = {key: [one.combination for one in ctx.read(VALIDATED, key)] for key in keys}

    async def replay(name: str) -> FusedReplays:
        contract = ctx.read(CONTRACTS, name)
        homes = [
            SingleWorld(
                ctx.read(BLUEPRINTS, member.server), ctx.path(DATABASE, member.server), kept.get(member.server, [])
            )
            for member in contract.members
        ]
        bridges = ctx.read(MEDIATIONS, name).bridges
        return await ctx.offload(replay_goldens, contract, bridges, ctx.path(DATABASE, name), ctx.now, homes)

    mediated = set(ctx.keys(MEDIATIONS))
    found = await asyncio.gather(*(replay(name) for name in ctx.keys(CONTRACTS) if name in mediated))
    ctx.count("goldens replayed in fused worlds", sum(replays.replayed for replays in found))
    ctx.count("goldens that bridge rules change", sum(len({*chain(*replays.changed.values())}) for replays in found))
    if found:
        ctx.write(FUSED_REPLAYS, "_fused_replays", list(found))


@step(
    each=BLUEPRINTS,
    reads=[BLUEPRINTS, DATABASE, POLICIES, TEMPLATES, COMBINATIONS, CONTRACTS, MEDIATIONS],
    writes=[VALIDATED, FALLEN],
    params=FilterParams,
    registries=[KINDS],
    join=replay_fused,
    join_writes=[FUSED_REPLAYS],
    mode="single",
)
async def task_filtering(ctx: Context[FilterParams], key: str) -> None:
    stated = Policy(world=key, text=ctx.read(POLICIES)).rules
    templates = ctx.read(TEMPLATES)
    passed, fallen = await ctx.offload(
        judge,
        ctx.read(BLUEPRINTS),
        ctx.path(DATABASE),
        ctx.now,
        templates,
        ctx.read(COMBINATIONS),
        stated,
        ctx.params.bounds,
        ctx.params.most,
    )
    cut = combinations_over_share([one.combination for one in passed], templates, ctx.params.share)
    passed = [one for one in passed if one.combination.id not in cut]
    fallen += [(identity, TOO_MANY, "") for identity in sorted(cut)]
    for identity, reason, detail in fallen:
        ctx.reject(f"{identity} ({detail})" if detail else identity, reason)
    ctx.count("validated", len(passed))
    ctx.write(VALIDATED, key, passed)
    ctx.write(FALLEN, key, lacking(passed, fallen))


def lacking(passed: Sequence[ValidatedTask], fallen: Sequence[tuple[str, str, str]]) -> list[TemplateWithoutTasks]:
    """Templates of which nothing passed, each with the commonest reason."""
    kept = {one.combination.template for one in passed}
    reasons: dict[str, list[str]] = {}
    for identity, reason, _ in fallen:
        reasons.setdefault(identity.rpartition("/")[0], []).append(reason)
    return [
        TemplateWithoutTasks(template=template, reason=max(sorted(set(found)), key=found.count))
        for template, found in reasons.items()
        if template not in kept
    ]


def judge(
    blueprint: Blueprint,
    database: Path,
    now: str,
    templates: list[TaskTemplate],
    combinations: list[Combination],
    stated: list[str],
    bounds: PlannerBounds = DEFAULT_BOUNDS,
    most: int = 0,
) -> tuple[list[ValidatedTask], list[tuple[str, str, str]]]:
    """Combinations that pass all gates, and the others with their reason and its detail."""
    world = World(blueprint, database, now=now)
    gauntlet = CombinationJudge(world, templates, stated, bounds)
    passed: list[ValidatedTask] = []
    fallen: list[tuple[str, str, str]] = []
    for combination in alternate_goals(combinations, templates) if most else combinations:
        if most and len(passed) == most:
            break
        try:
            passed.append(gauntlet.validated(combination))
        except Rejected as rejected:
            fallen.append((combination.id, rejected.reason, rejected.detail))
    return passed, fallen
