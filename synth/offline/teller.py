"""Telling a task: a first message in the persona's manner, the goal, and each fact as a sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import cycle
from random import Random
from typing import Any

import yaml

from skillweave.schema.combination import FactWords, Intent, KnownFact, KnownRow, Telling, UserRequest
from synth.contracts.wording import VALUE_PLACEHOLDER, name_in_words
from synth.offline.services import Talk, ToolTalk
from synth.offline.wording import CompanyWords, named, refer, sentence, talk_of, with_article

_ENUM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SLOT = re.compile(r"\{(\w+)\}")
_PLACE = re.compile(r"(?P<before>\b(?:an? |(?:(?:by|from|on|with) )?(?:my )?))?\{(?P<name>\w+)\}")
_ADVERB = re.compile(r"(?:by|from|on|with) (?:my )?")
_SINGLE = re.compile(r"(?<![\d.,:])(\b1 (?:more |further )?(?:refill|day|night|hour|week|month|guest|pack|unit))s\b")
TERSE = frozenset({"brief", "hurried", "hesitant"})
"""Styles that leave out at first what they can be asked for."""


@dataclass
class Teller:
    request: UserRequest
    talk: Talk
    random: Random
    companies: CompanyWords = field(default_factory=CompanyWords)
    number: str = "1"
    """Of the task in its question."""
    told: set[str] = field(default_factory=set)
    """Ids of what the first message says."""

    def tell(self) -> Telling:
        """The words for the request."""
        phrases = {place: self._phrase(wish) for place, wish in self._asked}
        consents = self._consents()
        message = self._message(list(phrases.values()), consents)
        goal = " ".join([*self._goals(phrases), *self._agreements()])
        facts = [
            FactWords(id=thing.id, text=self._fact(thing), tell="first" if thing.id in self.told else "asked")
            for thing in self.request.known
            if not thing.secret
        ]
        reason = self.request.reason or None
        return Telling(id=self.number, first_message=message, goal=goal, reason=reason, facts=facts)

    @property
    def _asked(self) -> list[tuple[int, Intent]]:
        """What the user asks for, with its place among the wishes."""
        return [(place, wish) for place, wish in enumerate(self.request.wishes) if not wish.only_if_needed]

    @property
    def _agreed(self) -> list[tuple[int, Intent]]:
        """What the user only agrees to."""
        return [(place, wish) for place, wish in enumerate(self.request.wishes) if wish.only_if_needed]

    def _goals(self, phrases: Mapping[int, str]) -> Iterator[str]:
        """The wishes in the second person, in the order in which they are to come true."""
        before = False
        for place, wish in self._asked:
            if wish.kind == "hear":
                yield f"You want to know {_to_you(phrases[place])}."
            else:
                yield f"{'After that you' if before else 'You'} want to {_to_you(phrases[place])}."
                before = True

    def _agreements(self) -> Iterator[str]:
        """What the user agrees to, in the second person. It is said in full: nobody has heard of it before."""
        told = set(self.told)
        for place, wish in self._agreed:
            yield f"If {self._in_need(place)} needs it first, you agree to {_to_you(self._phrase(wish))}."
        self.told = told

    def _in_need(self, place: int) -> str:
        """The company for whose sake a wish is there: that of what is asked for next."""
        after = (wish.tool for other, wish in self._asked if other > place and wish.kind == "do")
        return self.companies.titles.get(next(after, ""), "") or "that"

    def _consents(self) -> list[str]:
        """What the first message says of all that the user only agrees to: nothing, a word in general, or each."""
        forms = _phrases()["consents"]
        ways = forms["terse" if self.request.persona.style in TERSE else "other"] if self._agreed else ["none"]
        way = self.random.choice(ways)
        if way == "none":
            return []
        if way == "vague":
            titles = {self.companies.titles.get(wish.tool, self.request.company): None for _, wish in self._agreed}
            return [self.random.choice(forms["vague"]).format(company=" or ".join(titles))]
        frames = self.random.sample(forms["each"], len(forms["each"]))
        chosen = zip(self._agreed, cycle(frames))
        return [
            frame.format(company=self._in_need(place), request=self._phrase(wish)) for (place, wish), frame in chosen
        ]

    @property
    def _words(self) -> dict[str, str]:
        return {thing.id: self._in_talk(thing) for thing in self.request.known}

    def _in_talk(self, thing: KnownFact) -> str:
        """Enum values are said in the catalogue's words, or without their underscores; all else as it is."""
        if not isinstance(thing.value, str) or not _ENUM.fullmatch(thing.value):
            return thing.words
        own = self.companies.word(thing.value, thing, self.request)
        return own or self.talk.values.get(thing.value, thing.words.replace("_", " "))

    @property
    def _left_out(self) -> set[str]:
        """Ids of what the request leaves out."""
        return {thing.id for thing in self.request.known if thing.withheld}

    def _unsaid(self, wish: Intent) -> list[str]:
        """Parameters of a wish of which nothing is said before somebody asks."""
        rows = [name for name, row in wish.rows.items() if set(row.columns.values()) <= self._left_out]
        return [*rows, *(name for name, thing in wish.values.items() if thing in self._left_out)]

    def _phrase(self, wish: Intent) -> str:
        own = self.talk.tools.get(wish.tool)
        if wish.kind == "hear":
            spoken = [name for name in wish.values if f"{{{name}}}" not in wish.ask]
            return self._filled(" ".join([wish.ask, *self._clauses(wish, spoken)]), wish)
        if wish.ask:
            return self._told_so(wish)
        given = wish.rows.keys() | wish.values.keys() | wish.linked.keys()
        unsaid = self._unsaid(wish)
        ways = [ways_of(own, wish, unsaid), without(own.settled, wish, unsaid)] if own else []
        fitting = ([ask for ask in asks if set(_SLOT.findall(ask)) <= given] for asks in ways)
        asks = next(filter(None, fitting), [])
        phrase = self.random.choice(asks) if asks else self.companies.tool(wish.tool)
        left = [name for name in [*wish.rows, *wish.values] if f"{{{name}}}" not in phrase and name not in unsaid]
        left = self._chosen(wish, left)
        clauses = self._clauses(wish, left)
        clauses += [f"with the same {self._noun(wish, name)}" for name in wish.linked if f"{{{name}}}" not in phrase]
        return self._filled(" ".join([phrase, *clauses]), wish)

    def _told_so(self, wish: Intent) -> str:
        """A wish in the words that its story has for it; what they leave out is said where there is a way to say it."""
        own = self.talk.tools.get(wish.tool)
        unsaid = self._unsaid(wish)
        left = [name for name in [*wish.rows, *wish.values] if f"{{{name}}}" not in wish.ask and name not in unsaid]
        left = self._chosen(wish, left)
        clauses = self._clauses(wish, [name for name in left if own and name in own.parameters])
        return self._filled(" ".join([wish.ask, *clauses]), wish)

    def _chosen(self, wish: Intent, left: Sequence[str]) -> list[str]:
        """What is said of that which the verb phrase leaves out; people of few words leave out what they can be asked
        for."""
        if self.request.persona.style not in TERSE:
            return [*left]
        return [name for name in left if self.random.random() < 0.4 or self._volunteers(wish, name)]

    def _volunteers(self, wish: Intent, name: str) -> bool:
        row = wish.rows.get(name)
        things = {*row.columns.values()} if row else {wish.values.get(name, "")}
        return any(thing.volunteered for thing in self.request.known if thing.id in things)

    def _clauses(self, wish: Intent, names: Sequence[str]) -> list[str]:
        """What is said behind a phrase that leaves these out; by their names, last, where nobody has words for them."""
        own = self.talk.tools.get(wish.tool)
        ways = {name: own.parameters.get(name, []) if own else [] for name in names}
        clauses = [self.random.choice(ways[name]).replace("{value}", f"{{{name}}}") for name in names if ways[name]]
        bare = [named(name, f"{{{name}}}") for name in names if not ways[name] and name in wish.values]
        if bare:
            clauses.append(f"with {' and '.join([', '.join(bare[:-1]), bare[-1]] if bare[1:] else bare)}")
        return clauses

    def _noun(self, wish: Intent, linked: str) -> str:
        return talk_of(self.talk, wish.linked[linked]).noun

    def _filled(self, phrase: str, wish: Intent) -> str:
        unsaid = self._unsaid(wish)

        def words(slot: re.Match[str]) -> str:
            before, name = slot["before"] or "", slot["name"]
            if name in wish.rows:
                row = wish.rows[name]
                if name in unsaid and not talk_of(self.talk, row.entity).mine:
                    is_new = re.search(r"\bto $", phrase[: slot.start()]) is not None
                    return before + some(talk_of(self.talk, row.entity).noun, is_new)
                return before + self.companies.without_title(phrase, row.entity, self._refer(row))
            if name in wish.linked:
                return f"{before}that {self._noun(wish, name)}"
            if name in wish.values:
                self.told.add(wish.values[name])
                return joined(before, self._words[wish.values[name]])
            return f"{before}that {name_in_words(name)}"

        return _one(_PLACE.sub(words, phrase))

    def _refer(self, row: KnownRow) -> str:
        vague = talk_of(self.talk, row.entity).mine and self.request.persona.style in TERSE
        known = set(row.columns.values()) - self._left_out
        vague = vague and not any(thing.volunteered for thing in self.request.known if thing.id in known)
        vague = vague and not self._has_like(row)
        said = known & self.told or (set() if vague and self.random.random() < 0.5 else known)
        self.told |= said
        return refer(self.talk, row, {name: words for name, words in self._words.items() if name in said}, self.random)

    def _has_like(self, row: KnownRow) -> bool:
        """Whether another row of its kind is spoken of too: only by more words can the two be told apart."""
        rows = [other for wish in self.request.wishes for other in wish.rows.values()]
        return any(other.entity == row.entity and other.columns != row.columns for other in rows)

    def _message(self, phrases: list[str], consents: list[str]) -> str:
        style, forms = self.request.persona.style, _phrases()
        kinds = [wish.kind for _, wish in self._asked]
        doing = [phrase for kind, phrase in zip(kinds, phrases, strict=True) if kind == "do"]
        hearing = [phrase for kind, phrase in zip(kinds, phrases, strict=True) if kind == "hear"]
        parts = [self.random.choice(forms["first"][style]).format(request=doing[0])] if doing else []
        parts += [self.random.choice(forms["next"]).format(request=phrase) for phrase in doing[1:]]
        for place, phrase in enumerate(hearing):
            more = forms["hear_after"] if doing else forms["hear_more"]
            frames = more if doing or place else forms["hear_first"][style]
            parts.append(self.random.choice(frames).format(ask=phrase))
        parts += consents
        # What is wanted of several companies is one story only by its reason.
        talks = self.random.random() < (0.45, 0.85)[style not in TERSE]
        if talks or self.companies.titles:
            parts.insert(0 if self.random.random() < 0.7 else len(parts), self.request.reason)
        greeting = self.random.choice(forms["greetings"][style])
        closing = self.random.choice(forms["closings"][style])
        message = " ".join(part for part in [greeting, *parts, closing] if part)
        return message.lower() if "writes in lower case" in self.request.persona.traits else message

    def _fact(self, thing: KnownFact) -> str:
        """The sentence for it; of what is left out, with a place for the value."""
        words, text = self._words[thing.id], self._sentence(thing)
        if not thing.withheld:
            return text
        return (
            text.replace(words, VALUE_PLACEHOLDER, 1)
            if words in text
            else f"{thing.about.capitalize()}: {VALUE_PLACEHOLDER}."
        )

    def _sentence(self, thing: KnownFact) -> str:
        words = self._words[thing.id]
        for wish in self.request.wishes:
            for row in wish.rows.values():
                if thing.id in row.columns.values():
                    return _one(sentence(self.talk, row, thing, words, self.random))
        _, _, name = thing.about.partition(": ")
        return _one(self._stated(thing, name, words)) if self.companies.titles else f"{name.capitalize()}: {words}."

    def _stated(self, thing: KnownFact, name: str, words: str) -> str:
        """A value as a sentence, which says whom it is for where several companies may be given the like."""
        parameter = re.sub(r"_\d+$", "", thing.id.partition(".")[2])
        ways = _phrases()["stated"]
        company = self.companies.title_of(thing, self.request) or "them"
        way = self.random.choice(ways.get(parameter, ways["other"])).format(company=company, name=name, words="{words}")
        return _PLACE.sub(lambda slot: joined(slot["before"] or "", words), way)


def ways_of(own: ToolTalk, wish: Intent, unsaid: Sequence[str]) -> list[str]:
    """Verb phrases for a wish; where something is left unsaid, those that do without it."""
    written = without([way for name in unsaid for way in own.unsaid.get(name, [])], wish, unsaid)
    free = [way for way in written if not any(f"{{{name}}}" in way for name in unsaid)]
    return free or written or without(own.ask, wish, unsaid)


def without(ways: Sequence[str], wish: Intent, unsaid: Sequence[str]) -> list[str]:
    """Those of the ways that say no value that is left unsaid; a row can be named without saying which."""
    values = {f"{{{name}}}" for name in unsaid if name in wish.values}
    return [way for way in ways if not any(slot in way for slot in values)]


def some(noun: str, is_new: bool) -> str:
    """Any row of a kind: `a slot`, and `another slot` where something is changed to it."""
    return f"another {noun}" if is_new else with_article(noun)


def joined(before: str, words: str) -> str:
    """A value behind `by ` or `from my `; of values that bring such words along, `by card`, nothing is said twice. An
    article before it is the one that fits."""
    if before in ("a ", "an "):
        return with_article(words)
    brought = _ADVERB.match(words)
    if not before or not brought:
        return before + words
    return f"{before}{words[brought.end() :]}" if before == "my " else words


def _one(text: str) -> str:
    """The text with what there is one of in the singular: `1 more refill`."""
    return _SINGLE.sub(r"\1", text)


@cache
def _phrases() -> Any:
    text = files("synth.offline").joinpath("phrases/telling.yaml").read_text("utf-8")
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
    changes |= {"i've": "you've", "i'd": "you'd", "i'll": "you'll", "we": "you", "us": "you", "our": "your"}
    pattern = re.compile(r"\b(i'm|i've|i'd|i'll|myself|mine|my|me|we|us|our|i|am)\b", re.IGNORECASE)
    return pattern.sub(lambda found: changes[found.group(1).lower()], phrase)
