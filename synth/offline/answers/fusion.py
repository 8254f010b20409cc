"""Answers about what joins domains: links between two of them, and stories across several (s10, s11)."""

from collections.abc import Iterator

from skillweave.errors import AuthorError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import Link, Storyline
from synth.fusion.blueprint import fuse
from synth.fusion.links import links_of
from synth.offline.answers.asked import Asked
from synth.offline.bridging import stories_between


def links(asked: Asked) -> list[Link]:
    """What the stories of the catalogue between two companies take from the one and give to the other."""
    fused = fuse(asked.many("blueprints", Blueprint))
    found = (link for story in stories_between(fused, asked.seed) for link in links_of(story, fused))
    return list({link.model_copy(update={"why": ""}): link for link in found}.values())


def stories(asked: Asked) -> list[Storyline]:
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
