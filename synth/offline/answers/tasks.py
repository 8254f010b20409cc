"""Answers about tasks: stories, goals, how people refer to rows, and how they tell what they want (s08, s14, s17)."""

from collections.abc import Mapping
from random import Random

from skillweave.schema.blueprint import Blueprint, FusedBlueprint
from skillweave.schema.combination import Telling
from skillweave.schema.contract import Tool
from skillweave.schema.template import Goal, ToolEdge
from synth.contracts.visibility import subject_entity
from synth.offline.question import OfflineQuestion
from synth.offline.services import Talk
from synth.offline.teller import Teller
from synth.offline.wording import CompanyWords, talk_of_all
from synth.questions.types import RowWords, Story
from synth.tasks.tellings import UntoldTask, numbered_tasks


def stories(asked: OfflineQuestion) -> list[Story]:
    """Pairs of tools that one of the catalogue's goals uses one after the other."""
    blueprint = asked.get("blueprint", Blueprint)
    there = {tool.name for tool in blueprint.tools}
    found: dict[tuple[str, str], Story] = {}
    for goal in asked.variant(blueprint.server).rendered.goals:
        for first, second in zip(goal.calls, goal.calls[1:], strict=False):
            if {first.tool, second.tool} <= there:
                story = Story(source=first.tool, target=second.tool, reason=goal.title)
                found.setdefault((first.tool, second.tool), story)
    return list(found.values())


def goals(asked: OfflineQuestion) -> list[Goal]:
    """The goals whose tools, result columns, stories and rows are there."""
    blueprint = asked.get("blueprint", Blueprint)
    columns = asked.get("columns", dict)
    counts = asked.get("counts", dict)
    linked = {(edge.source, edge.target) for edge in asked.many("stories", ToolEdge)}
    known = asked.variant(blueprint.server).rendered.goals
    fitting = [goal for goal in known if _fits(goal, blueprint, columns, linked)]
    if not any(counts.values()):
        return []
    if unwanted := {tool.name for tool in asked.many("unwanted", Tool)}:
        told = {goal.name for name in ("known", "failed") for goal in asked.many(name, Goal)}
        fitting = [goal for goal in fitting if goal.name not in told and unwanted & {call.tool for call in goal.calls}]
    return fitting[: asked.get("count", int)]


def references(asked: OfflineQuestion) -> list[RowWords]:
    """By which columns of each read people refer to its rows: those that the catalogue has words for."""
    blueprint = asked.get("blueprint", Blueprint)
    columns = asked.get("columns", dict)
    found = []
    for read, names in columns.items():
        talk, about = _talk_and_subject(asked, blueprint, read)
        # Its own words first; amounts last, since few people know a thing by its price.
        entities = sorted(talk.entities, key=lambda entity: entity != about)
        said = [column for entity in entities for column in talk.entities[entity].qualifiers if column in names]
        if said:
            ordered = sorted(dict.fromkeys(said), key=lambda column: column.endswith("_cents"))
            found.append(RowWords(read=read, columns=ordered))
    return found


def _talk_and_subject(asked: OfflineQuestion, blueprint: Blueprint, read: str) -> tuple[Talk, str | None]:
    """The words of the company that offers a read, and which of its entities the rows are, by its own name for it."""
    about = subject_entity(blueprint, blueprint.tool(read))
    if not isinstance(blueprint, FusedBlueprint):
        return asked.variant(blueprint.server).rendered.talk, about
    origins = {entity.name: entity.origin for entity in [*blueprint.entities, *blueprint.relationships]}
    server = blueprint.member_of(read).server
    return asked.variant(server).rendered.talk, origins.get(about) if about else None


def _fits(goal: Goal, blueprint: Blueprint, columns: Mapping[str, list[str]], linked: set[tuple[str, str]]) -> bool:
    tools = {tool.name: tool for tool in blueprint.tools}
    for call in goal.calls:
        if call.tool not in tools or not call.same.keys() <= {p.name for p in tools[call.tool].parameters}:
            return False
    if any(told.column not in columns[goal.calls[told.call - 1].tool] for told in goal.tell):
        return False
    pairs = zip(goal.calls, goal.calls[1:], strict=False)
    return all((first.tool, second.tool) in linked for first, second in pairs)


def tell(asked: OfflineQuestion) -> list[Telling]:
    """Each task in its persona's words, which it draws by itself: whatever else is told in the same question."""
    talk, companies = _words(asked)
    return [
        Teller(task.request, talk, _random(asked, task), companies, number).tell()
        for number, task in numbered_tasks(asked.many("tasks", UntoldTask)).items()
    ]


def _random(asked: OfflineQuestion, task: UntoldTask) -> Random:
    return Random(f"{asked.seed}/{asked.question}/{task.combination.id}")


def _words(asked: OfflineQuestion) -> tuple[Talk, CompanyWords]:
    blueprint = asked.variables.get("blueprint")
    if not isinstance(blueprint, FusedBlueprint):
        return asked.variant(asked.get("server", str)).rendered.talk, CompanyWords()
    return talk_of_all(blueprint, {one.server: asked.variant(one.server).rendered.talk for one in blueprint.members})
