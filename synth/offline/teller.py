"""Telling a task: a first message in the persona's manner, the goal, and each fact as a sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from random import Random

from skillweave.schema.combination import FactWords, Intent, KnownFact, KnownRow, Telling, UserRequest
from synth.contracts.wording import VALUE_PLACEHOLDER, name_in_words
from synth.offline.services import Talk, ToolTalk
from synth.offline.wording import CompanyWords, named, phrases, refer, sentence, talk_of, with_article

_ENUM = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SLOT = re.compile(r"\{(\w+)\}")
_PLACE = re.compile(r"(?P<before>\b(?:an? |(?:(?:by|from|on|with) )?(?:my )?))?\{(?P<name>\w+)\}")
_ADVERB = re.compile(r"(?:by|from|on|with) (?:my )?")
_SINGLE = re.compile(r"(?<![\d.,:])(\b1 (?:more |further )?(?:refill|day|night|hour|week|month|guest|pack|unit))s\b")
TERSE = frozenset({"brief", "hurried", "hesitant"})
"""Styles of people who at first leave out details that an agent can ask for."""


@dataclass
class Teller:
    """Tells one task in words."""

    request: UserRequest
    talk: Talk
    random: Random
    companies: CompanyWords = field(default_factory=CompanyWords)
    number: str = "1"
    """The task's number in its question."""
    mentioned: set[str] = field(default_factory=set)
    """Ids of the facts that the first message mentions."""

    def tell(self) -> Telling:
        """Put the request into words: a first message, the goal, and a sentence for each fact."""
        requests = {place: self._phrase(intent) for place, intent in self._asked}
        consents = self._consents()
        message = self._message(list(requests.values()), consents)
        goal = " ".join([*self._goals(requests), *self._agreements()])
        facts = [
            FactWords(id=fact.id, text=self._fact(fact), tell="first" if fact.id in self.mentioned else "asked")
            for fact in self.request.known
            if not fact.secret
        ]
        reason = self.request.reason or None
        return Telling(id=self.number, first_message=message, goal=goal, reason=reason, facts=facts)

    @property
    def _asked(self) -> list[tuple[int, Intent]]:
        """The intents that the user asks for, each with its position among all intents."""
        return [(place, intent) for place, intent in enumerate(self.request.wishes) if not intent.only_if_needed]

    @property
    def _agreed(self) -> list[tuple[int, Intent]]:
        """The intents that the user only agrees to, each with its position among all intents."""
        return [(place, intent) for place, intent in enumerate(self.request.wishes) if intent.only_if_needed]

    def _goals(self, requests: Mapping[int, str]) -> Iterator[str]:
        """The intents in the second person, in the order in which they are to be carried out."""
        is_later = False
        for place, intent in self._asked:
            if intent.kind == "hear":
                yield f"You want to know {_to_you(requests[place])}."
            else:
                yield f"{'After that you' if is_later else 'You'} want to {_to_you(requests[place])}."
                is_later = True

    def _agreements(self) -> Iterator[str]:
        """What the user agrees to, in the second person and in full: nobody has mentioned it before."""
        mentioned = set(self.mentioned)
        for place, intent in self._agreed:
            yield f"If {self._company_in_need(place)} needs it first, you agree to {_to_you(self._phrase(intent))}."
        self.mentioned = mentioned

    def _company_in_need(self, place: int) -> str:
        """The company that needs what is agreed to: the company of the next request."""
        after = (intent.tool for other, intent in self._asked if other > place and intent.kind == "do")
        return self.companies.titles.get(next(after, ""), "") or "that"

    def _consents(self) -> list[str]:
        """The part of the first message on what the user only agrees to: nothing, something general, or each intent."""
        forms = phrases("telling")["consents"]
        ways = forms["terse" if self.request.persona.style in TERSE else "other"] if self._agreed else ["none"]
        way = self.random.choice(ways)
        if way == "none":
            return []
        if way == "vague":
            titles = {self.companies.titles.get(intent.tool, self.request.company): None for _, intent in self._agreed}
            return [self.random.choice(forms["vague"]).format(company=" or ".join(titles))]
        frames = self.random.sample(forms["each"], len(forms["each"]))
        chosen = zip(self._agreed, cycle(frames))
        return [
            frame.format(company=self._company_in_need(place), request=self._phrase(intent))
            for (place, intent), frame in chosen
        ]

    @property
    def _words(self) -> dict[str, str]:
        """Id of a fact -> the words for its value."""
        return {fact.id: self._value_words(fact) for fact in self.request.known}

    def _value_words(self, fact: KnownFact) -> str:
        """The words for a fact's value. Enum values get the catalogue's words, or lose their underscores."""
        if not isinstance(fact.value, str) or not _ENUM.fullmatch(fact.value):
            return fact.words
        own = self.companies.word(fact.value, fact, self.request)
        return own or self.talk.values.get(fact.value, fact.words.replace("_", " "))

    @property
    def _left_out(self) -> set[str]:
        """Ids of the facts that the request leaves out."""
        return {fact.id for fact in self.request.known if fact.withheld}

    def _unmentioned(self, intent: Intent) -> list[str]:
        """Parameters of an intent that the user mentions only when asked."""
        rows = [name for name, row in intent.rows.items() if set(row.columns.values()) <= self._left_out]
        return [*rows, *(name for name, fact in intent.values.items() if fact in self._left_out)]

    def _phrase(self, intent: Intent) -> str:
        own = self.talk.tools.get(intent.tool)
        if intent.kind == "hear":
            spoken = [name for name in intent.values if f"{{{name}}}" not in intent.ask]
            return self._filled(" ".join([intent.ask, *self._clauses(intent, spoken)]), intent)
        if intent.ask:
            return self._story_phrase(intent)
        available = intent.rows.keys() | intent.values.keys() | intent.linked.keys()
        unmentioned = self._unmentioned(intent)
        ways = [ways_of(own, intent, unmentioned), without(own.settled, intent, unmentioned)] if own else []
        fitting = ([ask for ask in asks if set(_SLOT.findall(ask)) <= available] for asks in ways)
        asks = next(filter(None, fitting), [])
        phrase = self.random.choice(asks) if asks else self.companies.tool(intent.tool)
        missing = [
            name for name in [*intent.rows, *intent.values] if f"{{{name}}}" not in phrase and name not in unmentioned
        ]
        missing = self._volunteered(intent, missing)
        clauses = self._clauses(intent, missing)
        clauses += [
            f"with the same {self._noun(intent, name)}" for name in intent.linked if f"{{{name}}}" not in phrase
        ]
        return self._filled(" ".join([phrase, *clauses]), intent)

    def _story_phrase(self, intent: Intent) -> str:
        """An intent in its story's words, with missing parameters added if the catalogue has words for them."""
        own = self.talk.tools.get(intent.tool)
        unmentioned = self._unmentioned(intent)
        missing = [
            name
            for name in [*intent.rows, *intent.values]
            if f"{{{name}}}" not in intent.ask and name not in unmentioned
        ]
        missing = self._volunteered(intent, missing)
        clauses = self._clauses(intent, [name for name in missing if own and name in own.parameters])
        return self._filled(" ".join([intent.ask, *clauses]), intent)

    def _volunteered(self, intent: Intent, missing: Sequence[str]) -> list[str]:
        """The parameters to add to a verb phrase that leaves them out. Terse people leave some for the agent to ask."""
        if self.request.persona.style not in TERSE:
            return [*missing]
        return [name for name in missing if self.random.random() < 0.4 or self._is_volunteered(intent, name)]

    def _is_volunteered(self, intent: Intent, name: str) -> bool:
        row = intent.rows.get(name)
        facts = {*row.columns.values()} if row else {intent.values.get(name, "")}
        return any(fact.volunteered for fact in self.request.known if fact.id in facts)

    def _clauses(self, intent: Intent, names: Sequence[str]) -> list[str]:
        """Clauses for parameters, to follow a verb phrase. The last one is for those without words in the catalogue."""
        own = self.talk.tools.get(intent.tool)
        ways = {name: own.parameters.get(name, []) if own else [] for name in names}
        clauses = [self.random.choice(ways[name]).replace("{value}", f"{{{name}}}") for name in names if ways[name]]
        bare = [named(name, f"{{{name}}}") for name in names if not ways[name] and name in intent.values]
        if bare:
            clauses.append(f"with {' and '.join([', '.join(bare[:-1]), bare[-1]] if bare[1:] else bare)}")
        return clauses

    def _noun(self, intent: Intent, linked: str) -> str:
        return talk_of(self.talk, intent.linked[linked]).noun

    def _filled(self, phrase: str, intent: Intent) -> str:
        """The phrase with words in the place of its slots."""
        unmentioned = self._unmentioned(intent)

        def words(slot: re.Match[str]) -> str:
            before, name = slot["before"] or "", slot["name"]
            if name in intent.rows:
                row = intent.rows[name]
                if name in unmentioned and not talk_of(self.talk, row.entity).mine:
                    is_new = re.search(r"\bto $", phrase[: slot.start()]) is not None
                    return before + any_row(talk_of(self.talk, row.entity).noun, is_new)
                return before + self.companies.without_title(phrase, row.entity, self._row_words(row))
            if name in intent.linked:
                return f"{before}that {self._noun(intent, name)}"
            if name in intent.values:
                self.mentioned.add(intent.values[name])
                return joined(before, self._words[intent.values[name]])
            return f"{before}that {name_in_words(name)}"

        return _singular(_PLACE.sub(words, phrase))

    def _row_words(self, row: KnownRow) -> str:
        vague = talk_of(self.talk, row.entity).mine and self.request.persona.style in TERSE
        known = set(row.columns.values()) - self._left_out
        vague = vague and not any(fact.volunteered for fact in self.request.known if fact.id in known)
        vague = vague and not self._has_similar_row(row)
        mentioned = known & self.mentioned or (set() if vague and self.random.random() < 0.5 else known)
        self.mentioned |= mentioned
        return refer(
            self.talk, row, {name: words for name, words in self._words.items() if name in mentioned}, self.random
        )

    def _has_similar_row(self, row: KnownRow) -> bool:
        """Whether the request has another row of this kind: then it takes more words to distinguish the two."""
        rows = [other for intent in self.request.wishes for other in intent.rows.values()]
        return any(other.entity == row.entity and other.columns != row.columns for other in rows)

    def _message(self, requests: list[str], consents: list[str]) -> str:
        style, forms = self.request.persona.style, phrases("telling")
        kinds = [intent.kind for _, intent in self._asked]
        doing = [phrase for kind, phrase in zip(kinds, requests, strict=True) if kind == "do"]
        hearing = [phrase for kind, phrase in zip(kinds, requests, strict=True) if kind == "hear"]
        parts = [self.random.choice(forms["first"][style]).format(request=doing[0])] if doing else []
        parts += [self.random.choice(forms["next"]).format(request=phrase) for phrase in doing[1:]]
        for place, phrase in enumerate(hearing):
            more = forms["hear_after"] if doing else forms["hear_more"]
            frames = more if doing or place else forms["hear_first"][style]
            parts.append(self.random.choice(frames).format(ask=phrase))
        parts += consents
        # Only the reason connects requests to several companies into one story.
        is_reason_given = self.random.random() < (0.45, 0.85)[style not in TERSE]
        if is_reason_given or self.companies.titles:
            parts.insert(0 if self.random.random() < 0.7 else len(parts), self.request.reason)
        greeting = self.random.choice(forms["greetings"][style])
        closing = self.random.choice(forms["closings"][style])
        message = " ".join(part for part in [greeting, *parts, closing] if part)
        return message.lower() if "writes in lower case" in self.request.persona.traits else message

    def _fact(self, fact: KnownFact) -> str:
        """The sentence for a fact. A placeholder stands for the value of a fact that the request leaves out."""
        words, text = self._words[fact.id], self._sentence(fact)
        if not fact.withheld:
            return text
        return (
            text.replace(words, VALUE_PLACEHOLDER, 1)
            if words in text
            else f"{fact.about.capitalize()}: {VALUE_PLACEHOLDER}."
        )

    def _sentence(self, fact: KnownFact) -> str:
        words = self._words[fact.id]
        for intent in self.request.wishes:
            for row in intent.rows.values():
                if fact.id in row.columns.values():
                    return _singular(sentence(self.talk, row, fact, words, self.random))
        _, _, name = fact.about.partition(": ")
        return _singular(self._stated(fact, name, words)) if self.companies.titles else f"{name.capitalize()}: {words}."

    def _stated(self, fact: KnownFact, name: str, words: str) -> str:
        """A value as a sentence that names the company it is for, if there are several."""
        parameter = re.sub(r"_\d+$", "", fact.id.partition(".")[2])
        ways = phrases("telling")["stated"]
        company = self.companies.title_of(fact, self.request) or "them"
        way = self.random.choice(ways.get(parameter, ways["other"])).format(company=company, name=name, words="{words}")
        return _PLACE.sub(lambda slot: joined(slot["before"] or "", words), way)


def ways_of(own: ToolTalk, intent: Intent, unmentioned: Sequence[str]) -> list[str]:
    """Verb phrases for an intent that do not mention these parameters, as far as there are any."""
    written = without([way for name in unmentioned for way in own.unsaid.get(name, [])], intent, unmentioned)
    free = [way for way in written if not any(f"{{{name}}}" in way for name in unmentioned)]
    return free or written or without(own.ask, intent, unmentioned)


def without(ways: Sequence[str], intent: Intent, unmentioned: Sequence[str]) -> list[str]:
    """The ways that use none of these values. A row can be named without saying which."""
    values = {f"{{{name}}}" for name in unmentioned if name in intent.values}
    return [way for way in ways if not any(slot in way for slot in values)]


def any_row(noun: str, is_new: bool) -> str:
    """Any row of a kind: `a slot`; `another slot` if something is changed to it."""
    return f"another {noun}" if is_new else with_article(noun)


def joined(before: str, words: str) -> str:
    """A value after `by ` or `from my `, without repeating such words if the value begins with them (`by card`).

    An article before the value becomes the one that fits.
    """
    if before in ("a ", "an "):
        return with_article(words)
    repeated = _ADVERB.match(words)
    if not before or not repeated:
        return before + words
    return f"{before}{words[repeated.end() :]}" if before == "my " else words


def _singular(text: str) -> str:
    """The text with nouns after 1 in the singular: `1 more refill`."""
    return _SINGLE.sub(r"\1", text)


def _to_you(phrase: str) -> str:
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
    changes |= {"i've": "you've", "i'd": "you'd", "i'll": "you'll", "we": "you", "us": "you", "our": "your"}
    pattern = re.compile(r"\b(i'm|i've|i'd|i'll|myself|mine|my|me|we|us|our|i|am)\b", re.IGNORECASE)
    return pattern.sub(lambda match: changes[match.group(1).lower()], phrase)
