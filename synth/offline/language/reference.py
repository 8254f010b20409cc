"""Referring to rows: `my porcelain crown appointment on Friday 24 January at 09:30`."""

import re
from collections.abc import Mapping
from random import Random

from skillweave.schema.telling import Known, RowKnown
from synth.offline.language.english import named, with_article
from synth.offline.service import EntityTalk, Talk


def talk_of(talk: Talk, entity: str) -> EntityTalk:
    """How people speak of an entity; by its name where the catalogue has no words for it."""
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in entity).strip()
    return talk.entities.get(entity) or EntityTalk(noun=words)


def refer(talk: Talk, row: RowKnown, words: Mapping[str, str], random: Random) -> str:
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


def sentence(talk: Talk, row: RowKnown, thing: Known, words: str, random: Random) -> str:
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
