"""Answers about several domains: links between two, stories across them, conflicts of their rules, and their joint
manual (s10, s11, s13).
"""

from collections.abc import Sequence

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


def links(question: OfflineQuestion) -> list[Link]:
    """The links that the catalogue's stories between two companies need."""
    fused = fuse(question.many("blueprints", Blueprint))
    needed = (link for story in stories_between(fused, question.seed) for link in links_of(story, fused))
    return list({link.model_copy(update={"why": ""}): link for link in needed}.values())


def stories(question: OfflineQuestion) -> list[Storyline]:
    """The stories that join all companies by links that are offered. AuthorError if there are none."""
    fused = question.get("blueprint", FusedBlueprint)
    offered = {_ends(link) for link in question.many("links", Link)}
    candidates = stories_between(fused, question.seed)
    storylines = [story for story in candidates if offered & {_ends(link) for link in links_of(story, fused)}]
    if not storylines:
        names = ", ".join(member.server for member in fused.members)
        raise AuthorError(f"the offline author knows no story that joins {names}; for more name a model in llm.textual")
    return storylines[: question.get("count", int)]


def _ends(link: Link) -> tuple[str, ...]:
    return link.kind, link.source, link.target, link.consumer


def mediate(question: OfflineQuestion) -> Mediated:
    """Settle what the companies' contracts leave open, and keep the stories' bridge rules."""
    contract = question.get("contract", FusedBlueprint)
    proposed = [rule for story in question.many("storylines", Storyline) for rule in story.bridges]
    return Mediated(
        conflicts=Mediator(contract, question.random).conflicts(),
        bridges=_with_own_errors(list({rule.rule: rule for rule in proposed}.values()), contract),
    )


def merge(question: OfflineQuestion) -> JointParts:
    """The joint manual of all companies."""
    return JointManualWriter(question.get("contract", FusedBlueprint), question.random).parts()


def _with_own_errors(rules: Sequence[BridgeRule], contract: FusedBlueprint) -> list[BridgeRule]:
    """The rules, with error codes that no other rule of their tool has."""
    taken = {(tool.name, guard.error) for tool in contract.tools for guard in tool.guards}
    renamed = []
    for rule in rules:
        error, number = rule.error, 1
        while (rule.tool, error) in taken:
            number += 1
            error = f"{rule.error[:44]}_{number}"
        taken.add((rule.tool, error))
        renamed.append(rule.model_copy(update={"error": error}))
    return renamed
