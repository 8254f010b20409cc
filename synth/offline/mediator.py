"""Mediating between companies: where their rules contradict each other or leave a gap, and what holds then.

Everything follows from the contract. The code knows nothing of any domain.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from skillweave.schema.blueprint import FusedBlueprint, FusedMember, FusedTool
from skillweave.schema.contract import Concern, Guard
from skillweave.schema.fusion import PolicyConflict
from synth.offline.manuals import facts_of, listing, phrases

ConflictTopic = Literal["privacy", "deadline", "authority", "payment", "identity", "other"]
MOST_KINDS = 3
"""Kinds of action whose deadlines are named."""


class CitedRule(NamedTuple):
    """A rule of a member's tool."""

    member: FusedMember
    tool: FusedTool
    guard: Guard


class Mediator:
    def __init__(self, contract: FusedBlueprint, random: Random) -> None:
        self._contract = contract
        self._random = random

    def conflicts(self) -> list[PolicyConflict]:
        """What is to be settled, with what holds now."""
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
        tools = [tool for tool in self._contract.tools if tool.kind == "auth"]
        asked = {tool.server: facts_of(tool) for tool in tools}
        if len(set(asked.values())) > 1:
            facts = listing([f"{self._contract.member(server).title} by {told}" for server, told in asked.items()])
            rules = [guard.rule for tool in tools for guard in tool.guards[:1]]
            yield self._conflict("identity", "identity", rules, self._contract.members, facts=facts)

    def _ownership(self) -> Iterator[PolicyConflict]:
        found = _one_each([one for one in self._rules() if one.guard.concern == "ownership"])
        if found:
            yield self._between("authority", "authority", found)

    def _standing(self) -> Iterator[PolicyConflict]:
        """Conditions that each of several companies makes of many dealings."""
        soft: tuple[Concern, ...] = ("eligibility", "fee")
        often = {
            one.guard.rule
            for one in self._rules()
            if one.guard.concern in soft and sum(other.guard.rule == one.guard.rule for other in self._rules()) > 1
        }
        found = _one_each([one for one in self._rules() if one.guard.rule in often])
        if found:
            yield self._between("authority", "standing", found)

    def _deadlines(self) -> Iterator[PolicyConflict]:
        """Times that companies set for the same kinds of action, which their tools are named after."""
        timed = [one for one in self._rules() if one.guard.concern == "deadline"]
        shared: dict[str, list[CitedRule]] = {}
        for verb in dict.fromkeys(_verb(one.tool) for one in timed):
            found = _one_each([one for one in timed if _verb(one.tool) == verb])
            if found and len(shared) < MOST_KINDS:
                shared[verb] = found
        if shared:
            every = list({one.guard.rule: one for found in shared.values() for one in found}.values())
            yield self._between("deadline", "deadline", every, verbs=listing(list(shared), "or"))

    def _payment(self) -> Iterator[PolicyConflict]:
        """Parameters of the same name whose values overlap and differ, in tools with rules about what is paid."""
        ways: dict[str, dict[str, FusedTool]] = {}
        for tool in self._contract.tools:
            for parameter in tool.parameters:
                if parameter.enum and tool.kind == "write" and _verb(tool) == "pay":
                    ways.setdefault(parameter.name, {}).setdefault(tool.server, tool)
        for name, tools in ways.items():
            values = {server: tool.parameter(name).enum or [] for server, tool in tools.items()}
            if len({tuple(sorted(taken)) for taken in values.values()}) > 1:
                rules = [guard.rule for tool in tools.values() for guard in tool.guards if f":{name}" in guard.holds]
                members = [self._contract.member(server) for server in tools]
                told = [
                    f"{member.title} by {listing([one.replace('_', ' ') for one in values[member.server]], 'or')}"
                    for member in members
                ]
                yield self._conflict(
                    "payment", "payment", _of_several(rules, self._contract), members, ways=listing(told)
                )

    def _rules(self) -> list[CitedRule]:
        return [
            CitedRule(self._contract.member(tool.server), tool, guard)
            for tool in self._contract.tools
            for guard in tool.guards
            if not guard.rule.startswith("B")
        ]

    def _between(self, about: ConflictTopic, kind: str, found: Sequence[CitedRule], **words: str) -> PolicyConflict:
        told = listing([f"{one.guard.rule} of {one.member.title}" for one in found])
        rules, members = [one.guard.rule for one in found], [one.member for one in found]
        return self._conflict(about, kind, rules, members, rules=told, **words)

    def _conflict(
        self, about: ConflictTopic, kind: str, numbers: Sequence[str], members: Sequence[FusedMember], **words: str
    ) -> PolicyConflict:
        every: Mapping[str, Any] = phrases("fused")["conflicts"][kind]
        told = {"companies": listing([member.title for member in members]), **words}
        return PolicyConflict(
            about=about,
            rules=list(dict.fromkeys(numbers)),
            conflict=str(self._random.choice(every["conflict"])).format_map(told),
            resolution=str(self._random.choice(every["resolution"])).format_map(told),
        )


def _one_each(rules: Sequence[CitedRule]) -> list[CitedRule]:
    """The first rule of each member; none where fewer than two members have one."""
    firsts: dict[str, CitedRule] = {}
    for one in rules:
        firsts.setdefault(one.member.server, one)
    return list(firsts.values()) if len(firsts) > 1 else []


def _verb(tool: FusedTool) -> str:
    return tool.origin.partition("_")[0]


def _of_several(rules: Sequence[str], contract: FusedBlueprint) -> list[str]:
    """The rules, if they are of two members at least; else none: what is meant is then no rule."""
    servers = {tool.server for tool in contract.tools for guard in tool.guards if guard.rule in rules}
    return list(rules) if len(servers) > 1 else []
