"""Trials: every story of a combination is pruned on the single worlds, or carried out once on the fused one and proven.

Pure: the same arguments give the same record, so it can run in another process.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.fusion import Crossing, Fusion, Storyline
from skillweave.schema.record import Row
from skillweave.schema.tool_graph import ToolGraph
from skillweave.world.world import World
from synth.fusion.rows import fused_state
from synth.fusion.segments import Segments
from synth.fusion.stories import NoTemplate, template_of
from synth.gates.instances import Maker
from synth.gates.interlock import crossings

PERSONS = 24
"""Persons for whom the parts of a story are tried."""


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
            fused = ground.fused.with_bridges(story.bridges)
            world = World(fused, state, now=ground.now)
            try:
                found, tries = _proof(ground, fused, world, story)
            except sqlite3.Error as error:
                # What a rule asks of the data shows on the data: too much work, too long a text.
                found, tries = f"SQL failed: {error}", 0
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


def _proof(ground: Ground, fused: FusedBlueprint, world: World, story: Storyline) -> tuple[list[Crossing] | str, int]:
    """The links that carrying the story out shows, or the commonest reason why nobody's would do; and the searches."""
    names = {rule.rule: rule.rule for rule in story.bridges}
    try:
        template = template_of(story, fused, ground.graph, ground.referred_by, names)
    except NoTemplate as fault:
        return str(fault), 0
    maker = Maker(world, template, partial(crossings, world), 1, f"{ground.seed}/trial")
    maker.make()
    tries = maker.reasons.total() + len(maker.passed)
    if maker.passed:
        return maker.passed[0], tries
    return max(sorted(maker.reasons), key=maker.reasons.__getitem__, default="nobody is in all domains"), tries
