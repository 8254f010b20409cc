"""Mediation: bridge rules as an author gives them become those of a world: sound, proven, numbered, held by somebody.

What is wrong with a rule goes back to its author; what is still wrong at the end is dropped, that rule and no other.
Rules can lock each other: what one asks for, another forbids. Of two that do, the later one goes.
"""

import sqlite3
from collections.abc import Collection, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Mediation, PolicyConflict
from skillweave.world.world import World
from synth.fusion.bridge_proof import BridgedWorld, BridgeWitnesses, is_carried_out, proof_of, prove_bridges
from synth.fusion.bridge_rules import bridge_faults, reads_show_what_decides
from synth.search.arguments import ArgumentSearch

TRIED = 12
"""Persons whose lawful calls of a guarded tool are tried against its bridge rules."""


class MediatedWorld(NamedTuple):
    """The world whose domains are reconciled."""

    fused: FusedBlueprint
    content: bytes
    """Its database, as a file holds it."""
    now: str
    seed: str


class SettledBridges(NamedTuple):
    """Bridge rules that hold, and those that do not."""

    bridges: list[BridgeRule]
    """Under their authors' names."""
    shown: dict[str, BridgeWitnesses]
    """Of each of these."""
    dropped: dict[str, str]
    """Name of another -> what is wrong with it, in words for its author."""


def settle_bridges(ground: MediatedWorld, rules: Sequence[BridgeRule]) -> SettledBridges:
    """Which of the rules hold together."""
    dropped = {name: "; ".join(faults) for name, faults in bridge_faults(rules, ground.fused).items()}
    sound = [rule for rule in rules if rule.rule not in dropped]
    alone: dict[str, BridgeWitnesses] = {}
    for rule in sound:
        fault, shown = _alone(ground, rule)
        if fault:
            dropped[rule.rule] = fault
        else:
            alone[rule.rule] = shown
    kept = [rule for rule in sound if rule.rule not in dropped]
    together = _together(ground, kept, alone)
    if isinstance(together, dict):
        return SettledBridges(kept, together, dropped)
    return _one_by_one(ground, kept, alone, dropped)


def _one_by_one(
    ground: MediatedWorld, rules: Sequence[BridgeRule], alone: dict[str, BridgeWitnesses], dropped: dict[str, str]
) -> SettledBridges:
    """The rules taken in one after the other, without those that lock one that is in."""
    kept: list[BridgeRule] = []
    shown: dict[str, BridgeWitnesses] = {}
    for rule in rules:
        found = _together(ground, [*kept, rule], alone)
        if isinstance(found, str):
            others = ", ".join(one.rule for one in kept)
            dropped[rule.rule] = f"it locks with {others}: {found}" if found else f"it locks with {others}"
        else:
            kept.append(rule)
            shown = found
    return SettledBridges(kept, shown, dropped)


def _together(
    ground: MediatedWorld, rules: Sequence[BridgeRule], alone: dict[str, BridgeWitnesses]
) -> dict[str, BridgeWitnesses] | str:
    """What all rules being on lets be shown of each; or what it does not, in words."""
    found: dict[str, BridgeWitnesses] = {}
    bridges = BridgedWorld(ground.fused, ground.content, rules, ground.now, ground.seed)
    try:
        for rule in rules:
            before = alone[rule.rule]
            found[rule.rule] = before if bridges.confirms(rule.rule, before) else bridges.shown(rule.rule)
            fault = _unshown(found[rule.rule])
            if fault:
                return f"with all of them on, of {rule.rule}: {fault}"
            ways = [step.tool for step in before.met.before] if before.met and before.mended else []
            if bridges.guarded(ways) and not (found[rule.rule].mended or bridges.is_mended(rule.rule)):
                return (
                    f"{' and '.join(ways)} could bring about what {rule.rule} asks for, and no more with all of them on"
                )
    except sqlite3.Error as error:
        return f"with all of them on, SQL fails on the data: {error}"
    finally:
        bridges.close()
    return found


def _alone(ground: MediatedWorld, rule: BridgeRule) -> tuple[str, BridgeWitnesses]:
    """What is wrong with a rule that is the only one, empty where nothing is; and what can be shown of it."""
    try:
        shown = prove_bridges(ground.fused, ground.content, [rule], ground.now, ground.seed)[rule.rule]
    except sqlite3.Error as error:
        return f"its SQL fails on the data: {error}", BridgeWitnesses(None, None)
    return _unshown(shown), shown


def _unshown(shown: BridgeWitnesses) -> str:
    """What is missing of a proof, in words for the rule's author; empty where nothing is."""
    if shown.met is None:
        return "nobody can make a lawful call under it, on the data as they are or after calls of the other company"
    if shown.broken is None:
        return "no call breaks it and nothing else: it is always met, or another rule forbids the same"
    return ""


def mediation(
    ground: MediatedWorld,
    found: SettledBridges,
    conflicts: Sequence[PolicyConflict],
    proposed: Sequence[str],
    share: float,
) -> Mediation:
    """The record: the rules numbered, each with its holder and its proof; `proposed` are the names that stories use."""
    numbers = {rule.rule: f"B{place}" for place, rule in enumerate(found.bridges, start=1)}
    agents = agent_rules(numbers, _carried_out(ground, found), share, Random(f"{ground.seed}/enforcers"))
    bridges = [
        rule.model_copy(update={"rule": numbers[rule.rule], "enforced_by": "agent" if rule.rule in agents else "tool"})
        for rule in found.bridges
    ]
    proofs = [proof_of(numbers[name], shown) for name, shown in found.shown.items()]
    left_out = [name for name in dict.fromkeys(proposed) if name not in numbers and name not in found.dropped]
    return Mediation(
        name=ground.fused.server,
        conflicts=list(conflicts),
        bridges=bridges,
        numbers=numbers,
        proofs=proofs,
        dropped=found.dropped | dict.fromkeys(left_out, "the mediator left it out"),
        changed=changed_by(ground, bridges),
    )


def agent_rules(rules: Collection[str], able: Collection[str], share: float, random: Random) -> frozenset[str]:
    """The rules that the agent holds: that share of all, and one at least of two or more; only of those `able`."""
    least = 1 if share and len(rules) > 1 else 0
    wanted = max(least, round(len(rules) * share))
    return frozenset(random.sample(sorted(able), min(wanted, len(able))))


def _carried_out(ground: MediatedWorld, found: SettledBridges) -> list[str]:
    """The rules that the agent can hold: it can see what they ask about, and a call that breaks one is carried out."""
    world = World(
        ground.fused.with_bridges([rule.model_copy(update={"enforced_by": "agent"}) for rule in found.bridges]),
        ground.content,
        now=ground.now,
    )
    try:
        rules = {rule.rule: rule for rule in found.bridges}
        return [
            name
            for name, shown in found.shown.items()
            if shown.broken
            and reads_show_what_decides(ground.fused, rules[name])
            and is_carried_out(world, shown.broken)
        ]
    finally:
        world.close()


def changed_by(ground: MediatedWorld, bridges: Sequence[BridgeRule]) -> dict[str, list[str]]:
    """Bridge rule -> lawful calls of single domains, `<tool> of <person>`, that it forbids."""
    found: dict[str, list[str]] = {}
    world = World(ground.fused.with_bridges(bridges), ground.content, now=ground.now)
    guarded = sorted({rule.tool for rule in bridges})
    persons = Random(f"{ground.seed}/changed").sample(world.callers, min(TRIED, len(world.callers)))
    for person in sorted(persons):
        with world.session(caller=person) as session:
            for name in guarded:
                search = ArgumentSearch(
                    ground.fused,
                    ground.fused.tool(name),
                    session,
                    session.account(name),
                    session.now,
                    Random(f"{ground.seed}/{person}/{name}"),
                    person=person,
                )
                arguments = None
                # A rule may be too much work for one person's data; it then changes nothing that can be shown.
                with suppress(sqlite3.Error):
                    arguments = next(search.meeting(), None)
                if arguments is not None:
                    result = session.peek(name, arguments)
                    broken = [verdict.rule for verdict in result.verdicts if not verdict.holds]
                    broken += [result.error.rule] if result.error is not None and result.error.rule else []
                    for rule in broken:
                        found.setdefault(rule, []).append(f"{name} of {person}")
    world.close()
    return {rule: found[rule] for rule in sorted(found, key=lambda rule: int(rule[1:]))}
