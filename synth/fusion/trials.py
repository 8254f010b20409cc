"""Trials: every story of a combination is pruned on the single worlds, or carried out once on the fused one and proven.

Pure: the same arguments give the same record, so it can run in another process.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.combination import Combination
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import Crossing, Fusion, Storyline
from skillweave.schema.record import Row
from skillweave.schema.tool_graph import ToolGraph
from skillweave.world.world import World
from synth.fusion.rows import fused_state
from synth.fusion.segments import Segments
from synth.fusion.stories import template_of
from synth.gates.interlock import crossings
from synth.gates.rejection import Rejected
from synth.tasks.combine import combinations_of

PERSONS = 24
"""Persons for whom a story is tried."""


@dataclass(frozen=True)
class Ground:
    """What stories of one combination are tried on."""

    fused: FusedBlueprint
    blueprints: Mapping[str, Blueprint]
    databases: Mapping[str, Path]
    people: Sequence[Row]
    graph: ToolGraph
    referred_by: Mapping[str, Sequence[str]]
    now: str
    seed: str


def tried(ground: Ground, storylines: Sequence[Storyline]) -> Fusion:
    """What became of the stories of a combination."""
    worlds = {name: World(ground.blueprints[name], path, now=ground.now) for name, path in ground.databases.items()}
    segments = Segments(worlds, _accounts(ground), f"{ground.seed}/segments")
    pruned = [fault for story in storylines if (fault := segments.pruned(story))]
    for world in worlds.values():
        world.close()
    lost = {fault.storyline for fault in pruned}
    state = fused_state(ground.fused, list(ground.blueprints.values()), ground.databases, ground.people)
    kept: list[Storyline] = []
    proofs: dict[str, list[Crossing]] = {}
    rejected: dict[str, str] = {}
    searches = 0
    for story in storylines:
        if story.name not in lost:
            world = World(ground.fused.with_bridges(story.bridges), state, now=ground.now)
            found, tries = _proof(ground, world, story)
            world.close()
            searches += tries
            if isinstance(found, str):
                rejected[story.name] = found
            else:
                kept.append(story)
                proofs[story.name] = found
    return Fusion(
        name=ground.fused.server,
        domains=[member.server for member in ground.fused.members],
        storylines=kept,
        proofs=proofs,
        pruned=pruned,
        rejected=rejected,
        searches=searches,
    )


def _accounts(ground: Ground) -> list[dict[str, str]]:
    """The keys of each person who is in all domains."""
    servers = [member.server for member in ground.fused.members]
    found = [{server: row.get(server) for server in servers} for row in ground.people]
    return [{server: str(key) for server, key in one.items()} for one in found if all(one.values())][:PERSONS]


def _proof(ground: Ground, world: World, story: Storyline) -> tuple[list[Crossing] | str, int]:
    """The links that carrying the story out shows, or the commonest reason why nobody's would do; and the searches."""
    template = template_of(story, world.blueprint, ground.graph, ground.referred_by)  # type: ignore[arg-type]
    callers = Random(f"{ground.seed}/{story.name}").sample(world.callers, len(world.callers))[:PERSONS]
    reasons: Counter[str] = Counter()
    tries = 0
    for made in combinations_of(world, template, callers, PERSONS, f"{ground.seed}/trial"):
        tries += 1
        if isinstance(made, Combination):
            try:
                return crossings(world, made), tries
            except Rejected as fault:
                reasons[str(fault)] += 1
        else:
            reasons[str(made)] += 1
    return (max(sorted(reasons), key=reasons.__getitem__) if reasons else "nobody is in all domains"), tries
