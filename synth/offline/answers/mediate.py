"""Answers about companies that serve the same people: how their rules are reconciled, and their one manual (s13)."""

from collections.abc import Sequence

from skillweave.schema.fused import BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Storyline
from synth.offline.answers.asked import Asked
from synth.offline.manual.mediator import Mediator
from synth.offline.manual.merger import Merger
from synth.policy.parts import JointParts
from synth.questions.types import Mediated


def mediate(asked: Asked) -> Mediated:
    """What the contract leaves open is settled; the stories' bridge rules are kept."""
    contract = asked.get("contract", FusedBlueprint)
    proposed = [rule for story in asked.many("storylines", Storyline) for rule in story.bridges]
    return Mediated(
        conflicts=Mediator(contract, asked.random).conflicts(),
        bridges=_told_apart(list({rule.rule: rule for rule in proposed}.values()), contract),
    )


def merge(asked: Asked) -> JointParts:
    """The manual of all companies."""
    return Merger(asked.get("contract", FusedBlueprint), asked.random).parts()


def _told_apart(rules: Sequence[BridgeRule], contract: FusedBlueprint) -> list[BridgeRule]:
    """The rules, with error codes that no other rule of their tool has."""
    taken = {(tool.name, guard.error) for tool in contract.tools for guard in tool.guards}
    found = []
    for rule in rules:
        error, number = rule.error, 1
        while (rule.tool, error) in taken:
            number += 1
            error = f"{rule.error[:44]}_{number}"
        taken.add((rule.tool, error))
        found.append(rule.model_copy(update={"error": error}))
    return found
