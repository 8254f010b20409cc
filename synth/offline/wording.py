"""English for rows, tools and values: articles, names that the catalogue has no words for, references to rows.

If two companies of one conversation use the same noun, people say which company they mean.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.blueprint import FusedBlueprint
from skillweave.schema.request import KnownFact, KnownRow, UserRequest
from synth.contracts.wording import name_in_words
from synth.offline.services import EntityTalk, Talk, ToolTalk

_VOWEL = re.compile(r"(?!eu|one\b|once|uni(?![mn])|us[eu])[aeiou]|x-|hour|honest|8|1[18]\b", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]{2,}\b")
"""Abbreviations that are read letter by letter: `MRI`."""
_MANY = re.compile(
    r"[^sui]s$|\b(?:baggage|coaching|massage|mobilisation|needling|rehabilitation|removal|therapy|training|varnish|weather)$"
)
"""Ends of plurals, and of words for what is not counted."""
_SINGLE = re.compile(r"(?<![\d.,:])(\b1 (?:more |further )?(?:refill|day|night|hour|week|month|guest|pack|unit))s\b")
_PEOPLE = re.compile(r"(?<![\d.,:])\b1 people\b")
_OF_THEM = re.compile(r"(?<![\d.,:])\b1 (?:of them|in all)\b")
_NO_SUBJECT = re.compile(r"\b(with|from|to|for|of|at|by|owe|paid|pay|tell) you\b", re.IGNORECASE)
"""Where `you` is no subject."""
_PARTY = re.compile(r"\b(?:a )?party of 1\b(?![.,:]?\d)")
_ON_DAY = re.compile(r"\bon ((?:today|tomorrow|yesterday|last (?=[MTWFS]))\b)")
_NEW = re.compile(r"\ban? \{value\}(?P<noun>(?= (?!on |at |for |in |with |from |to |of |by |until )[a-z]))?")
_COMMAS = re.compile(r",(?=[,.;?])( ?)")
_WHEN = re.compile(r" (?:on|at)$")
WHOLE = "="
"""First sign of a way to say a column that names the whole row: `=my {value}`."""
NAMED = "called {value}"
"""How a column is said after a noun that has no way of its own for that."""
_VERB = re.compile(r"(?P<verb>\S+ (?:up |in |out |off |down )?)(?P<object>.+)")
_DETERMINED = ("a ", "an ", "the ", "my ", "your ", "all ")


@cache
def phrases(file: str) -> dict[str, Any]:
    """The phrases of a YAML file in `phrases/`, by name."""
    loaded: dict[str, Any] = yaml.safe_load(files("synth.offline").joinpath(f"phrases/{file}.yaml").read_text("utf-8"))
    return loaded


def with_article(words: str, *, is_one: bool = False) -> str:
    """`a chest x-ray`, `an abdominal ultrasound`. Plurals (`iron studies`) and words with an article stay unchanged.

    Args:
        is_one: Whether a noun follows of which there is one: `a manual therapy` session.
    """
    if (_MANY.search(words) and not is_one) or words.startswith(_DETERMINED):
        return words
    is_vowel = words[0] in "AEFHILMNORSX" if _LETTERS.match(words) else _VOWEL.match(words)
    return f"{'an' if is_vowel else 'a'} {words}"


def action(name: str) -> str:
    """A tool's name as a verb phrase: `buy_policy` -> `buy a policy`, `redeem_points` -> `redeem points`."""
    match = _VERB.fullmatch(name_in_words(name))
    return match["verb"] + with_article(match["object"]) if match else name_in_words(name)


def named(name: str, value: str) -> str:
    """A value with the name of its parameter, to follow `with`: `Europe as the zone`, `the start on 20 March`."""
    noun = name_in_words(name)
    when = _WHEN.sub("", noun)
    if when == noun:
        return f"{value} as the {noun}"
    return f"the {when.removesuffix('s')} on {value}"


def talk_of(talk: Talk, entity: str) -> EntityTalk:
    """How people speak of an entity: by its name if the catalogue has no words for it."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entity).strip()
    return talk.entities.get(entity) or EntityTalk(noun=words)


def refer(talk: Talk, row: KnownRow, words: Mapping[str, str], random: Random) -> str:
    """Refer to a row: `my porcelain crown appointment on Friday 24 January at 09:30`.

    Args:
        talk: How people speak of the company's rows.
        row: The row.
        words: Id of a known fact -> its words. Columns whose facts are missing are not used.
        random: Chooses between the ways to say a column.
    """
    own = talk_of(talk, row.entity)
    ways = {
        column: own.qualifiers.get(column) or _ways_of_others(talk, column)
        for column in sorted(row.columns, key=lambda column: _rank(own, column))
        if row.columns[column] in words
    }
    whole = _whole(ways, random)
    noun, clauses = own.noun, []
    is_wrapped = False
    for column in (column for column in ways if column != whole):
        value = words[row.columns[column]]
        wraps = [way for way in ways[column] if "{noun}" in way and not whole]
        plain = _plain(ways[column])
        if wraps and (not is_wrapped or not plain) and (not plain or random.random() < 0.6):
            noun, is_wrapped = _fill(random.choice(wraps), value, noun), True
        else:
            clauses.append(_fill(random.choice(plain or [NAMED]), value))
    if whole:
        named_so = random.choice([way[1:] for way in ways[whole] if way.startswith(WHOLE)])
        return " ".join([_fill(named_so, words[row.columns[whole]]), *clauses])
    determined = noun if noun.lower().startswith(("my ", "the ")) else f"{'my' if own.mine else 'the'} {noun}"
    return " ".join([determined, *clauses])


def _whole(ways: Mapping[str, list[str]], random: Random) -> str | None:
    """The column whose value names the whole row, if one does and all others can follow it."""
    for column, own in ways.items():
        others = [way for way in own if not way.startswith(WHOLE)]
        if len(others) < len(own) and all(_plain(ways[other]) for other in ways if other != column):
            return column if not others or random.random() < 0.5 else None
    return None


def _plain(ways: Sequence[str]) -> list[str]:
    """The ways to say a column that follow the noun."""
    return [way for way in ways if "{noun}" not in way and not way.startswith(WHOLE)]


def sentence(talk: Talk, row: KnownRow, fact: KnownFact, words: str, random: Random) -> str:
    """One column of a row as a sentence: `It is my appointment on Friday 24 January at 09:30.`"""
    column = next(column for column, name in row.columns.items() if name == fact.id)
    alone = row.model_copy(update={"columns": {column: fact.id}})
    return f"It is {refer(talk, alone, {fact.id: words}, random)}."


def _ways_of_others(talk: Talk, column: str) -> list[str]:
    """Ways to say the column of other entities after the noun; by the column's name if there are none."""
    ways = [way for entity in talk.entities.values() for way in _plain(entity.qualifiers.get(column, []))]
    return ways or [f"with {named(column, '{value}')}"]


def _fill(way: str, value: str, noun: str = "") -> str:
    """A way to say a column with the value and its article filled in: `for an abdominal ultrasound`.

    A noun with which the value ends is not said again: `my tuberculosis blood test`.
    """
    own = way.replace("{value} {noun}", "{value}") if noun and value.endswith(f" {noun}") else way
    around = own.replace("{noun}", noun)
    filled = _NEW.sub(lambda found: with_article(value, is_one=found["noun"] is not None), around).replace(
        "{value}", value
    )
    return tidy(filled)


def tidy(text: str) -> str:
    """The text with nouns after 1 in the singular, days such as `tomorrow` without `on`, no space before a comma."""
    singular = _PEOPLE.sub("1 person", _PARTY.sub("1 person", _SINGLE.sub(r"\1", text)))
    one = without_lost_commas(_OF_THEM.sub("just 1", singular).replace(" ,", ","))
    return _ON_DAY.sub(r"\1", one).replace("instead instead", "instead")


def without_lost_commas(text: str) -> str:
    """The text without commas before other stops."""
    return _COMMAS.sub(r"\1", text)


def _rank(own: EntityTalk, column: str) -> int:
    order = list(own.qualifiers)
    return order.index(column) if column in order else len(order)


@dataclass(frozen=True)
class CompanyWords:
    """Which company each thing belongs to. Empty if there is only one company."""

    titles: Mapping[str, str] = field(default_factory=dict)
    """Tool or entity -> the company's name."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tool or entity -> the company's words for enum values."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Tool -> its name in its own company."""

    def title_of(self, fact: KnownFact, request: UserRequest) -> str:
        """The name of the company that a fact belongs to; empty if no wish shows it."""
        return self.titles.get(_owner(fact, request), "")

    def without_title(self, phrase: str, entity: str, words: str) -> str:
        """Words for a row, without the company's name if the phrase around them names it already."""
        title = self.titles.get(entity, "")
        return words.replace(f" with {title}", "") if title and title in phrase else words

    def tool(self, name: str) -> str:
        """A phrase for a tool that the catalogue has no words for: `pay a balance with Northgate Health Cover`."""
        title = self.titles.get(name)
        return f"{action(self.tools[name])} with {title}" if title else action(name)

    def word(self, value: str, fact: KnownFact, request: UserRequest) -> str | None:
        """The words of the fact's company for an enum value; None if it has none."""
        return self.values.get(_owner(fact, request), {}).get(value)


def talk_of_all(blueprint: FusedBlueprint, talks: Mapping[str, Talk]) -> tuple[Talk, CompanyWords]:
    """Join the words of all members under the names of the fused world.

    Args:
        blueprint: The fused world.
        talks: Server -> its company's words.
    """
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
                entities[entity.name] = _with_title(own.entities[entity.origin], title, shared)
    for tool in blueprint.tools:
        own = talks[tool.server]
        titles[tool.name], values[tool.name] = blueprint.member(tool.server).title, own.values
        if tool.origin in own.tools:
            tools[tool.name] = own.tools[tool.origin]
    words = {value: word for talk in talks.values() for value, word in talk.values.items()}
    names = {tool.name: tool.origin for tool in blueprint.tools}
    return Talk(entities=entities, tools=tools, values=words), CompanyWords(titles, values, names)


def _owner(fact: KnownFact, request: UserRequest) -> str:
    """The tool or entity that a fact belongs to; empty if no wish has it."""
    for wish in request.wishes:
        if fact.id in (*wish.values.values(), wish.condition_fact, wish.believed):
            return wish.tool
        if wish.every and fact.id in wish.every.columns.values():
            return wish.every.entity
        rows: list[KnownRow] = [*wish.rows.values(), *(wish.every.excepted if wish.every else [])]
        for row in rows:
            if fact.id in row.columns.values():
                return row.entity
    return ""


def _shared_nouns(talks: Mapping[str, Talk]) -> set[str]:
    counted = Counter(noun for talk in talks.values() for noun in {entity.noun for entity in talk.entities.values()})
    return {noun for noun, number in counted.items() if number > 1}


def _with_title(talk: EntityTalk, title: str, shared: set[str]) -> EntityTalk:
    return talk.model_copy(update={"noun": f"{talk.noun} with {title}"}) if talk.noun in shared else talk


def to_you(phrase: str) -> str:
    """The phrase in the second person instead of the first."""
    changes = {
        "my": "your",
        "me": "you",
        "i'm": "you're",
        "i": "you",
        "mine": "yours",
        "myself": "yourself",
        "am": "are",
    }
    # Who is spoken to in the first person's words is the company.
    changes |= {"you": "they", "your": "their", "yours": "theirs"}
    changes |= {"i've": "you've", "i'd": "you'd", "i'll": "you'll", "we": "you", "us": "you", "our": "your"}
    phrase = _NO_SUBJECT.sub(r"\1 them", phrase)
    pattern = re.compile(r"\b(i'm|i've|i'd|i'll|myself|mine|my|me|we|us|our|i|am|yours|your|you)\b", re.IGNORECASE)
    return pattern.sub(lambda match: changes[match.group(1).lower()], phrase)
