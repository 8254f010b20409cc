"""The proof of stories: each is told as a template, tried on the single worlds, then carried out on the fused world.

Pure: the same arguments give the same record, so it can run in another process.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedEntity
from skillweave.schema.fusion import Fusion, ProvenLink, StoryCall, Storyline
from skillweave.schema.record import Row
from skillweave.schema.template import RowSource, TaskTemplate, TemplateCall, ToolGraph
from skillweave.world.world import World
from synth.contracts.dependencies import lookup_sources, row_sources
from synth.contracts.visibility import subject_entity, subject_keys
from synth.fusion.persons import fused_state
from synth.gates.interlock import crossings
from synth.gates.judging import InstanceMaker
from synth.stories.feasibility import FeasibilityTrials


class NoTemplateError(Exception):
    """Why a story cannot be told in a fused world; the message is the reason that is counted."""


def template_of(
    storyline: Storyline,
    fused: FusedBlueprint,
    graph: ToolGraph,
    referred_by: Mapping[str, Sequence[str]],
    numbers: Mapping[str, str],
) -> TaskTemplate:
    """The template of a story. `numbers`: a bridge rule's name -> its number in the world, for those that are kept.

    NoTemplate where a rule that the story leans on is not kept.
    """
    lost = [rule.rule for rule in storyline.bridges if rule.rule not in numbers]
    if lost:
        raise NoTemplateError(f"the bridge rule {lost[0]} is not kept")
    return TaskTemplate(
        id=f"{fused.server}/{storyline.name}",
        server=fused.server,
        kind="do",
        title=storyline.title,
        calls=[_call(call, fused, graph, numbers) for call in storyline.calls],
        lookups=lookup_sources(fused, graph),
        referred_by={read: list(columns) for read, columns in referred_by.items()},
        tell=storyline.tell,
        reasons=storyline.reasons,
    )


def _call(call: StoryCall, fused: FusedBlueprint, graph: ToolGraph, numbers: Mapping[str, str]) -> TemplateCall:
    tool = fused.tool(fused.member(call.server).tools[call.tool])
    entities = {parameter: _entity(reference, fused) for parameter, reference in call.names.items()}
    shown = {parameter: _showing(entity, fused) for parameter, entity in entities.items()}
    return TemplateCall(
        tool=tool.name,
        same=call.same,
        names={parameter: f"{entity.name}.{entity.key}" for parameter, entity in entities.items()},
        given=call.given,
        rows=call.rows,
        ask=call.ask,
        demanded_by=None if call.demanded_by is None else numbers[call.demanded_by],
        found_by={**row_sources(tool, fused, graph, {*call.same, *call.given}), **shown},
    )


def _entity(reference: str, fused: FusedBlueprint) -> FusedEntity:
    """What `<Server>.<Entity>` names; NoTemplate if nothing."""
    server, _, name = reference.partition(".")
    for entity in [*fused.entities, *fused.relationships]:
        if (entity.server, entity.origin) == (server, name):
            return entity
    raise NoTemplateError(f"there is no {reference}")


def _showing(entity: FusedEntity, fused: FusedBlueprint) -> list[RowSource]:
    """The reads of a domain whose rows tell which row is meant: those that list such rows, or else what has them."""
    own: list[RowSource] = []
    others: list[RowSource] = []
    for tool in fused.tools:
        if tool.kind == "read" and tool.server == entity.server:
            found = own if subject_entity(fused, tool) == entity.name else others
            columns = sorted(subject_keys(fused, tool).get(entity.name, ()))
            found += [RowSource(tool=tool.name, column=column) for column in columns]
    return own or others


PERSONS = 24
"""Persons for whom the parts of a story are tried."""


@dataclass(frozen=True)
class StoryWorlds:
    """What stories of one combination are tried on."""

    fused: FusedBlueprint
    blueprints: Mapping[str, Blueprint]
    databases: Mapping[str, Path]
    people: Sequence[Row]
    graph: ToolGraph
    referred_by: Mapping[str, Sequence[str]]
    now: str
    seed: str


def try_stories(ground: StoryWorlds, storylines: Sequence[Storyline]) -> Fusion:
    """What became of the stories of a combination."""
    worlds = {name: World(ground.blueprints[name], path, now=ground.now) for name, path in ground.databases.items()}
    segments = FeasibilityTrials(worlds, _accounts(ground), f"{ground.seed}/segments")
    pruned = [fault for story in storylines if (fault := segments.pruned(story))]
    for world in worlds.values():
        world.close()
    lost = {fault.storyline for fault in pruned}
    state = fused_state(ground.fused, list(ground.blueprints.values()), ground.databases, ground.people)
    kept: list[Storyline] = []
    proofs: dict[str, list[ProvenLink]] = {}
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


def _accounts(ground: StoryWorlds) -> list[dict[str, str]]:
    """The keys of each person who is in all domains."""
    servers = [member.server for member in ground.fused.members]
    found = [{server: row.get(server) for server in servers} for row in ground.people]
    return [{server: str(key) for server, key in one.items()} for one in found if all(one.values())][:PERSONS]


def _proof(
    ground: StoryWorlds, fused: FusedBlueprint, world: World, story: Storyline
) -> tuple[list[ProvenLink] | str, int]:
    """The links that carrying the story out shows, or the commonest reason why nobody's would do; and the searches."""
    names = {rule.rule: rule.rule for rule in story.bridges}
    try:
        template = template_of(story, fused, ground.graph, ground.referred_by, names)
    except NoTemplateError as fault:
        return str(fault), 0
    maker = InstanceMaker(world, template, partial(crossings, world), 1, f"{ground.seed}/trial")
    maker.make()
    tries = maker.reasons.total() + len(maker.passed)
    if maker.passed:
        return maker.passed[0], tries
    return max(sorted(maker.reasons), key=maker.reasons.__getitem__, default="nobody is in all domains"), tries
