"""Stories as templates: what a storyline says in its domains' words, in the names of the fused world."""

from collections.abc import Mapping, Sequence

from skillweave.schema.fused import FusedBlueprint, FusedEntity
from skillweave.schema.fusion import StoryCall, Storyline
from skillweave.schema.template import Source, TaskTemplate, TemplateCall
from skillweave.schema.tool_graph import ToolGraph
from synth.graph.columns import rows_told, subject
from synth.tasks.templates import lookups_of, sources_of


class NoTemplate(Exception):
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
        raise NoTemplate(f"the bridge rule {lost[0]} is not kept")
    return TaskTemplate(
        id=f"{fused.server}/{storyline.name}",
        server=fused.server,
        kind="do",
        title=storyline.title,
        calls=[_call(call, fused, graph, numbers) for call in storyline.calls],
        lookups=lookups_of(fused, graph),
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
        found_by={**sources_of(tool, fused, graph, {*call.same, *call.given}), **shown},
    )


def _entity(reference: str, fused: FusedBlueprint) -> FusedEntity:
    """What `<Server>.<Entity>` names; NoTemplate if nothing."""
    server, _, name = reference.partition(".")
    for entity in [*fused.entities, *fused.relationships]:
        if (entity.server, entity.origin) == (server, name):
            return entity
    raise NoTemplate(f"there is no {reference}")


def _showing(entity: FusedEntity, fused: FusedBlueprint) -> list[Source]:
    """The reads of a domain whose rows tell which row is meant: those that list such rows, or else what has them."""
    own: list[Source] = []
    others: list[Source] = []
    for tool in fused.tools:
        if tool.kind == "read" and tool.server == entity.server:
            found = own if subject(fused, tool) == entity.name else others
            columns = sorted(rows_told(fused, tool).get(entity.name, ()))
            found += [Source(tool=tool.name, column=column) for column in columns]
    return own or others
