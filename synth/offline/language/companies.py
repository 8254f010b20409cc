"""Several companies in one conversation: each one's words for its rows, tools and values, kept apart.

Where two companies call a thing by the same noun, people say whose it is.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillweave.schema.fused import FusedBlueprint
from skillweave.schema.telling import Known, Request
from synth.offline.language.english import action
from synth.offline.service import EntityTalk, Talk, ToolTalk


@dataclass(frozen=True)
class Companies:
    """Who stands behind what. Empty where there is one company only."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Tool or entity -> the company's name."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tool or entity -> the company's words for enum values."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Tool -> its name in its own company."""

    def title_of(self, thing: Known, request: Request) -> str:
        """The company that a thing known has to do with; empty where nobody can say."""
        return self.titles.get(_owner(thing, request), "")

    def said_with(self, phrase: str, entity: str, words: str) -> str:
        """Words for a row without whose it is, where the phrase around them says that already."""
        title = self.titles.get(entity, "")
        return words.replace(f" with {title}", "") if title and title in phrase else words

    def tool(self, name: str) -> str:
        """A tool that nobody has words for: `pay a balance with Northgate Health Cover`."""
        title = self.titles.get(name)
        return f"{action(self.tools[name])} with {title}" if title else action(name)

    def word(self, value: str, thing: Known, request: Request) -> str | None:
        """An enum value in the words of the company whose it is; None where they are its own name's."""
        return self.values.get(_owner(thing, request), {}).get(value)


def talk_of_all(blueprint: FusedBlueprint, talks: Mapping[str, Talk]) -> tuple[Talk, Companies]:
    """The words of all members, given those of each server, under the names of the fused world."""
    entities: dict[str, EntityTalk] = {}
    titles: dict[str, str] = {}
    values: dict[str, Mapping[str, str]] = {}
    shared = _shared_nouns(talks)
    tools: dict[str, ToolTalk] = {}
    for entity in [*blueprint.entities, *blueprint.relationships]:
        if entity.server is not None:
            own, title = talks[entity.server], blueprint.member(entity.server).title
            titles[entity.name], values[entity.name] = title, own.values
            if entity.origin in own.entities:
                entities[entity.name] = _told_apart(own.entities[entity.origin], title, shared)
    for tool in blueprint.tools:
        own = talks[tool.server]
        titles[tool.name], values[tool.name] = blueprint.member(tool.server).title, own.values
        if tool.origin in own.tools:
            tools[tool.name] = own.tools[tool.origin]
    words = {value: word for talk in talks.values() for value, word in talk.values.items()}
    names = {tool.name: tool.origin for tool in blueprint.tools}
    return Talk(entities=entities, tools=tools, values=words), Companies(titles, values, names)


def _owner(thing: Known, request: Request) -> str:
    """The tool or entity that a thing known belongs to, as far as a wish says so."""
    for wish in request.wishes:
        if thing.id in wish.values.values():
            return wish.tool
        for row in wish.rows.values():
            if thing.id in row.columns.values():
                return row.entity
    return ""


def _shared_nouns(talks: Mapping[str, Talk]) -> set[str]:
    counted = Counter(noun for talk in talks.values() for noun in {entity.noun for entity in talk.entities.values()})
    return {noun for noun, number in counted.items() if number > 1}


def _told_apart(talk: EntityTalk, title: str, shared: set[str]) -> EntityTalk:
    return talk.model_copy(update={"noun": f"{talk.noun} with {title}"}) if talk.noun in shared else talk
