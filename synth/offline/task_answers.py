"""The offline author's answers about tasks, single and across domains, and about fused worlds.

What it settles between companies follows from the contract alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from skillweave.base.errors import AuthorError
from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Concern, Guard, Tool
from skillweave.schema.fusion import Link, PolicyConflict, Storyline
from skillweave.schema.request import Telling
from skillweave.schema.template import Goal, ToolEdge
from synth.contracts.visibility import subject_entity
from synth.fusion.blueprint import fuse
from synth.fusion.links import links_of
from synth.offline.bridging import stories_between
from synth.offline.manuals import JointManualWriter, facts_of, listing
from synth.offline.services import OfflineQuestion, Talk
from synth.offline.teller import Teller
from synth.offline.wording import CompanyWords, phrases, talk_of_all
from synth.policy.manual import JointParts
from synth.questions.types import Mediated, RowWords, Story
from synth.tasks.tellings import UntoldTask, numbered_tasks


def links(question: OfflineQuestion) -> list[Link]:
    """The links that the catalogue's stories between two companies need."""
    fused = fuse(question.many("blueprints", Blueprint))
    needed = (
        link for story in stories_between(fused, question.seed, question.catalogue) for link in links_of(story, fused)
    )
    return list({link.model_copy(update={"why": ""}): link for link in needed}.values())


def fusion_stories(question: OfflineQuestion) -> list[Storyline]:
    """The stories that join all companies by links that are offered. AuthorError if there are none."""
    fused = question.get("blueprint", FusedBlueprint)
    offered = {_ends(link) for link in question.many("links", Link)}
    candidates = stories_between(fused, question.seed, question.catalogue)
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


ConflictTopic = Literal["privacy", "deadline", "authority", "payment", "identity", "other"]
MOST_KINDS = 3
"""Most kinds of action whose deadlines to name."""


class CitedRule(NamedTuple):
    """A rule of a company's tool."""

    member: FusedMember
    tool: FusedTool
    guard: Guard


class Mediator:
    """Finds the conflicts that the companies of a fused world have to settle."""

    def __init__(self, contract: FusedBlueprint, random: Random) -> None:
        self._contract = contract
        self._random = random

    def conflicts(self) -> list[PolicyConflict]:
        """The conflicts between the companies, each with its resolution."""
        return [
            *self._privacy(),
            *self._identity(),
            *self._ownership(),
            *self._deadlines(),
            *self._payment(),
            *self._standing(),
        ]

    def _privacy(self) -> Iterator[PolicyConflict]:
        yield self._conflict("privacy", "privacy", [], self._contract.members)

    def _identity(self) -> Iterator[PolicyConflict]:
        """Companies that ask for different facts to identify somebody."""
        tools = [tool for tool in self._contract.tools if tool.kind == "auth"]
        facts_by_server = {tool.server: facts_of(tool) for tool in tools}
        if len(set(facts_by_server.values())) > 1:
            ways = [f"{self._contract.member(server).title} by {facts}" for server, facts in facts_by_server.items()]
            rules = [guard.rule for tool in tools for guard in tool.guards[:1]]
            yield self._conflict("identity", "identity", rules, self._contract.members, facts=listing(ways))

    def _ownership(self) -> Iterator[PolicyConflict]:
        cited = _first_of_each([rule for rule in self._rules() if rule.guard.concern == "ownership"])
        if cited:
            yield self._between("authority", "authority", cited)

    def _standing(self) -> Iterator[PolicyConflict]:
        """Conditions that each of several companies sets for more than one tool."""
        soft: tuple[Concern, ...] = ("eligibility", "fee")
        rules = self._rules()
        counts = Counter(rule.guard.rule for rule in rules)
        frequent = {rule.guard.rule for rule in rules if rule.guard.concern in soft and counts[rule.guard.rule] > 1}
        cited = _first_of_each([rule for rule in rules if rule.guard.rule in frequent])
        if cited:
            yield self._between("authority", "standing", cited)

    def _deadlines(self) -> Iterator[PolicyConflict]:
        """Time limits of several companies for actions of the same verb."""
        timed = [rule for rule in self._rules() if rule.guard.concern == "deadline"]
        shared: dict[str, list[CitedRule]] = {}
        for verb in dict.fromkeys(_verb(rule.tool) for rule in timed):
            cited = _first_of_each([rule for rule in timed if _verb(rule.tool) == verb])
            if cited and len(shared) < MOST_KINDS:
                shared[verb] = cited
        if shared:
            distinct = list({rule.guard.rule: rule for cited in shared.values() for rule in cited}.values())
            yield self._between("deadline", "deadline", distinct, verbs=listing(list(shared), "or"))

    def _payment(self) -> Iterator[PolicyConflict]:
        """Parameters of one name by which tools of several companies take payment with different values."""
        tools_by_parameter: dict[str, dict[str, FusedTool]] = {}
        for tool in self._contract.tools:
            for parameter in tool.parameters:
                if parameter.enum and tool.kind == "write" and _verb(tool) == "pay":
                    tools_by_parameter.setdefault(parameter.name, {}).setdefault(tool.server, tool)
        for name, tools in tools_by_parameter.items():
            values = {server: tool.parameter(name).enum or [] for server, tool in tools.items()}
            if len({tuple(sorted(accepted)) for accepted in values.values()}) > 1:
                rules = [guard.rule for tool in tools.values() for guard in tool.guards if f":{name}" in guard.holds]
                members = [self._contract.member(server) for server in tools]
                ways = [
                    f"{member.title} by {listing([value.replace('_', ' ') for value in values[member.server]], 'or')}"
                    for member in members
                ]
                yield self._conflict(
                    "payment", "payment", _of_several(rules, self._contract), members, ways=listing(ways)
                )

    def _rules(self) -> list[CitedRule]:
        """The companies' own rules, once for each tool that has them."""
        return [
            CitedRule(self._contract.member(tool.server), tool, guard)
            for tool in self._contract.tools
            for guard in tool.guards
            if not guard.rule.startswith("B")
        ]

    def _between(self, about: ConflictTopic, kind: str, cited: Sequence[CitedRule], **words: str) -> PolicyConflict:
        """A conflict between cited rules."""
        numbers = listing([f"{rule.guard.rule} of {rule.member.title}" for rule in cited])
        rules, members = [rule.guard.rule for rule in cited], [rule.member for rule in cited]
        return self._conflict(about, kind, rules, members, rules=numbers, **words)

    def _conflict(
        self, about: ConflictTopic, kind: str, numbers: Sequence[str], members: Sequence[FusedMember], **words: str
    ) -> PolicyConflict:
        """A conflict in the phrases of its kind; `words` fill their slots."""
        forms: Mapping[str, Any] = phrases("fused")["conflicts"][kind]
        slots = {"companies": listing([member.title for member in members]), **words}
        return PolicyConflict(
            about=about,
            rules=list(dict.fromkeys(numbers)),
            conflict=str(self._random.choice(forms["conflict"])).format_map(slots),
            resolution=str(self._random.choice(forms["resolution"])).format_map(slots),
        )


def _first_of_each(rules: Sequence[CitedRule]) -> list[CitedRule]:
    """The first rule of each company; none if fewer than two companies have one."""
    firsts: dict[str, CitedRule] = {}
    for rule in rules:
        firsts.setdefault(rule.member.server, rule)
    return list(firsts.values()) if len(firsts) > 1 else []


def _verb(tool: FusedTool) -> str:
    return tool.origin.partition("_")[0]


def _of_several(rules: Sequence[str], contract: FusedBlueprint) -> list[str]:
    """The rules if at least two companies have them, else none."""
    servers = {tool.server for tool in contract.tools for guard in tool.guards if guard.rule in rules}
    return list(rules) if len(servers) > 1 else []
