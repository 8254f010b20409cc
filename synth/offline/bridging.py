"""Bridges of the catalogue: stories and rules between services, one YAML file for each set of services.

A file holds two YAML documents, like a service: the services on its sides, and a Jinja template of `rules` and
`stories` that is rendered from the given contracts. A rule or story that needs a missing tool is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, permutations
from typing import Any

import yaml
from jinja2 import Template

from skillweave.base.errors import AuthorError
from skillweave.schema.blueprint import BridgeRule, FusedBlueprint, FusedEntity, FusedMember, FusedTool
from skillweave.schema.fusion import StoryCall, Storyline
from synth.contracts.visibility import column_origins
from synth.offline.services import (
    LOADER,
    BridgeFile,
    Catalogue,
    ServiceVariant,
    environment,
    fault_in_words,
    refuse_aliases,
)
from synth.offline.templates import render_template

MOST_MERGED = 4
"""Most stories of three or more companies to merge from stories of pairs."""


_TRADES = {
    "Airways", "Campervans", "Car", "Care", "Clinic", "Coast", "Cover", "Dental", "Dentistry", "Event",
    "Ferries", "Health", "Hire", "Hotel", "Imaging", "Insurance", "Laboratories", "Lodge", "Mail", "Mountain",
    "Pharmacy", "Physiotherapy", "Plan", "Practice", "Regional", "Rental", "Rentals", "Travel",
}  # fmt: skip
"""Words of companies' names that people leave out."""


def called(title: str) -> str:
    """A company's name without its article and its trade."""
    words = title.removeprefix("The ").split(" ")
    while len(words) > 1 and words[-1] in _TRADES:
        words.pop()
    return " ".join(words)


@dataclass(frozen=True)
class BridgeSide:
    """One company, with the properties that templates use."""

    # Underscores keep these from templates.
    _fused: FusedBlueprint
    _member: FusedMember
    _variant: ServiceVariant

    @property
    def words(self) -> dict[str, str]:
        """The words of its setting."""
        return self._variant.setting.words

    @property
    def server(self) -> str:
        """The name of its server."""
        return self._member.server

    @property
    def title(self) -> str:
        """The company's name."""
        return self._member.title

    @property
    def short(self) -> str:
        """What people call the company: `Kestrel`. All of its name where another one is called the same."""
        others = [one.title for one in self._fused.members if one.server != self.server]
        own = called(self.title)
        return self.title if own in map(called, others) else own

    @property
    def whose(self) -> str:
        """The company's name in the genitive: `Brightwater Laboratories'`."""
        return f"{self.title}'" if self.title.endswith("s") else f"{self.title}'s"

    @property
    def me(self) -> str:
        """The person's key in this company, in SQL."""
        return f"(SELECT {self._member.account} FROM {self._fused.core.table} WHERE person_id = :person)"

    def tool(self, *names: str) -> str:
        """The first of these tools that the company has; empty if it has none."""
        return next((name for name in names if name in self._tools), "")

    def call(self, *names: str) -> str:
        """The name in the fused world of the first of these tools that the company has; empty if it has none."""
        origin = self.tool(*names)
        return self._tools[origin].name if origin else ""

    def has(self, tool: str, name: str) -> bool:
        """Whether the company has the tool, and the tool returns or takes a value of this name."""
        known = self._tools.get(tool)
        if known is None:
            return False
        return name in column_origins(known) or any(parameter.name == name for parameter in known.parameters)

    def entity(self, *names: str) -> str:
        """`Server.Entity` of the first of these entities that exists; empty if none does."""
        match = self._entity(names)
        return f"{self.server}.{match.origin}" if match else ""

    def table(self, *names: str) -> str:
        """The fused table of the first of these entities that exists; `nowhere` if none does."""
        match = self._entity(names)
        return match.table if match else "nowhere"

    def key(self, *names: str) -> str:
        """The key column of the first of these entities that exists; `nothing` if none does."""
        match = self._entity(names)
        return match.key if match else "nothing"

    def column(self, entity: str, *names: str) -> str:
        """The first of these attributes that an entity has; `nothing` if it has none."""
        match = self._entity([entity])
        present = {attribute.name for attribute in match.attributes} if match else set()
        return next((name for name in names if name in present), "nothing")

    def values(self, entity: str, column: str) -> list[str]:
        """The values of an attribute in the rows that the service lists for an entity; empty if it lists none."""
        entities = [*self._variant.rendered.entities, *self._variant.rendered.relationships]
        listed = next((item.rows.literal for item in entities if item.name == entity), None) or []
        return list(dict.fromkeys(str(row[column]) for row in listed if column in row))

    def _entity(self, names: Sequence[str]) -> FusedEntity | None:
        return next((self._entities[name] for name in names if name in self._entities), None)

    @cached_property
    def _tools(self) -> dict[str, FusedTool]:
        return {tool.origin: tool for tool in self._fused.tools if tool.server == self.server}

    @cached_property
    def _entities(self) -> dict[str, FusedEntity]:
        tables = [*self._fused.entities, *self._fused.relationships]
        return {entity.origin: entity for entity in tables if entity.server == self.server}


Sides = Mapping[str, BridgeSide]
"""Alias of a bridge -> the company on that side."""


def _rules_of(bridge: BridgeFile, fused: FusedBlueprint, sides: Sides) -> dict[str, BridgeRule]:
    """The rules between these companies, by name, without those that need something missing."""
    return {rule.rule: rule for raw in _rendered(bridge, sides).get("rules") or [] if (rule := _rule(raw, fused))}


def _stories_in(
    bridge: BridgeFile, fused: FusedBlueprint, sides: Sides, known: Mapping[str, BridgeRule]
) -> list[Storyline]:
    """The stories of these companies, without those that lack something; `known` are rules of other files."""
    rules = {**known, **_rules_of(bridge, fused, sides)}
    stories = (_story(raw, rules, fused) for raw in _rendered(bridge, sides).get("stories") or [])
    return [story for story in stories if story is not None]


def _rendered(bridge: BridgeFile, sides: Sides) -> dict[str, Any]:
    text = render_template(_compiled(bridge.template), sides)
    if bridge.where:
        refuse_aliases(text)
    return yaml.load(text, LOADER) or {}


@contextmanager
def _naming(bridge: BridgeFile) -> Iterator[None]:
    """What a template of one's own has raised becomes an AuthorError that names its file."""
    try:
        yield
    except Exception as error:
        if not bridge.where:
            raise
        raise AuthorError(f"catalogue: {bridge.where!r}: {fault_in_words(error)}") from error


@cache
def _compiled(template: str) -> Template:
    """The compiled template: compiling takes longer than rendering."""
    return environment().from_string(template)


def stories_between(fused: FusedBlueprint, seed: int, catalogue: Catalogue) -> list[Storyline]:
    """All stories that join all members: the catalogue's, and for three or more some that are merged from pairs."""
    variants = {member.server: catalogue.variant(seed, member.server) for member in fused.members}
    teller = _StoryTeller(fused, variants, list(catalogue.bridges.values()))
    stories = list(teller.stories_of(fused.members))
    if len(fused.members) > 2:
        stories += teller.merged()
    return list({story.name: story for story in reversed(stories)}.values())[::-1]


@dataclass(frozen=True)
class _StoryTeller:
    """Finds the stories of a fused world."""

    fused: FusedBlueprint
    variants: Mapping[str, ServiceVariant]
    bridges: Sequence[BridgeFile]

    def stories_of(self, members: Sequence[FusedMember]) -> Iterator[Storyline]:
        """The catalogue's stories that join these members."""
        known: dict[str, BridgeRule] = {}
        for pair in combinations(members, 2) if len(members) > 2 else ():
            for bridge, sides in self._matching_files(pair):
                with _naming(bridge):
                    known |= _rules_of(bridge, self.fused, sides)
        for bridge, sides in self._matching_files(members):
            with _naming(bridge):
                stories = _stories_in(bridge, self.fused, sides, known)
            yield from stories

    def _matching_files(self, members: Sequence[FusedMember]) -> Iterator[tuple[BridgeFile, Sides]]:
        """The files that connect the services of these companies, with the company on each side."""
        services = [self.variants[member.server].service.header.service for member in members]
        for bridge in self.bridges:
            aliases = list(bridge.header.sides)
            if sorted(bridge.header.sides.values()) != sorted(services):
                continue
            for order in permutations(range(len(members))):
                if all(
                    services[place] == bridge.header.sides[alias] for place, alias in zip(order, aliases, strict=True)
                ):
                    placed = zip(order, aliases, strict=True)
                    yield bridge, {alias: self._side(members[place]) for place, alias in placed}

    def _side(self, member: FusedMember) -> BridgeSide:
        return BridgeSide(self.fused, member, self.variants[member.server])

    def merged(self) -> list[Storyline]:
        """Stories in which calls at every other company follow one call at a hub."""
        merged: list[Storyline] = []
        for hub in self.fused.members:
            others = [member for member in self.fused.members if member is not hub]
            by_first_call: dict[tuple[str, bool], list[Storyline]] = {}
            for other in others:
                for story in self.stories_of([hub, other]):
                    first = story.calls[0]
                    if first.server == hub.server and sum(call.server == hub.server for call in story.calls) == 1:
                        start = first.model_copy(update={"ask": [], "demanded_by": None}).model_dump_json()
                        # Words that continue a request cannot continue a call that the user only agrees to.
                        by_first_call.setdefault((start, first.demanded_by is None), []).append(story)
            for alternatives in by_first_call.values():
                chosen = [
                    next((s for s in alternatives if s.calls[1].server == other.server), None) for other in others
                ]
                stories = [story for story in chosen if story is not None]
                if len(stories) == len(others):
                    merged.append(_merged_story(stories))
        return merged[:MOST_MERGED]


def _merged_story(stories: Sequence[Storyline]) -> Storyline:
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
    """Reasons that join one reason of each story, because only together do they name all companies.

    The lists are rotated, so that stories with equal reasons for two companies contribute different ones.
    """
    rotated = [[*story.reasons[place:], *story.reasons[:place]] for place, story in enumerate(stories)]
    return [" ".join(reasons) for reasons in zip(*rotated, strict=False)]


def _shifted(call: StoryCall, shift: int) -> StoryCall:
    """The call with its links shifted by `shift` places, except links to the first call."""

    def moved(link: str) -> str:
        return re.sub(r"\d+", lambda match: str(int(match[0]) + (shift if match[0] != "1" else 0)), link, count=1)

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
    are_present = all(call["tool"] in fused.member(call["server"]).tools for call in calls)
    if (
        not are_present
        or not {*names, *(call["demanded_by"] for call in calls if call.get("demanded_by"))} <= rules.keys()
    ):
        return None
    fields = {key: value for key, value in raw.items() if key != "leans_on"}
    return Storyline.model_validate({**fields, "bridges": [rules[name] for name in names]})
