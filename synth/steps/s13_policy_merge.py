"""s13: reconcile the rules of joined domains; write their joint policy, tool list and server.

A mediator resolves contradictions, on record, and gives the rules between the domains. Each of these is met once and
broken once by execution, with all of them on. A rule that is still wrong after the author's repairs is dropped. The
server is carried over from the proven servers of the domains; its author is asked for what cannot be carried.
"""

from collections.abc import Sequence

from pydantic import Field

from skillweave.base.errors import AuthorError
from skillweave.llm.question import question
from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.contract import Policy
from skillweave.schema.fusion import Fusion, Mediation, PolicyConflict
from skillweave.world.tools import tool_definitions
from synth.artifacts import (
    BLUEPRINTS,
    CONTRACTS,
    DATABASE,
    DOMAIN_COMBINATIONS,
    FUSIONS,
    KEY_CALLS,
    MEDIATIONS,
    POLICIES,
    SERVERS,
    TOOL_LISTS,
)
from synth.engine.artifact import every
from synth.engine.context import Context
from synth.engine.step import Params, step
from synth.fusion.bridge_rules import conflict_faults
from synth.fusion.carrying import carried_source
from synth.fusion.mediation import MediationInputs, SettledBridges, mediation_record, settle_bridges
from synth.policy.manual import JointParts, assemble_joint_manual, joint_manual_faults, sentences_of, stated_rules
from synth.questions.types import Mediated
from synth.servers.writing import QUESTIONS, WRITES, written_server

MEDIATE = question("fusion.mediate", returns=Mediated)
MERGE = question("policy.merge", returns=JointParts)


class MergeParams(Params):
    agent_rules: float = Field(default=0.4, ge=0, le=1)
    """Share of the bridge rules that the agent holds, not the tool."""


@step(
    each=DOMAIN_COMBINATIONS,
    reads=[FUSIONS, CONTRACTS, DATABASE, every(BLUEPRINTS), every(POLICIES), every(SERVERS), every(KEY_CALLS)],
    writes=[MEDIATIONS, POLICIES, TOOL_LISTS, *WRITES],
    params=MergeParams,
    questions=[MEDIATE, MERGE, *QUESTIONS],
    mode="cross",
)
async def policy_merge(ctx: Context[MergeParams], key: str) -> None:
    contract, database = ctx.read(CONTRACTS), ctx.path(DATABASE).read_bytes()
    mediation = await _mediation(ctx, MediationInputs(contract, database, ctx.now, f"{ctx.seed}/{key}"))
    whole = contract.with_bridges(mediation.bridges)
    ctx.write(POLICIES, key, await _policy(ctx, whole, mediation))
    ctx.write(MEDIATIONS, key, mediation)
    ctx.write(TOOL_LISTS, key, tool_definitions(whole))
    server = await written_server(ctx, whole, database, mediation.proofs, await carried_source(ctx, whole))
    server.write(ctx)


async def _mediation(ctx: Context[MergeParams], inputs: MediationInputs) -> Mediation:
    """The mediator's answer as a record: rules proven, numbered, and each with its holder."""
    fusion = ctx.read(FUSIONS)
    proposed = {rule.rule: rule for story in fusion.storylines for rule in story.bridges}
    conflicts, settled = await _answer(ctx, inputs, fusion, list(proposed.values()))
    mediation = await ctx.offload(mediation_record, inputs, settled, conflicts, list(proposed), ctx.params.agent_rules)
    for name, reason in mediation.dropped.items():
        ctx.reject(f"{name} ({reason})", "bridge rule dropped")
    ctx.count("conflicts", len(mediation.conflicts))
    ctx.count("bridge rules", len(mediation.bridges))
    ctx.count("bridge rules of the agent", sum(rule.enforced_by == "agent" for rule in mediation.bridges))
    ctx.count("calls of single domains changed", sum(map(len, mediation.changed.values())))
    return mediation


async def _answer(
    ctx: Context[MergeParams], inputs: MediationInputs, fusion: Fusion, proposed: list[BridgeRule]
) -> tuple[list[PolicyConflict], SettledBridges]:
    """The conflicts of the mediator's last answer, and its rules that hold. AuthorError if its conflicts are faulty."""
    answers: list[tuple[Mediated, SettledBridges]] = []

    async def check(answer: Mediated) -> Sequence[str]:
        known = [settled for earlier, settled in answers if earlier.bridges == answer.bridges]
        settled = known[0] if known else await ctx.offload(settle_bridges, inputs, answer.bridges)
        answers.append((answer, settled))
        faults = [f"bridge rule {name}: {reason}" for name, reason in settled.dropped.items()]
        return [*conflict_faults(answer.conflicts, inputs.fused), *faults]

    try:
        await ctx.ask(MEDIATE, contract=inputs.fused, storylines=fusion.storylines, proposed=proposed, check=check)
    except AuthorError:
        if not answers or conflict_faults(answers[-1][0].conflicts, inputs.fused):
            raise
    answer, settled = answers[-1]
    return answer.conflicts, settled


async def _policy(ctx: Context[MergeParams], whole: FusedBlueprint, mediation: Mediation) -> str:
    """The fused world's policy, worded by an author."""
    policies = [Policy(world=member.server, text=ctx.read(POLICIES, member.server)) for member in whole.members]
    titles = [member.title for member in whole.members]
    manual = await ctx.ask(
        MERGE,
        contract=whole,
        rules={tool.name: list(stated_rules(tool)) for tool in whole.tools},
        sentences=sentences_of(whole),
        manuals={title: policy.introduction for title, policy in zip(titles, policies, strict=True)},
        conflicts=mediation.conflicts,
        bridges=mediation.bridges,
        check=lambda answer: joint_manual_faults(answer, whole),
    )
    return assemble_joint_manual(manual, whole, mediation.conflicts, mediation.bridges)
