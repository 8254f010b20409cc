"""Answers about several domains: links between two, stories across them, conflicts of their rules, and their joint
manual (s10, s11, s13).
"""

from collections.abc import Iterator, Sequence

from skillweave.base.errors import AuthorError
from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint
from skillweave.schema.fusion import Link, Storyline
from synth.fusion.blueprint import fuse
from synth.fusion.links import links_of
from synth.offline.bridging import stories_between
from synth.offline.manuals import JointManualWriter
from synth.offline.mediator import Mediator
from synth.offline.question import OfflineQuestion
from synth.policy.manual import JointParts
from synth.questions.types import Mediated


def links(asked: OfflineQuestion) -> list[Link]:
    """What the stories of the catalogue between two companies take from the one and give to the other."""
    fused = fuse(asked.many("blueprints", Blueprint))
    found = (link for story in stories_between(fused, asked.seed) for link in links_of(story, fused))
    return list({link.model_copy(update={"why": ""}): link for link in found}.values())


def stories(asked: OfflineQuestion) -> list[Storyline]:
    """The stories that join all the companies by links that are offered."""
    fused = asked.get("blueprint", FusedBlueprint)
    offered = {_ends(link) for link in asked.many("links", Link)}
    found = list(_fitting(stories_between(fused, asked.seed), fused, offered))
    if not found:
        names = ", ".join(member.server for member in fused.members)
        raise AuthorError(f"the offline author knows no story that joins {names}; for more name a model in llm.textual")
    return found[: asked.get("count", int)]


def _fitting(stories: list[Storyline], fused: FusedBlueprint, offered: set[tuple[str, ...]]) -> Iterator[Storyline]:
    for story in stories:
        own = {_ends(link) for link in links_of(story, fused)}
        if own & offered:
            yield story


def _ends(link: Link) -> tuple[str, ...]:
    return link.kind, link.source, link.target, link.consumer


def mediate(asked: OfflineQuestion) -> Mediated:
    """What the contract leaves open is settled; the stories' bridge rules are kept."""
    contract = asked.get("contract", FusedBlueprint)
    proposed = [rule for story in asked.many("storylines", Storyline) for rule in story.bridges]
    return Mediated(
        conflicts=Mediator(contract, asked.random).conflicts(),
        bridges=_told_apart(list({rule.rule: rule for rule in proposed}.values()), contract),
    )


def merge(asked: OfflineQuestion) -> JointParts:
    """The manual of all companies."""
    return JointManualWriter(asked.get("contract", FusedBlueprint), asked.random).parts()


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
