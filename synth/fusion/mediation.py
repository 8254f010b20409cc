"""Mediation: prove and number an author's bridge rules for a fused world, and choose who enforces each.

The author gets the faults of each rule. At the end, only rules that still have faults are dropped. Two rules conflict
if one demands what the other forbids; then the later one is dropped.
"""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

from skillweave.base.progress import told
from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Mediation, PolicyConflict
from skillweave.world.world import World
from synth.fusion.bridge_proof import BridgedWorld, BridgeWitnesses, is_carried_out, proof_of, prove_bridges
from synth.fusion.bridge_rules import bridge_faults, reads_show_what_decides
from synth.search.arguments import ArgumentSearch

MOST_PERSONS = 12
"""Most persons whose lawful calls of single domains to try against the bridge rules."""


class MediationInputs(NamedTuple):
    """The fused world whose domains are reconciled, without bridge rules."""

    fused: FusedBlueprint
    content: bytes
    """Its database, as a file holds it."""
    now: str
    seed: str


class SettledBridges(NamedTuple):
    """Bridge rules that are proven together, and dropped rules."""

    bridges: list[BridgeRule]
    """Under their authors' names."""
    witnesses: dict[str, BridgeWitnesses]
    """The witnesses of each of these rules, by name."""
    dropped: dict[str, str]
    """Name of a dropped rule -> its faults, in words for the author."""


def settle_bridges(inputs: MediationInputs, rules: Sequence[BridgeRule]) -> SettledBridges:
    """Find the rules that can be proven together, all of them on.

    Args:
        inputs: The fused world.
        rules: The author's rules, under their own names.
    """
    dropped = {name: "; ".join(faults) for name, faults in bridge_faults(rules, inputs.fused).items()}
    sound = [rule for rule in rules if rule.rule not in dropped]
    alone: dict[str, BridgeWitnesses] = {}
    for rule in told(sound, "bridge rules proven alone"):
        fault, witnesses = _proof_alone(inputs, rule)
        if fault:
            dropped[rule.rule] = fault
        else:
            alone[rule.rule] = witnesses
    provable = [rule for rule in sound if rule.rule not in dropped]
    proofs = _proofs_together(inputs, provable, alone)
    if isinstance(proofs, dict):
        return SettledBridges(provable, proofs, dropped)
    return _one_by_one(inputs, provable, alone, dropped)


def _one_by_one(
    inputs: MediationInputs, rules: Sequence[BridgeRule], alone: dict[str, BridgeWitnesses], dropped: dict[str, str]
) -> SettledBridges:
    """The rules that remain if each is added in turn and dropped if it conflicts with those before it."""
    accepted: list[BridgeRule] = []
    witnesses: dict[str, BridgeWitnesses] = {}
    for rule in rules:
        proofs = _proofs_together(inputs, [*accepted, rule], alone)
        if isinstance(proofs, str):
            others = ", ".join(other.rule for other in accepted)
            dropped[rule.rule] = f"it locks with {others}: {proofs}" if proofs else f"it locks with {others}"
        else:
            accepted.append(rule)
            witnesses = proofs
    return SettledBridges(accepted, witnesses, dropped)


def _proofs_together(
    inputs: MediationInputs, rules: Sequence[BridgeRule], alone: dict[str, BridgeWitnesses]
) -> dict[str, BridgeWitnesses] | str:
    """The witnesses of each rule with all rules on, or a description of the missing proof."""
    witnesses: dict[str, BridgeWitnesses] = {}
    bridges = BridgedWorld(inputs.fused, inputs.content, rules, inputs.now, inputs.seed)
    try:
        for rule in told(rules, "bridge rules proven together"):
            before = alone[rule.rule]
            witnesses[rule.rule] = before if bridges.confirms(rule.rule, before) else bridges.witnesses(rule.rule)
            fault = _missing_proof(witnesses[rule.rule])
            if fault:
                return f"with all of them on, of {rule.rule}: {fault}"
            tools_before = [step.tool for step in before.met.before] if before.met and before.is_by_mending else []
            if bridges.guard_any(tools_before) and not (
                witnesses[rule.rule].is_by_mending or bridges.is_mended(rule.rule)
            ):
                tools = " and ".join(tools_before)
                return f"{tools} could bring about what {rule.rule} asks for, and no more with all of them on"
    except sqlite3.Error as error:
        return f"with all of them on, SQL fails on the data: {error}"
    finally:
        bridges.close()
    return witnesses


def _proof_alone(inputs: MediationInputs, rule: BridgeRule) -> tuple[str, BridgeWitnesses]:
    """The fault of a rule by itself (empty if there is none), and its witnesses without other rules."""
    try:
        witnesses = prove_bridges(inputs.fused, inputs.content, [rule], inputs.now, inputs.seed)[rule.rule]
    except sqlite3.Error as error:
        return f"its SQL fails on the data: {error}", BridgeWitnesses(None, None)
    return _missing_proof(witnesses), witnesses


def _missing_proof(witnesses: BridgeWitnesses) -> str:
    """What a rule's proof lacks, in words for its author. Empty if it lacks nothing."""
    if witnesses.met is None:
        return "nobody can make a lawful call under it, on the data as they are or after calls of the other company"
    if witnesses.broken is None:
        return "no call breaks it and nothing else: it is always met, or another rule forbids the same"
    return ""


def mediation_record(
    inputs: MediationInputs,
    settled: SettledBridges,
    conflicts: Sequence[PolicyConflict],
    proposed: Sequence[str],
    share: float,
) -> Mediation:
    """The record of a mediation.

    Args:
        inputs: The fused world.
        settled: The rules that hold.
        conflicts: The settled conflicts between the companies.
        proposed: The names of bridge rules in stories.
        share: Share of the rules that the agent holds, 0 to 1.
    """
    numbers = {rule.rule: f"B{place}" for place, rule in enumerate(settled.bridges, start=1)}
    agents = agent_rules(numbers, _rules_agent_can_hold(inputs, settled), share, Random(f"{inputs.seed}/enforcers"))
    bridges = [
        rule.model_copy(update={"rule": numbers[rule.rule], "enforced_by": "agent" if rule.rule in agents else "tool"})
        for rule in settled.bridges
    ]
    proofs = [proof_of(numbers[name], witnesses) for name, witnesses in settled.witnesses.items()]
    left_out = [name for name in dict.fromkeys(proposed) if name not in numbers and name not in settled.dropped]
    return Mediation(
        name=inputs.fused.server,
        conflicts=list(conflicts),
        bridges=bridges,
        numbers=numbers,
        proofs=proofs,
        dropped=settled.dropped | dict.fromkeys(left_out, "the mediator left it out"),
        changed=calls_forbidden(inputs, bridges),
    )


def agent_rules(rules: Collection[str], able: Collection[str], share: float, random: Random) -> frozenset[str]:
    """Draw the rules that the agent holds.

    Args:
        rules: All bridge rules.
        able: Those that an agent can hold.
        share: Share of all rules to draw. If it is not 0 and there are two rules or more, at least one is drawn.
        random: Draws them.
    """
    least = 1 if share and len(rules) > 1 else 0
    count = max(least, round(len(rules) * share))
    return frozenset(random.sample(sorted(able), min(count, len(able))))


def _rules_agent_can_hold(inputs: MediationInputs, settled: SettledBridges) -> list[str]:
    """The rules that the agent can hold: reads show what decides them, and a call that breaks one is carried out."""
    world = World(
        inputs.fused.with_bridges([rule.model_copy(update={"enforced_by": "agent"}) for rule in settled.bridges]),
        inputs.content,
        now=inputs.now,
    )
    try:
        rules = {rule.rule: rule for rule in settled.bridges}
        return [
            name
            for name, witnesses in settled.witnesses.items()
            if witnesses.broken
            and reads_show_what_decides(inputs.fused, rules[name])
            and is_carried_out(world, witnesses.broken)
        ]
    finally:
        world.close()


def calls_forbidden(inputs: MediationInputs, bridges: Sequence[BridgeRule]) -> dict[str, list[str]]:
    """Bridge rule -> the calls, lawful in their own domain, that it forbids: `<tool> of <person>`."""
    forbidden: dict[str, list[str]] = {}
    world = World(inputs.fused.with_bridges(bridges), inputs.content, now=inputs.now)
    guarded = sorted({rule.tool for rule in bridges})
    persons = Random(f"{inputs.seed}/changed").sample(world.callers, min(MOST_PERSONS, len(world.callers)))
    for person in told(sorted(persons), "persons tried"):
        with world.session(caller=person) as session:
            for name in guarded:
                search = ArgumentSearch(
                    inputs.fused,
                    inputs.fused.tool(name),
                    session,
                    session.account(name),
                    session.now,
                    Random(f"{inputs.seed}/{person}/{name}"),
                    person=person,
                )
                arguments = None
                # The search may exceed its limits on one person's data; then it shows nothing.
                with suppress(sqlite3.Error):
                    arguments = next(search.meeting(), None)
                if arguments is not None:
                    result = session.peek(name, arguments)
                    broken = [verdict.rule for verdict in result.verdicts if not verdict.holds]
                    broken += [result.error.rule] if result.error is not None and result.error.rule else []
                    for rule in broken:
                        forbidden.setdefault(rule, []).append(f"{name} of {person}")
    world.close()
    return {rule: forbidden[rule] for rule in sorted(forbidden, key=lambda rule: int(rule[1:]))}
