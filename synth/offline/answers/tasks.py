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


def stories(question: OfflineQuestion) -> list[Story]:
    """Pairs of tools that a goal of the catalogue uses one after the other."""
    blueprint = question.get("blueprint", Blueprint)
    names = {tool.name for tool in blueprint.tools}
    pairs: dict[tuple[str, str], Story] = {}
    for goal in question.variant(blueprint.server).rendered.goals:
        for first, second in zip(goal.calls, goal.calls[1:], strict=False):
            if {first.tool, second.tool} <= names:
                story = Story(source=first.tool, target=second.tool, reason=goal.title)
                pairs.setdefault((first.tool, second.tool), story)
    return list(pairs.values())


def goals(question: OfflineQuestion) -> list[Goal]:
    """The goals that the blueprint, its results, stories and rows allow."""
    blueprint = question.get("blueprint", Blueprint)
    columns = question.get("columns", dict)
    counts = question.get("counts", dict)
    linked = {(edge.source, edge.target) for edge in question.many("stories", ToolEdge)}
    known = question.variant(blueprint.server).rendered.goals
    fitting = [goal for goal in known if _fits(goal, blueprint, columns, linked)]
    if not any(counts.values()):
        return []
    if unwanted := {tool.name for tool in question.many("unwanted", Tool)}:
        known_goals = {goal.name for name in ("known", "failed") for goal in question.many(name, Goal)}
        fitting = [
            goal for goal in fitting if goal.name not in known_goals and unwanted & {call.tool for call in goal.calls}
        ]
    return fitting[: question.get("count", int)]


def references(question: OfflineQuestion) -> list[RowWords]:
    """The columns of each read by which people refer to its rows: those that the catalogue has words for."""
    blueprint = question.get("blueprint", Blueprint)
    columns = question.get("columns", dict)
    row_words = []
    for read, names in columns.items():
        talk, about = _talk_and_subject(question, blueprint, read)
        # The entity's own words first, amounts last: few people know a thing by its price.
        entities = sorted(talk.entities, key=lambda entity: entity != about)
        sayable = [column for entity in entities for column in talk.entities[entity].qualifiers if column in names]
        if sayable:
            ordered = sorted(dict.fromkeys(sayable), key=lambda column: column.endswith("_cents"))
            row_words.append(RowWords(read=read, columns=ordered))
    return row_words


def _talk_and_subject(question: OfflineQuestion, blueprint: Blueprint, read: str) -> tuple[Talk, str | None]:
    """The words of the company that offers a read, and the entity that its rows are, by the company's own name."""
    about = subject_entity(blueprint, blueprint.tool(read))
    if not isinstance(blueprint, FusedBlueprint):
        return question.variant(blueprint.server).rendered.talk, about
    origins = {entity.name: entity.origin for entity in [*blueprint.entities, *blueprint.relationships]}
    server = blueprint.member_of(read).server
    return question.variant(server).rendered.talk, origins.get(about) if about else None


def _fits(goal: Goal, blueprint: Blueprint, columns: Mapping[str, list[str]], linked: set[tuple[str, str]]) -> bool:
    tools = {tool.name: tool for tool in blueprint.tools}
    for call in goal.calls:
        if call.tool not in tools or not call.same.keys() <= {p.name for p in tools[call.tool].parameters}:
            return False
    if any(fact.column not in columns[goal.calls[fact.call - 1].tool] for fact in goal.tell):
        return False
    pairs = zip(goal.calls, goal.calls[1:], strict=False)
    return all((first.tool, second.tool) in linked for first, second in pairs)


def tell(question: OfflineQuestion) -> list[Telling]:
    """Tell each task in its persona's words. They do not depend on the other tasks of the question."""
    talk, companies = _words(question)
    return [
        Teller(task.request, talk, _random(question, task), companies, number).tell()
        for number, task in numbered_tasks(question.many("tasks", UntoldTask)).items()
    ]


def _random(question: OfflineQuestion, task: UntoldTask) -> Random:
    return Random(f"{question.seed}/{question.name}/{task.combination.id}")


def _words(question: OfflineQuestion) -> tuple[Talk, CompanyWords]:
    blueprint = question.variables.get("blueprint")
    if not isinstance(blueprint, FusedBlueprint):
        return question.variant(question.get("server", str)).rendered.talk, CompanyWords()
    talks = {member.server: question.variant(member.server).rendered.talk for member in blueprint.members}
    return talk_of_all(blueprint, talks)
