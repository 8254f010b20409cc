"""Mediation between companies: find contradictions and gaps between their rules, and resolve them.

The answers depend only on the contract. The code has no knowledge of any domain.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from skillweave.schema.blueprint import FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Concern, Guard
from skillweave.schema.fusion import PolicyConflict
from synth.offline.manuals import facts_of, listing
from synth.offline.wording import phrases

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
