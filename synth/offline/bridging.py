"""Bridges of the catalogue: stories and rules between services, one YAML file for each set of services.

The file holds two YAML documents, like a service: which services stand on its sides, and a Jinja template of `rules`
and `stories`, rendered from the contracts at hand. What speaks of a tool that a company does not have is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import combinations, permutations
from typing import Any

import yaml

from skillweave.schema.blueprint import BridgeRule, FusedBlueprint, FusedEntity, FusedMember, FusedTool
from skillweave.schema.fusion import StoryCall, Storyline
from skillweave.schema.record import Record
from synth.contracts.visibility import column_origins
from synth.offline.services import LOADER, ServiceVariant, environment, variant

MOST_MERGED = 4
"""Stories of larger sets that are merged from those of pairs."""


class BridgeHeader(Record):
    sides: dict[str, str]
    """Alias -> service."""


@dataclass(frozen=True)
class BridgeSide:
    """One company, as the templates see it."""

    fused: FusedBlueprint
    member: FusedMember
    variant: ServiceVariant

    @property
    def words(self) -> dict[str, str]:
        """The words of its setting."""
        return self.variant.setting.words

    @property
    def server(self) -> str:
        """Its server."""
        return self.member.server

    @property
    def title(self) -> str:
        """The company's name."""
        return self.member.title

    @property
    def whose(self) -> str:
        """The name before what is the company's own: `Brightwater Laboratories'`."""
        return f"{self.title}'" if self.title.endswith("s") else f"{self.title}'s"

    @property
    def me(self) -> str:
        """The person's key in this company, in SQL."""
        return f"(SELECT {self.member.account} FROM {self.fused.core.table} WHERE person_id = :person)"

    def tool(self, *names: str) -> str:
        """The first of these tools that it has; empty if none."""
        return next((name for name in names if name in self._tools), "")

    def call(self, *names: str) -> str:
        """The same under its name in the fused world."""
        found = self.tool(*names)
        return self._tools[found].name if found else ""

    def has(self, tool: str, name: str) -> bool:
        """Whether it has a tool that returns or takes that."""
        found = self._tools.get(tool)
        return found is not None and (name in column_origins(found) or name in {one.name for one in found.parameters})

    def entity(self, *names: str) -> str:
        """`Server.Entity` of the first of these entities that there is."""
        found = self._entity(names)
        return f"{self.server}.{found.origin}" if found else ""

    def table(self, *names: str) -> str:
        """The fused table of the first of these entities; one that cannot be where there is none."""
        found = self._entity(names)
        return found.table if found else "nowhere"

    def key(self, *names: str) -> str:
        """The key column of the first of these entities."""
        found = self._entity(names)
        return found.key if found else "nothing"

    def column(self, entity: str, *names: str) -> str:
        """The first of these attributes that an entity has."""
        found = self._entity([entity])
        there = {attribute.name for attribute in found.attributes} if found else set()
        return next((name for name in names if name in there), "nothing")

    def values(self, entity: str, column: str) -> list[str]:
        """What an attribute holds in the rows that an entity begins with; empty where the service lists none."""
        entities = [*self.variant.rendered.entities, *self.variant.rendered.relationships]
        listed = next((one.rows.literal for one in entities if one.name == entity), None) or []
        return list(dict.fromkeys(str(row[column]) for row in listed if column in row))

    def _entity(self, names: Sequence[str]) -> FusedEntity | None:
        return next((self._entities[name] for name in names if name in self._entities), None)

    @cached_property
    def _tools(self) -> dict[str, FusedTool]:
        return {tool.origin: tool for tool in self.fused.tools if tool.server == self.server}

    @cached_property
    def _entities(self) -> dict[str, FusedEntity]:
        tables = [*self.fused.entities, *self.fused.relationships]
        return {entity.origin: entity for entity in tables if entity.server == self.server}


@dataclass(frozen=True)
class BridgeFile:
    """A file of the catalogue."""

    header: BridgeHeader
    template: str

    def rules(self, sides: dict[str, BridgeSide]) -> dict[str, BridgeRule]:
        """Its rules between these companies, by name, those left out that speak of what is not there."""
        fused = next(iter(sides.values())).fused
        return {rule.rule: rule for raw in self._rendered(sides).get("rules") or [] if (rule := _rule(raw, fused))}

    def stories(self, sides: dict[str, BridgeSide], known: Mapping[str, BridgeRule]) -> list[Storyline]:
        """The same of its stories; beside its own rules they may lean on those `known` of other files."""
        fused = next(iter(sides.values())).fused
        rules = {**known, **self.rules(sides)}
        found = (_story(raw, rules, fused) for raw in self._rendered(sides).get("stories") or [])
        return [story for story in found if story is not None]

    def _rendered(self, sides: dict[str, BridgeSide]) -> dict[str, Any]:
        return yaml.load(environment().from_string(self.template).render(**sides), LOADER) or {}


def stories_between(fused: FusedBlueprint, seed: int) -> list[Storyline]:
    """All stories that join all members: those of the catalogue, and for larger sets some that pairs give together."""
    found = list(_told(fused, fused.members, seed))
    if len(fused.members) > 2:
        found += _merged(fused, seed)
    return list({story.name: story for story in reversed(found)}.values())[::-1]


def _told(fused: FusedBlueprint, members: Sequence[FusedMember], seed: int) -> Iterator[Storyline]:
    pairs = combinations(members, 2) if len(members) > 2 else ()
    known = {
        name: rule
        for pair in pairs
        for bridge, sides in _standing(fused, pair, seed)
        for name, rule in bridge.rules(sides).items()
    }
    for bridge, sides in _standing(fused, members, seed):
        yield from bridge.stories(sides, known)


def _standing(
    fused: FusedBlueprint, members: Sequence[FusedMember], seed: int
) -> Iterator[tuple[BridgeFile, dict[str, BridgeSide]]]:
    """The files whose services these companies are, with who stands on which side."""
    services = [variant(seed, member.server).service.header.service for member in members]
    for bridge in bridges().values():
        aliases = list(bridge.header.sides)
        if sorted(bridge.header.sides.values()) != sorted(services):
            continue
        for order in permutations(range(len(members))):
            if all(services[place] == bridge.header.sides[alias] for place, alias in zip(order, aliases, strict=True)):
                placed = zip(order, aliases, strict=True)
                yield bridge, {alias: _side(fused, members[place], seed) for place, alias in placed}


def _side(fused: FusedBlueprint, member: FusedMember, seed: int) -> BridgeSide:
    return BridgeSide(fused, member, variant(seed, member.server))


def _merged(fused: FusedBlueprint, seed: int) -> list[Storyline]:
    """Stories in which one first call at a hub is followed up at every other company."""
    found: list[Storyline] = []
    for hub in fused.members:
        others = [member for member in fused.members if member is not hub]
        by_start: dict[tuple[str, bool], list[Storyline]] = {}
        for other in others:
            for story in _told(fused, [hub, other], seed):
                first = story.calls[0]
                if first.server == hub.server and sum(call.server == hub.server for call in story.calls) == 1:
                    start = first.model_copy(update={"ask": [], "demanded_by": None}).model_dump_json()
                    # Words that follow what was asked for do not follow what was only agreed to.
                    by_start.setdefault((start, first.demanded_by is None), []).append(story)
        for together in by_start.values():
            chosen = [next((s for s in together if s.calls[1].server == other.server), None) for other in others]
            stories = [story for story in chosen if story is not None]
            if len(stories) == len(others):
                found.append(_joint(stories))
    return found[:MOST_MERGED]


def _joint(stories: Sequence[Storyline]) -> Storyline:
    calls: list[StoryCall] = [stories[0].calls[0]]
    for story in stories:
        shift = len(calls) - 1
        calls += [_shifted(call, shift) for call in story.calls[1:]]
    return Storyline(
        name="_and_".join(story.name for story in stories)[:48].rstrip("_"),
        title="; ".join(story.title for story in stories),
        calls=calls,
        reasons=_reasons(stories),
        bridges=list({rule.rule: rule for story in stories for rule in story.bridges}.values()),
    )


def _reasons(stories: Sequence[Storyline]) -> list[str]:
    """A reason of each story in one: only together do they name all companies. Stories that are told alike for two
    companies give different ones."""
    turned = [[*story.reasons[place:], *story.reasons[:place]] for place, story in enumerate(stories)]
    return [" ".join(reasons) for reasons in zip(*turned, strict=False)]


def _shifted(call: StoryCall, shift: int) -> StoryCall:
    """The call with links to others than the first moved on by so many places."""

    def moved(link: str) -> str:
        return re.sub(r"\d+", lambda found: str(int(found[0]) + (shift if found[0] != "1" else 0)), link, count=1)

    return call.model_copy(update={"same": {name: moved(link) for name, link in call.same.items()}})


def _rule(raw: dict[str, Any], fused: FusedBlueprint) -> BridgeRule | None:
    tools = {tool.name for tool in fused.tools}
    if raw["tool"] not in tools or re.search(r"\b(?:nowhere|nothing)\b", raw["holds"]):
        return None
    return BridgeRule.model_validate(
        {**{key: value for key, value in raw.items() if key != "name"}, "rule": raw["name"]}
    )


def _story(raw: dict[str, Any], rules: dict[str, BridgeRule], fused: FusedBlueprint) -> Storyline | None:
    names = list(raw.get("leans_on") or [])
    calls = raw["calls"]
    there = all(call["tool"] in fused.member(call["server"]).tools for call in calls)
    if not there or not {*names, *(call["demanded_by"] for call in calls if call.get("demanded_by"))} <= rules.keys():
        return None
    fields = {key: value for key, value in raw.items() if key != "leans_on"}
    return Storyline.model_validate({**fields, "bridges": [rules[name] for name in names]})


@cache
def bridges() -> dict[str, BridgeFile]:
    """All files by name."""
    found = {}
    for file in sorted(files("synth.offline").joinpath("bridges").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            header, template = re.split(
                r"^---[ \t]*\n", file.read_text("utf-8").removeprefix("---\n"), maxsplit=1, flags=re.MULTILINE
            )
            found[file.name.removesuffix(".yaml")] = BridgeFile(
                BridgeHeader.model_validate(yaml.load(header, LOADER)), template
            )
    return found
