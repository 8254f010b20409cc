"""English for rows, tools and values: articles, names without words in the catalogue, references to rows, and several
companies in one conversation.

Where two companies call a thing by the same noun, people say which company they mean.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.combination import KnownFact, KnownRow, UserRequest
from synth.contracts.wording import name_in_words
from synth.offline.services import EntityTalk, Talk, ToolTalk

_VOWEL = re.compile(r"(?!eu|one\b|once|uni(?![mn])|us[eu])[aeiou]|x-|hour|honest|8|1[18]\b", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{2,}\b")
"""What is said letter by letter: `MRI`."""
_MANY = re.compile(r"[^sui]s$")
_WHEN = re.compile(r" (?:on|at)$")
_VERB = re.compile(r"(?P<verb>\S+ (?:up |in |out |off |down )?)(?P<object>.+)")
_DETERMINED = ("a ", "an ", "the ", "my ", "your ", "all ")


def with_article(words: str) -> str:
    """`a chest x-ray`, `an abdominal ultrasound`; nothing before what there are many of (`iron studies`) or what brings
    its article along."""
    if _MANY.search(words) or words.startswith(_DETERMINED):
        return words
    is_vowel = words[0] in "AEFHILMNORSX" if _LETTERS.match(words) else _VOWEL.match(words)
    return f"{'an' if is_vowel else 'a'} {words}"


def action(name: str) -> str:
    """A tool's name as a verb phrase: `buy_policy` -> `buy a policy`, `redeem_points` -> `redeem points`."""
    found = _VERB.fullmatch(name_in_words(name))
    return found["verb"] + with_article(found["object"]) if found else name_in_words(name)


def named(name: str, value: str) -> str:
    """A value by the name of its parameter or column, after `with`: `Europe as the zone`, `the start on 20 March`."""
    noun = name_in_words(name)
    when = _WHEN.sub("", noun)
    if when == noun:
        return f"{value} as the {noun}"
    return f"the {when.removesuffix('s')} on {value}"


def talk_of(talk: Talk, entity: str) -> EntityTalk:
    """How people speak of an entity; by its name where the catalogue has no words for it."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entity).strip()
    return talk.entities.get(entity) or EntityTalk(noun=words)


def refer(talk: Talk, row: KnownRow, words: Mapping[str, str], random: Random) -> str:
    """The row in words, by those of its columns that are in `words` (id of the thing known -> its words)."""
    own = talk_of(talk, row.entity)
    noun, behind = own.noun, []
    wrapped = False
    for column in sorted(row.columns, key=lambda column: _place(own, column)):
        if row.columns[column] not in words:
            continue
        said = words[row.columns[column]]
        ways = own.qualifiers.get(column) or _elsewhere(talk, column)
        wraps = [way for way in ways if "{noun}" in way]
        plain = [way for way in ways if "{noun}" not in way]
        if wraps and (not wrapped or not plain) and (not plain or random.random() < 0.6):
            noun, wrapped = _put(random.choice(wraps), said, noun), True
        else:
            behind.append(_put(random.choice(plain), said))
    determined = noun if noun.lower().startswith(("my ", "the ")) else f"{'my' if own.mine else 'the'} {noun}"
    return " ".join([determined, *behind])


def sentence(talk: Talk, row: KnownRow, thing: KnownFact, words: str, random: Random) -> str:
    """One column of a row as a fact: `It is my appointment on Friday 24 January at 09:30.`"""
    column = next(column for column, name in row.columns.items() if name == thing.id)
    alone = row.model_copy(update={"columns": {column: thing.id}})
    return f"It is {refer(talk, alone, {thing.id: words}, random)}."


def _elsewhere(talk: Talk, column: str) -> list[str]:
    """How the column is said of another entity, behind the noun; by its name where nobody says it."""
    ways = [
        way for entity in talk.entities.values() for way in entity.qualifiers.get(column, []) if "{noun}" not in way
    ]
    return ways or [f"with {named(column, '{value}')}"]


def _put(way: str, said: str, noun: str = "") -> str:
    """A way to say a column with its value in it, behind the article that fits: `for an abdominal ultrasound`."""
    around = way.replace("{noun}", noun)
    return re.sub(r"\ban? \{value\}", lambda _: with_article(said), around).replace("{value}", said)


def _place(own: EntityTalk, column: str) -> int:
    order = list(own.qualifiers)
    return order.index(column) if column in order else len(order)


@dataclass(frozen=True)
class CompanyWords:
    """Who stands behind what. Empty where there is one company only."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Tool or entity -> the company's name."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tool or entity -> the company's words for enum values."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Tool -> its name in its own company."""

    def title_of(self, thing: KnownFact, request: UserRequest) -> str:
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

    def word(self, value: str, thing: KnownFact, request: UserRequest) -> str | None:
        """An enum value in the words of the company whose it is; None where they are its own name's."""
        return self.values.get(_owner(thing, request), {}).get(value)


def talk_of_all(blueprint: FusedBlueprint, talks: Mapping[str, Talk]) -> tuple[Talk, CompanyWords]:
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
    return Talk(entities=entities, tools=tools, values=words), CompanyWords(titles, values, names)


def _owner(thing: KnownFact, request: UserRequest) -> str:
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
