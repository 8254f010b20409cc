"""The proof of stories: each is tried on the single worlds, then carried out once on the fused world as a template.

Pure: the same arguments give the same record, so it can run in another process.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedEntity
from skillweave.schema.fusion import Fusion, ProvenLink, StoryCall, Storyline
from skillweave.schema.record import Row
from skillweave.schema.template import RowSource, TaskTemplate, TemplateCall, ToolGraph
from skillweave.world.database import to_bytes
from skillweave.world.world import World
from synth.contracts.visibility import subject_entity, subject_keys
from synth.contracts.writes import lookup_sources, row_sources
from synth.fusion.persons import fused_state
from synth.gates.interlock import crossings
from synth.stories.feasibility import FeasibilityTrials
from synth.tasks.candidates import CandidateFinder
from synth.tasks.kinds import NoInstance
from synth.tasks.replay import Rejected


class NoTemplateError(Exception):
    """A story cannot become a template of a fused world; the message is the reason under which it is counted."""


def template_of(
    storyline: Storyline,
    fused: FusedBlueprint,
    graph: ToolGraph,
    referred_by: Mapping[str, Sequence[str]],
    numbers: Mapping[str, str],
) -> TaskTemplate:
    """Put a story into the names of its fused world.

    Args:
        storyline: The story, in its domains' names.
        fused: The contract of the fused world.
        graph: Its tool graph.
        referred_by: Read -> the columns by which people refer to its rows.
        numbers: A bridge rule's name in stories -> its number in the world, for the rules that are kept.

    Raises:
        NoTemplateError: A bridge rule that the story needs is not kept.
    """
    dropped = [rule.rule for rule in storyline.bridges if rule.rule not in numbers]
    if dropped:
        raise NoTemplateError(f"the bridge rule {dropped[0]} is not kept")
    return TaskTemplate(
        id=f"{fused.server}/{storyline.name}",
        server=fused.server,
        kind="do",
        title=storyline.title,
        calls=[_template_call(call, fused, graph, numbers) for call in storyline.calls],
        lookups=lookup_sources(fused, graph),
        referred_by={read: list(columns) for read, columns in referred_by.items()},
        tell=storyline.tell,
        reasons=storyline.reasons,
    )


def _template_call(
    call: StoryCall, fused: FusedBlueprint, graph: ToolGraph, numbers: Mapping[str, str]
) -> TemplateCall:
    tool = fused.tool(fused.member(call.server).tools[call.tool])
    entities = {parameter: _entity_named(reference, fused) for parameter, reference in call.names.items()}
    reads_showing = {parameter: _reads_showing(entity, fused) for parameter, entity in entities.items()}
    return TemplateCall(
        tool=tool.name,
        same=call.same,
        names={parameter: f"{entity.name}.{entity.key}" for parameter, entity in entities.items()},
        given=call.given,
        rows=call.rows,
        ask=call.ask,
        demanded_by=None if call.demanded_by is None else numbers[call.demanded_by],
        found_by={**row_sources(tool, fused, graph, {*call.same, *call.given}), **reads_showing},
    )


def _entity_named(reference: str, fused: FusedBlueprint) -> FusedEntity:
    """The entity that `<Server>.<Entity>` names. NoTemplateError if there is none."""
    server, _, name = reference.partition(".")
    for entity in [*fused.entities, *fused.relationships]:
        if (entity.server, entity.origin) == (server, name):
            return entity
    raise NoTemplateError(f"there is no {reference}")


def _reads_showing(entity: FusedEntity, fused: FusedBlueprint) -> list[RowSource]:
    """The reads of a domain that show an entity's rows: those that list them, or else those that contain them."""
    own: list[RowSource] = []
    others: list[RowSource] = []
    for tool in fused.tools:
        if tool.kind == "read" and tool.server == entity.server:
            reads = own if subject_entity(fused, tool) == entity.name else others
            columns = sorted(subject_keys(fused, tool).get(entity.name, ()))
            reads += [RowSource(tool=tool.name, column=column) for column in columns]
    return own or others


MOST_PERSONS = 24
"""Persons for whom the parts of a story are tried."""


@dataclass(frozen=True)
class StoryInputs:
    """What the stories of one combination are tried on."""

    fused: FusedBlueprint
    """The contract of the fused world, without bridge rules."""
    blueprints: Mapping[str, Blueprint]
    """Of each domain, by server."""
    databases: Mapping[str, Path]
    """Of each domain, by server."""
    people: Sequence[Row]
    """The shared persons, each with their key in every domain."""
    graph: ToolGraph
    """Of the fused world."""
    referred_by: Mapping[str, Sequence[str]]
    """Read -> the columns by which people refer to its rows."""
    now: str
    """The run's clock."""
    seed: str


def try_stories(inputs: StoryInputs, storylines: Sequence[Storyline]) -> Fusion:
    """Prove the stories of a combination.

    Returns:
        The record: stories that are proven, with their proofs, and why the others are not.
    """
    worlds = {name: World(inputs.blueprints[name], path, now=inputs.now) for name, path in inputs.databases.items()}
    trials = FeasibilityTrials(worlds, _accounts(inputs), f"{inputs.seed}/segments")
    with ExitStack() as shared:
        for world in worlds.values():
            shared.enter_context(world.sharing())
        pruned = [fault for story in storylines if (fault := trials.pruned(story))]
    for world in worlds.values():
        world.close()
    infeasible = {fault.storyline for fault in pruned}
    connection = fused_state(inputs.fused, list(inputs.blueprints.values()), inputs.databases, inputs.people)
    with closing(connection):
        joined = to_bytes(connection, inputs.fused)
    proven_stories: list[Storyline] = []
    proofs: dict[str, list[ProvenLink]] = {}
    rejected: dict[str, str] = {}
    searches = 0
    with ExitStack() as opened:
        fused_worlds: dict[str, tuple[FusedBlueprint, World]] = {}
        for story in storylines:
            if story.name in infeasible:
                continue
            rules = repr(story.bridges)
            if rules not in fused_worlds:
                fused = inputs.fused.with_bridges(story.bridges)
                fused_worlds[rules] = fused, World(fused, joined, now=inputs.now)
                opened.callback(fused_worlds[rules][1].close)
                opened.enter_context(fused_worlds[rules][1].sharing())
            try:
                outcome, tries = _prove(inputs, *fused_worlds[rules], story)
            except sqlite3.Error as error:
                # A rule's SQL may fail on the data, by too much work or too long a text.
                outcome, tries = f"SQL failed: {error}", 0
            searches += tries
            if isinstance(outcome, str):
                rejected[story.name] = outcome
            else:
                proven_stories.append(story)
                proofs[story.name] = outcome
    return Fusion(
        name=inputs.fused.server,
        domains=[member.server for member in inputs.fused.members],
        storylines=proven_stories,
        proofs=proofs,
        pruned=pruned,
        rejected=rejected,
        searches=searches,
    )


def _accounts(inputs: StoryInputs) -> list[dict[str, str]]:
    """The keys of some persons whom all domains know, by server."""
    servers = [member.server for member in inputs.fused.members]
    keys_of_people = [{server: row.get(server) for server in servers} for row in inputs.people]
    return [{server: str(key) for server, key in keys.items()} for keys in keys_of_people if all(keys.values())][
        :MOST_PERSONS
    ]


def _prove(
    inputs: StoryInputs, fused: FusedBlueprint, world: World, story: Storyline
) -> tuple[list[ProvenLink] | str, int]:
    """Carry a story out on its fused world.

    Returns:
        The links that it proves, or the most frequent reason why it fails; and the number of searches.
    """
    names = {rule.rule: rule.rule for rule in story.bridges}
    try:
        template = template_of(story, fused, inputs.graph, inputs.referred_by, names)
    except NoTemplateError as fault:
        return str(fault), 0
    reasons: Counter[str] = Counter()
    for candidate in CandidateFinder(world, template, 1, f"{inputs.seed}/trial").candidates():
        if isinstance(candidate, NoInstance):
            reasons[str(candidate)] += 1
            continue
        try:
            return crossings(world, candidate), reasons.total() + 1
        except Rejected as rejected:
            reasons[rejected.reason] += 1
    return max(sorted(reasons), key=reasons.__getitem__, default="nobody is in all domains"), reasons.total()
