"""Telling a task: a first message in the persona's manner, the goal, and each fact as a sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from skillweave.schema.telling import FactWords, Known, Request, RowKnown, Telling, Wish
from synth.offline.language.reference import refer, sentence, talk_of
from synth.offline.service import Talk
from synth.tasks.words import name_in_words

_ENUM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SLOT = re.compile(r"\{(\w+)\}")
_SINGLE = re.compile(r"(?<![\d.,:])(\b1 (?:more |further )?(?:refill|day|night|hour|week|month|guest|pack|unit))s\b")
TERSE = frozenset({"brief", "hurried", "hesitant"})
"""Styles that leave out at first what they can be asked for."""


@dataclass
class Teller:
    request: Request
    talk: Talk
    random: Random
    told: set[str] = field(default_factory=set)
    """Ids of what the first message says."""

    def tell(self) -> Telling:
        """The words for the request."""
        phrases = [self._phrase(wish) for wish in self.request.wishes]
        message = self._message(phrases)
        goal = " ".join(self._goals(phrases))
        facts = [
            FactWords(id=thing.id, text=self._fact(thing), tell="first" if thing.id in self.told else "asked")
            for thing in self.request.known
        ]
        return Telling(first_message=message, goal=goal, facts=facts)

    def _goals(self, phrases: list[str]) -> Iterator[str]:
        """The wishes in the second person, in the order in which they are to come true."""
        before = False
        for wish, phrase in zip(self.request.wishes, phrases, strict=True):
            if wish.kind == "hear":
                yield f"You want to know {_to_you(phrase)}."
            else:
                yield f"{'After that you' if before else 'You'} want to {_to_you(phrase)}."
                before = True

    @property
    def _words(self) -> dict[str, str]:
        return {thing.id: self._in_talk(thing) for thing in self.request.known}

    def _in_talk(self, thing: Known) -> str:
        """Enum values are said in the catalogue's words, or without their underscores; all else as it is."""
        if not isinstance(thing.value, str) or not _ENUM.fullmatch(thing.value):
            return thing.words
        return self.talk.values.get(thing.value, thing.words.replace("_", " "))

    def _phrase(self, wish: Wish) -> str:
        own = self.talk.tools.get(wish.tool)
        if wish.kind == "hear":
            spoken = [self._clause(wish, name) for name in wish.values if f"{{{name}}}" not in wish.ask]
            return self._filled(" ".join([wish.ask, *(clause for clause in spoken if clause)]), wish)
        given = wish.rows.keys() | wish.values.keys() | wish.linked.keys()
        asks = [ask for ask in own.ask if set(_SLOT.findall(ask)) <= given] if own else []
        phrase = self.random.choice(asks) if asks else name_in_words(wish.tool)
        left = [name for name in [*wish.rows, *wish.values] if f"{{{name}}}" not in phrase]
        if self.request.persona.style in TERSE:
            left = [name for name in left if self.random.random() < 0.4]
        clauses = [self._clause(wish, name) for name in left]
        clauses += [f"with the same {self._noun(wish, name)}" for name in wish.linked if f"{{{name}}}" not in phrase]
        return self._filled(" ".join([phrase, *(clause for clause in clauses if clause)]), wish)

    def _clause(self, wish: Wish, name: str) -> str:
        own = self.talk.tools.get(wish.tool)
        ways = own.parameters.get(name, []) if own else []
        if ways:
            return self.random.choice(ways).replace("{value}", f"{{{name}}}")
        return f"({name_in_words(name)} {{{name}}})" if name in wish.values else ""

    def _noun(self, wish: Wish, linked: str) -> str:
        return talk_of(self.talk, wish.linked[linked]).noun

    def _filled(self, phrase: str, wish: Wish) -> str:
        def words(slot: re.Match[str]) -> str:
            name = slot.group(1)
            if name in wish.rows:
                return self._refer(wish.rows[name])
            if name in wish.linked:
                return f"that {self._noun(wish, name)}"
            if name in wish.values:
                self.told.add(wish.values[name])
                return self._words[wish.values[name]]
            return name_in_words(name)

        return _one(_SLOT.sub(words, phrase))

    def _refer(self, row: RowKnown) -> str:
        vague = talk_of(self.talk, row.entity).mine and self.request.persona.style in TERSE
        said = set(row.columns.values()) & self.told or (
            set() if vague and self.random.random() < 0.5 else set(row.columns.values())
        )
        self.told |= said
        return refer(self.talk, row, {name: words for name, words in self._words.items() if name in said}, self.random)

    def _message(self, phrases: list[str]) -> str:
        style, forms = self.request.persona.style, _phrases()
        doing = [p for wish, p in zip(self.request.wishes, phrases, strict=True) if wish.kind == "do"]
        hearing = [p for wish, p in zip(self.request.wishes, phrases, strict=True) if wish.kind == "hear"]
        parts = [self.random.choice(forms["first"][style]).format(request=doing[0])] if doing else []
        parts += [self.random.choice(forms["next"]).format(request=phrase) for phrase in doing[1:]]
        for place, phrase in enumerate(hearing):
            more = forms["hear_after"] if doing else forms["hear_more"]
            frames = more if doing or place else forms["hear_first"][style]
            parts.append(self.random.choice(frames).format(ask=phrase))
        talks = self.random.random() < (0.45 if style in TERSE else 0.85)
        if talks:
            parts.insert(0 if self.random.random() < 0.7 else len(parts), self.request.reason)
        greeting = self.random.choice(forms["greetings"][style])
        closing = self.random.choice(forms["closings"][style])
        message = " ".join(part for part in [greeting, *parts, closing] if part)
        return message.lower() if "writes in lower case" in self.request.persona.traits else message

    def _fact(self, thing: Known) -> str:
        words = self._words[thing.id]
        for wish in self.request.wishes:
            for row in wish.rows.values():
                if thing.id in row.columns.values():
                    return _one(sentence(self.talk, row, thing, words, self.random))
        owner, _, name = thing.about.partition(": ")
        return f"My {name} is {words}." if owner == "me" else f"{name.capitalize()}: {words}."


def _one(text: str) -> str:
    """The text with what there is one of in the singular: `1 more refill`."""
    return _SINGLE.sub(r"\1", text)


@cache
def _phrases() -> Any:
    text = files("synth.offline.language").joinpath("phrases.yaml").read_text("utf-8")
    return yaml.safe_load(text)


def _to_you(phrase: str) -> str:
    """From the first person to the second."""
    changes = {
        "my": "your",
        "me": "you",
        "i'm": "you're",
        "i": "you",
        "mine": "yours",
        "myself": "yourself",
        "am": "are",
    }
    changes |= {"i've": "you've", "i'd": "you'd", "i'll": "you'll"}
    pattern = re.compile(r"\b(i'm|i've|i'd|i'll|myself|mine|my|me|i|am)\b", re.IGNORECASE)
    return pattern.sub(lambda found: changes[found.group(1).lower()], phrase)
