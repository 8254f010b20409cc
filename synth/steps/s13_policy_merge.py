"""s13: reconcile the rules of the domains that were joined, write their one policy and tool list, and their server.

A mediator settles what contradicts, on record, and gives the rules between the domains. Each of those is met once and
broken once by execution, with all of them on; what is still wrong with one after the author's repairs drops that rule.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.contract import Policy
from skillweave.schema.fusion import Fusion, Mediation
from skillweave.world.tools import tool_definitions
from synth.artifacts import (
    CONTRACTS,
    DATABASE,
    DOMAIN_COMBINATIONS,
    FUSIONS,
    MEDIATIONS,
    POLICIES,
    SERVER_TESTS,
    SERVERS,
    TOOL_LISTS,
)
from synth.engine.artifact import every
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.bridge_rules import conflict_faults
from synth.fusion.mediation import MediatedWorld, SettledBridges, mediation, settle_bridges
from synth.policy.manual import JointParts, assemble_joint_manual, joint_manual_faults, sentences_of, stated_rules
from synth.questions.types import Mediated
from synth.servers.writing import QUESTIONS, SERVER_REPORTS, written_server

MEDIATE = question("fusion.mediate", returns=Mediated)
MERGE = question("policy.merge", returns=JointParts)


class MergeParams(Params):
    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the bridge rules that the agent holds, not the tool."""


class Agreed(NamedTuple):
    """A mediator's answer, and which of its rules hold."""

    answer: Mediated
    rules: SettledBridges


@step(
    each=DOMAIN_COMBINATIONS,
    reads=[FUSIONS, CONTRACTS, DATABASE, every(POLICIES)],
    writes=[MEDIATIONS, POLICIES, TOOL_LISTS, SERVERS, SERVER_TESTS, SERVER_REPORTS],
    params=MergeParams,
    questions=[MEDIATE, MERGE, *QUESTIONS],
    mode="cross",
)
async def policy_merge(ctx: Context[MergeParams], key: str) -> None:
    fusion, contract, database = ctx.read(FUSIONS), ctx.read(CONTRACTS), ctx.path(DATABASE).read_bytes()
    made = await _mediation(ctx, MediatedWorld(contract, database, ctx.now, f"{ctx.seed}/{key}"), fusion)
    whole = contract.with_bridges(made.bridges)
    ctx.write(POLICIES, key, await _policy(ctx, whole, made))
    ctx.write(MEDIATIONS, key, made)
    ctx.write(TOOL_LISTS, key, tool_definitions(whole))
    written = await written_server(ctx, whole, database, made.proofs)
    ctx.write(SERVERS, key, written.source)
    ctx.write(SERVER_TESTS, key, written.tests)
    ctx.write(SERVER_REPORTS, key, written.report)


async def _mediation(ctx: Context[MergeParams], ground: MediatedWorld, fusion: Fusion) -> Mediation:
    agreed = await _agreed(ctx, ground, fusion)
    proposed = [rule.rule for story in fusion.storylines for rule in story.bridges]
    made = await ctx.offload(mediation, ground, agreed.rules, agreed.answer.conflicts, proposed, ctx.params.agent_rules)
    for name, reason in made.dropped.items():
        ctx.reject(f"{name} ({reason})", "bridge rule dropped")
    ctx.count("conflicts", len(made.conflicts))
    ctx.count("bridge rules", len(made.bridges))
    ctx.count("bridge rules of the agent", sum(rule.enforced_by == "agent" for rule in made.bridges))
    ctx.count("calls of single domains changed", sum(map(len, made.changed.values())))
    return made


async def _agreed(ctx: Context[MergeParams], ground: MediatedWorld, fusion: Fusion) -> Agreed:
    """The last answer of the mediator, less the rules with which something was wrong to the end.

    AuthorError where there is none, or none whose conflicts can be printed.
    """
    proposed = {rule.rule: rule for story in fusion.storylines for rule in story.bridges}
    last: list[Agreed] = []

    async def check(answer: Mediated) -> Sequence[str]:
        known = [before.rules for before in last if before.answer.bridges == answer.bridges]
        found = known[0] if known else await ctx.offload(settle_bridges, ground, answer.bridges)
        last.append(Agreed(answer, found))
        wrong = [f"bridge rule {name}: {reason}" for name, reason in found.dropped.items()]
        return [*conflict_faults(answer.conflicts, ground.fused), *wrong]

    try:
        await ctx.ask(
            MEDIATE,
            contract=ground.fused,
            storylines=fusion.storylines,
            proposed=list(proposed.values()),
            check=check,
        )
    except AuthorError:
        if not last or conflict_faults(last[-1].answer.conflicts, ground.fused):
            raise
    return last[-1]


async def _policy(ctx: Context[MergeParams], whole: FusedBlueprint, made: Mediation) -> str:
    manual = await ctx.ask(
        MERGE,
        contract=whole,
        rules={tool.name: list(stated_rules(tool)) for tool in whole.tools},
        sentences=sentences_of(whole),
        manuals={
            member.title: Policy(world=member.server, text=ctx.read(POLICIES, member.server)).introduction
            for member in whole.members
        },
        conflicts=made.conflicts,
        bridges=made.bridges,
        check=lambda answer: joint_manual_faults(answer, whole),
    )
    return assemble_joint_manual(manual, whole, made.conflicts, made.bridges)
