"""s16: judge every combination by all gates, by execution; what is rejected is counted by reason.

Plain goals, goals in each form and the other kinds take turns. Of what passes, requests that are declined, unclear or
not offered are kept as far as goals hold their share.
Where domains are joined, the golden calls of what is kept are then replayed in every fused world that has the domain:
its bridge rules apart, they must give there what they give at home.
"""

import asyncio
from itertools import chain

from pydantic import Field

from evaluator.kinds import KINDS
from skillweave.schema.contract import Policy
from skillweave.schema.fusion import FusedReplays
from synth.artifacts import (
    BLUEPRINTS,
    COMBINATIONS,
    CONTRACTS,
    DATABASE,
    FALLEN,
    FUSED_REPLAYS,
    MEDIATIONS,
    POLICIES,
    QUOTAS,
    TEMPLATES,
    VALIDATED,
    contract_of,
    servers_of,
)
from synth.engine.context import Context
from synth.engine.step import step
from synth.fusion.replay import SingleWorld, replay_goldens
from synth.gates import GATES
from synth.gates.judging import WantedTasks, judge_combinations, templates_without_tasks
from synth.gates.variants import keeping_conduct
from synth.planner.problem import PlannerParams
from synth.tasks.forms import FORMS
from synth.tasks.splits import combinations_over_share, splits_of

TOO_MANY = "more than its share of the world's tasks"
"""Why something that passed all gates is left out."""


class FilterParams(PlannerParams):
    most: int = Field(default=60, ge=0)
    """Tasks of a world to stop at: plain goals, goals in each form and the other kinds take turns, and so do levels
    (`difficulty`). 0 keeps all that pass."""
    share: float = Field(default=0.6, ge=0, le=1)
    """Of a world's tasks, what goals (`do` and `inform`) have at least; others are left out until it holds."""
    refusals: float = Field(default=0.2, ge=0, le=1)
    """Of a world's tasks, what requests that are declined have at most."""


async def replay_fused(ctx: Context[FilterParams], keys: list[str]) -> None:
    """Replay the golden calls of all single domains in the fused worlds."""
    kept = {key: [one.combination for one in ctx.read(VALIDATED, key)] for key in {*keys} - {*ctx.keys(CONTRACTS)}}
    if not kept:
        return

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
    fused=CONTRACTS,
    reads=[BLUEPRINTS, CONTRACTS, MEDIATIONS, DATABASE, POLICIES, TEMPLATES, COMBINATIONS, QUOTAS],
    writes=[VALIDATED, FALLEN],
    params=FilterParams,
    registries=[KINDS, FORMS, GATES],
    join=replay_fused,
    join_writes=[FUSED_REPLAYS],
)
async def task_filtering(ctx: Context[FilterParams], key: str) -> None:
    templates, combinations, quotas = ctx.read(TEMPLATES), ctx.read(COMBINATIONS), ctx.read(QUOTAS)
    contract = contract_of(ctx)
    splits = splits_of(templates, servers_of(contract), ctx.splits, str(ctx.seed))
    passed, rejected = await ctx.offload(
        judge_combinations,
        contract,
        ctx.path(DATABASE),
        ctx.now,
        templates,
        combinations,
        Policy(world=key, text=ctx.read(POLICIES)).rules,
        WantedTasks(quotas, ctx.difficulty.shares, ctx.params.most, splits),
        ctx.params.bounds,
    )
    judged = [one.combination for one in passed]
    left_out = combinations_over_share(judged, templates, ctx.params.share, ctx.params.refusals)
    left_out = keeping_conduct(passed, left_out, contract)
    passed = [one for one in passed if one.combination.id not in left_out]
    rejected += [(identity, TOO_MANY, "") for identity in sorted(left_out)]
    for identity, reason, detail in rejected:
        ctx.reject(f"{identity} ({detail})" if detail else identity, reason)
    ctx.count("validated", len(passed))
    if quotas:
        ctx.count("validated on created rows", sum(bool(one.combination.patch) for one in passed))
    ctx.write(VALIDATED, key, passed)
    ctx.write(FALLEN, key, templates_without_tasks(passed, rejected))
