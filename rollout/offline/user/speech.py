"""Speech: the user's moves in words, in the manner of their persona. Every phrase is drawn; nothing is said that the
role does not hold."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from rollout.offline.user.lexicon import stems
from rollout.offline.user.moves import Move
from rollout.user.role import Role
from rollout.user.telling.errands import Errand
from rollout.user.telling.fact_words import LABELLED, MINE, THINGS, words_of
from rollout.user.telling.lower import lowered
from skillweave.conversation import STOP
from skillweave.schema.task import Fact

_FAREWELL = re.compile(r"\b(?:good)?bye\b|\btake care\b|\bday\b", re.IGNORECASE)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
TAILED = 0.35
"""How often a phrase gets another behind it."""
_TO_NOT = re.compile(r"\b(want|like|wish|wanted|asked) to not\b")
_UNWANTED = re.compile(r"^I want nothing special as to the (?P<label>.+); leave it out\.$")
_PREPOSITION = re.compile(r"^(?:by|from|with|using|to|at|on|in|as|for|because)\b", re.IGNORECASE)


class Speech:
    def __init__(self, role: Role, errands: Sequence[Errand], random: Random) -> None:
        self._role = role
        self._errands = errands
        self._random = random
        self._style = role.persona.style

    def text(self, moves: Sequence[Move], *, all_declined: bool = False) -> str:
        """What the user says, with the mark of the end where they leave."""
        parts = [self._move(move, all_declined=all_declined) for move in moves]
        if "apologises for taking up time" in self._role.persona.traits and self._random.random() < 0.12:
            parts.append(self._say("sorry"))
        text = " ".join(part for part in parts if part)
        if "writes in lower case" in self._role.persona.traits:
            text = lowered(text)
        ends = any(move.kind in ("thanks", "give_up") for move in moves)
        return f"{text} {STOP}" if ends else text

    def _move(self, move: Move, *, all_declined: bool) -> str:
        kind = move.kind
        if kind == "tell":
            return self._say("tell", facts=self._facts(move.facts))
        if kind == "no":
            return " ".join([self._say("no"), self._meant(move)])
        if kind == "name":
            return self._say("name", name=self._role.persona.name)
        if kind == "age":
            return self._say("age", age=str(self._role.persona.age))
        if kind == "pick":
            ordinal = ORDINALS[move.number - 1] if move.number <= len(ORDINALS) else f"number {move.number}"
            return self._say("pick", which=ordinal, facts=self._facts(move.facts, short=False))
        if kind == "none_fits":
            return self._say("none_fits", facts=self._facts(move.facts, short=False))
        if kind in ("want", "again", "rest", "next", "left", "check"):
            return self._wishes(kind, [self._errands[place] for place in move.errands])
        if kind == "go_ahead":
            return self._say(kind, do=" and ".join(self._errands[place].words for place in move.errands))
        if kind == "thanks" and all_declined:
            return self._say("parting")
        return self._say(kind)

    def _meant(self, move: Move) -> str:
        """What the user wants instead of what was proposed."""
        if move.facts:
            return self._say("meant", facts=self._facts(move.facts, short=False))
        return self._wishes("again", [self._errands[place] for place in move.errands])

    def _wishes(self, kind: str, errands: Sequence[Errand]) -> str:
        said = []
        for place, errand in enumerate(errands):
            name = kind if place == 0 else "more"
            said.append(self._say(f"{name}_{errand.kind}", do=errand.words, hear=errand.words))
        return _TO_NOT.sub(r"\1 not to", " ".join(said))

    def _facts(self, facts: Sequence[Fact], *, short: bool = True) -> str:
        """The facts as sentences, or one alone as its bare words."""
        if len(facts) == 1 and short and self._is_terse():
            alone = self._alone(facts[0])
            if alone:
                return alone
        own = [fact for fact in facts if MINE.match(fact.text)]
        rest = [fact for fact in facts if fact not in own]
        parts = [self._mine(own)] if own else []
        for place, fact in enumerate(rest):
            before = rest[place - 1].text if place else ""
            parts.append(self._sentence(fact, before))
        return " ".join(parts)

    def _is_terse(self) -> bool:
        return self._random.random() < (0.8 if self._style in ("brief", "hurried", "hesitant") else 0.35)

    def _alone(self, fact: Fact) -> str | None:
        """Its bare words, where a question makes them clear."""
        if fact.value is None or not (LABELLED.match(fact.text) or MINE.match(fact.text)):
            return None
        return f"{_capital(words_of(fact))}."

    def _mine(self, facts: Sequence[Fact]) -> str:
        said = []
        for place, fact in enumerate(facts):
            match = MINE.match(fact.text)
            label = match["label"] if match else ""
            label = THINGS.get(label, label)
            said.append(f"{'my' if place else 'My'} {label} is {words_of(fact)}")
        if len(said) == 1:
            return f"{said[0]}."
        return f"{', '.join(said[:-1])} and {said[-1]}."

    def _sentence(self, fact: Fact, before: str) -> str:
        unwanted = _UNWANTED.match(fact.text)
        if unwanted:
            return self._say("nothing_wanted", label=unwanted["label"])
        match = LABELLED.match(fact.text)
        if match:
            return self._labelled(fact, match["label"], match["words"])
        shared = _shared_words(before, fact.text)
        if shared >= 4 and self._random.random() < 0.8:
            rest = " ".join(fact.text.split()[shared:])
            return f"The one {rest}" if _PREPOSITION.match(rest) else fact.text
        return fact.text

    def _labelled(self, fact: Fact, label: str, words: str) -> str:
        column = re.sub(r"_\d+$", "", fact.id.partition(".")[2])
        ways = _phrases()["labelled"]
        chosen = ways.get(column)
        if chosen is None or (column == "method" and not _PREPOSITION.match(words)):
            if _PREPOSITION.match(words):
                return f"{_capital(words)}, please."
            chosen = ways["other"]
            label = re.sub(r" (?:on|at)$", " date", label)
        return _capital(self._random.choice(chosen).format(label=label[:1].lower() + label[1:], words=words))

    def _say(self, kind: str, **words: str) -> str:
        ways = _phrases()[kind]
        own = ways.get(self._style, [])
        chosen = own if own and (kind == "tell" or self._random.random() < 0.65) else ways["any"]
        said = str(self._random.choice(chosen).format(**words))
        tails = _phrases()["tails"].get(kind, [])
        tail = self._random.choice(tails) if tails and self._random.random() < TAILED else ""
        # Two thanks, or two farewells, in one breath are one too many.
        is_doubled = bool(stems(said) & stems(tail)) or _FAREWELL.search(said) is not None
        return f"{said} {tail}" if tail and not is_doubled else said


def _shared_words(before: str, text: str) -> int:
    """How many words two sentences begin with alike."""
    count = 0
    for one, other in zip(before.split(), text.split(), strict=False):
        if one != other:
            break
        count += 1
    # A preposition is left to the second: `It is my invoice | for the scan`.
    words = text.split()
    while count and count <= len(words) and _PREPOSITION.match(words[count - 1]):
        count -= 1
    return count + 1 if count == 3 and len(words) > 4 and not _PREPOSITION.match(words[3]) else count


def _capital(text: str) -> str:
    return text if "@" in text else text[:1].upper() + text[1:]


@cache
def _phrases() -> Any:
    return yaml.safe_load(files("rollout.offline.user").joinpath("phrases.yaml").read_text("utf-8"))
