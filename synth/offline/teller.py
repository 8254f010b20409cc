"""Telling a task: a first message in the persona's manner, the goal, and each fact as a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from random import Random

from skillweave.schema.request import FactWords, Intent, KnownFact, Telling, UserRequest
from synth.offline.fact_teller import FactTeller
from synth.offline.forms import arguments_of, direct_question, forms, frames_for, limits_of
from synth.offline.phrasing import TERSE, Phrasing
from synth.offline.services import Talk
from synth.offline.wording import CompanyWords, phrases, talk_of, to_you, without_lost_commas
from synth.tasks.requests import later_facts

MOST_IN_SENTENCE = 110
"""Letters of what is told in one sentence, about."""
JOINED_SHARE = 0.8
"""How often short wishes are told in one sentence."""
OPENED_SHARE = 0.85
"""How often people begin in words of the catalogue's, where it has any that fit."""
REASON_SHARE = 0.5
"""How often all others give their reason."""
Asked = Sequence[tuple[int, Intent]]
"""Intents, each with its position among all intents."""


@dataclass
class Teller:
    """Tells one task in words."""

    request: UserRequest
    talk: Talk
    random: Random
    companies: CompanyWords = field(default_factory=CompanyWords)
    number: str = "1"
    """The task's number in its question."""
    _opened: set[int] = field(default_factory=set)
    """The intent, if any, for which the catalogue has the words to begin with."""
    _gives_reason: bool = False

    def tell(self) -> Telling:
        """Put the request into words: a first message, the goal, what comes later, and a sentence for each fact."""
        asked = [one for one in self._asked if not one[1].later]
        message = self._message(asked, self._openings(asked) | self._requests(asked), self._consents(is_later=False))
        first = {*self._phrasing.mentioned}
        # Whole words to begin with say why by themselves.
        reason = self.request.reason or None if self._gives_reason or self._is_story_later else None
        goal = self._goal(asked)
        later = self._later()
        moments = dict.fromkeys(self._phrasing.mentioned & later_facts(self.request), "later")
        moments |= dict.fromkeys(first, "first")
        facts = FactTeller(self.request, self.talk, self.random, self.companies, self._phrasing.words)
        told = [
            FactWords.model_validate({"id": fact.id, "text": facts.tell(fact), "tell": moments.get(fact.id, "asked")})
            for fact in self.request.known
            if not fact.secret
        ]
        return Telling(
            id=self.number,
            first_message=message,
            goal=goal,
            reason=reason,
            facts=told,
            later=later,
            insists=[self._in_manner(text) for text in arguments_of(self.request.insists, self.random)],
        )

    @cached_property
    def _phrasing(self) -> Phrasing:
        return Phrasing(self.request, self.talk, self.random, self.companies)

    @cached_property
    def _known(self) -> dict[str, KnownFact]:
        return {fact.id: fact for fact in self.request.known}

    def _openings(self, asked: Asked) -> dict[int, str]:
        """The position of what is asked for first -> the words to begin with, if the catalogue has any for it."""
        place, intent = asked[0]
        is_plain = intent.kind == "do" and not intent.condition and not self._is_replaced_at_once(place)
        if not is_plain or self.random.random() > OPENED_SHARE:
            return {}
        words = self._phrasing.opening(intent)
        self._opened |= {place} if words else set()
        return {place: words} if words else {}

    def _requests(self, asked: Asked) -> dict[int, str]:
        """Position of each intent -> its phrase. What a condition asks for has none of its own."""
        phrased = [
            (place, intent)
            for place, intent in asked
            if place not in self._opened and (intent.kind == "do" or not intent.condition)
        ]
        return {place: self._phrase(place, intent) for place, intent in phrased}

    def _phrase(self, place: int, intent: Intent) -> str:
        """The phrase of an intent: in full if another one takes its place before anybody has asked about it."""
        is_full = self._phrasing.is_full
        self._phrasing.is_full = is_full or self._is_replaced_at_once(place)
        phrase = self._phrasing.phrase(intent)
        self._phrasing.is_full = is_full
        return phrase

    def _is_replaced_at_once(self, place: int) -> bool:
        return any(one.replaces == place and one.later == "second_message" for one in self.request.wishes)

    def _goal(self, asked: Asked) -> str:
        """All that is wanted at first and agreed to, in full."""
        mentioned, self._phrasing.mentioned, self._phrasing.is_full = self._phrasing.mentioned, set(), True
        self._opened.clear()
        goal = " ".join([*self._goals(asked, self._requests(asked)), *self._agreements()])
        self._phrasing.mentioned, self._phrasing.is_full = mentioned, False
        return goal

    @property
    def _asked(self) -> Asked:
        """The intents that the user asks for."""
        return [(place, intent) for place, intent in enumerate(self.request.wishes) if not intent.only_if_needed]

    @property
    def _agreed(self) -> Asked:
        """The intents that the user only agrees to."""
        return [(place, intent) for place, intent in enumerate(self.request.wishes) if intent.only_if_needed]

    def _goals(self, asked: Asked, requests: Mapping[int, str]) -> Iterator[str]:
        """The intents in the second person, in the order in which they are to be carried out."""
        is_later = False
        for place, intent in (one for one in asked if one[0] in requests):
            request = requests[place]
            if intent.kind == "hear":
                yield f"You want to know {to_you(request)}."
                yield from forms()["only_asking_goals"] if intent.foreseen else ()
                yield from self._beliefs(intent, "belief_goals")
            elif intent.condition or intent.instead_of is not None:
                yield self._on_terms(intent, to_you(request), "condition_goals", "fallback_goals")
                yield from self._beliefs_in_condition(intent, "belief_goals")
            else:
                yield f"{'After that you' if is_later else 'You'} want to {to_you(request)}."
            is_later = is_later or intent.kind == "do"

    def _on_terms(self, intent: Intent, request: str, condition: str, fallback: str) -> str:
        """The sentences for what is wanted on a condition, or in the place of something else.

        Args:
            condition: Name of the frames for a condition.
            fallback: Name of the frames for what is wanted in the place of something else.
        """
        if intent.condition is None or intent.condition_fact is None:
            frames = f"otherwise_{condition}" if intent.otherwise else fallback
            return str(self.random.choice(forms()[frames])).format(request=request)
        limit = self._known[intent.condition_fact]
        self._phrasing.mentioned.add(limit.id)
        row = intent.rows.get(intent.condition.parameter)
        subject = f"the {talk_of(self.talk, row.entity).noun}" if row else "it"
        slots = limits_of(intent.condition, limit, subject, self.random, is_alone=len(intent.rows) < 2 or row is None)
        frames = f"branch_{condition}" if intent.condition.otherwise else condition
        is_first = intent == self._asked[0][1]
        return self.random.choice(frames_for(frames, intent.condition, is_first=is_first)).format(
            request=request, **slots
        )

    def _beliefs(self, intent: Intent, frames: str = "beliefs") -> Iterator[str]:
        """What the user takes a value to be that they ask for."""
        if intent.believed:
            self._phrasing.mentioned.add(intent.believed)
            yield str(self.random.choice(forms()[frames])).format(value=self._phrasing.words[intent.believed])

    def _agreements(self) -> Iterator[str]:
        """What the user agrees to, in the second person and in full: nobody has mentioned it before."""
        mentioned = {*self._phrasing.mentioned}
        for place, intent in self._agreed:
            request = to_you(self._phrasing.phrase(intent))
            yield f"If {self._company_in_need(place)} needs it first, you agree to {request}."
        self._phrasing.mentioned = mentioned

    def _company_in_need(self, place: int) -> str:
        """The company that needs what is agreed to: the company of the next request."""
        after = (intent.tool for other, intent in self._asked if other > place and intent.kind == "do")
        return self.companies.titles.get(next(after, ""), "") or "that"

    def _consents(self, *, is_later: bool) -> list[str]:
        """What is said of what the user only agrees to: nothing, something general, or each intent.

        Args:
            is_later: Whether what comes later needs it.
        """
        forms, agreed = phrases("telling")["consents"], [one for one in self._agreed if bool(one[1].later) == is_later]
        ways = forms["terse" if self.request.persona.style in TERSE else "other"] if agreed else ["none"]
        way = self.random.choice(ways)
        if way == "none":
            return []
        if way == "vague":
            titles = {self.companies.titles.get(intent.tool, self.request.company): None for _, intent in agreed}
            return [self.random.choice(forms["vague"]).format(company=" or ".join(titles))]
        frames = self.random.sample(forms["each"], len(forms["each"]))
        chosen = zip(agreed, cycle(frames))
        return [
            frame.format(company=self._company_in_need(place), request=self._phrasing.phrase(intent))
            for (place, intent), frame in chosen
        ]

    def _beliefs_in_condition(self, intent: Intent, frames: str = "beliefs") -> Iterator[str]:
        """What the user takes the value to be on which they make something depend."""
        for other in self.request.wishes:
            if other.kind == "hear" and intent.condition_fact and other.condition_fact == intent.condition_fact:
                yield from self._beliefs(other, frames)

    def _message(self, asked: Asked, requests: Mapping[int, str], consents: list[str]) -> str:
        """The first message: in whole words to begin with, or with a greeting and the reason."""
        style, frames, openings = self.request.persona.style, phrases("telling"), phrases("openings")
        question = openings[_sort_of(asked[0][1])][style]
        self._gives_reason = not self._opened and self._takes_reason(asked[0][1])
        opening = frames["first"][style] if self._gives_reason else openings["deed"][style]
        parts = [*self._sentences(asked, requests, opening, question), *consents]
        if self._gives_reason:
            parts = [self.random.choice(frames["greetings"][style]), *self._with_reason(asked, parts)]
        closing = self.random.choice(frames["closings"][style])
        return self._in_manner(" ".join(filter(None, [*parts, closing])))

    def _takes_reason(self, first: Intent) -> bool:
        """Whether the reason is given for what comes first. Only it makes one story of several companies, unless they
        are asked for one after the other.
        """
        if self.companies.titles:
            return not self._is_story_later
        if first.condition:
            return True
        return first.kind == "do" and self.random.random() < REASON_SHARE

    @property
    def _is_story_later(self) -> bool:
        """Whether some part of a story comes later."""
        return bool(self.companies.titles) and any(intent.later for intent in self.request.wishes)

    def _with_reason(self, asked: Asked, parts: Sequence[str]) -> list[str]:
        """The parts of the first message, some with the reason among them. Several wishes are announced."""
        share = 0.35 if self.request.persona.style in TERSE or len(asked) > 2 else 0.7
        is_of_all = any(intent.later for intent in self.request.wishes)
        if not self.companies.titles and (is_of_all or self.random.random() > share):
            return [*parts]
        place = 0 if len(asked) > 2 else self.random.randrange(2)
        return [*parts[:place], self.request.reason, *parts[place:]]

    def _sentences(
        self, asked: Asked, requests: Mapping[int, str], opening: Sequence[str], question: Sequence[str]
    ) -> Iterator[str]:
        """What is wanted as sentences: first what is to be done, then what is to be told.

        Args:
            opening: Frames for the first thing to be done.
            question: Frames for the first thing to be told, if nothing is to be done.
        """
        deeds = [one for one in asked if one[1].kind == "do"]
        further = self._by_turns(phrases("telling")["next"])
        for number, group in enumerate(self._together(deeds, requests)):
            place, intent = group[0]
            if intent.condition or intent.instead_of is not None:
                fallbacks = "later_fallbacks" if intent.later else "fallbacks"
                yield self._on_terms(intent, requests[place], "conditions", fallbacks)
                yield from self._beliefs_in_condition(intent)
            elif place in self._opened:
                yield requests[place]
            else:
                frame = next(further) if number else self.random.choice(opening)
                yield frame.format(request=self._joined([requests[one] for one, _ in group]))
        yield from self._questions([one for one in asked if one[0] in requests], requests, question)

    def _together(self, deeds: Asked, requests: Mapping[int, str]) -> list[list[tuple[int, Intent]]]:
        """The deeds in groups that are told in one sentence each: short phrases of plain wishes, in order."""
        groups: list[list[tuple[int, Intent]]] = []
        room = 0
        for place, intent in deeds:
            is_plain = not intent.condition and intent.instead_of is None and place not in self._opened
            length = len(requests[place]) + MOST_IN_SENTENCE * (not is_plain or "," in requests[place])
            if not groups or length > room:
                groups.append([])
                room = MOST_IN_SENTENCE if self.random.random() < JOINED_SHARE else 0
            groups[-1].append((place, intent))
            room -= length
        return groups

    def _joined(self, parts: Sequence[str]) -> str:
        """Phrases as one: `cancel my visit, pay that invoice, and then book a check-up`."""
        if len(parts) < 3:
            return str(phrases("telling")["joined"]).format(first=parts[0], last=parts[-1]) if parts[1:] else parts[0]
        way: str = self.random.choice(phrases("telling")["several"])
        return way.format(first=parts[0], between=", ".join(parts[1:-1]), last=parts[-1])

    def _questions(self, asked: Asked, requests: Mapping[int, str], question: Sequence[str]) -> Iterator[str]:
        """What is to be told as sentences, two questions in one if nothing else is said about either."""
        frames = phrases("telling")
        is_first = all(intent.kind == "hear" for _, intent in asked)
        more = self._by_turns(frames["hear_more"] if is_first else frames["hear_after"])
        waiting = [(requests[place], [*self._remarks(intent)]) for place, intent in asked if intent.kind == "hear"]
        # Words to begin with say by themselves that somebody only asks.
        if waiting and is_first and asked[0][1].foreseen and not asked[0][1].later:
            waiting[0][1].pop(0)
        while waiting:
            ask, remarks = waiting.pop(0)
            frame = self.random.choice(question) if is_first else next(more)
            is_joined = waiting and "{ask}" in frame and not remarks and not waiting[0][1]
            if is_joined and len(ask + waiting[0][0]) < MOST_IN_SENTENCE:
                ask = f"{ask} and {waiting.pop(0)[0]}"
            yield frame.format(ask=ask, **direct_question(ask))
            yield from remarks
            is_first = False

    def _remarks(self, intent: Intent) -> Iterator[str]:
        """What is said about a question."""
        yield from [self.random.choice(forms()["only_asking"])] if intent.foreseen else []
        yield from self._beliefs(intent)

    def _by_turns(self, frames: Sequence[str]) -> Iterator[str]:
        """The frames in a drawn order, over and over: none comes twice in a row."""
        return cycle(self.random.sample(frames, len(frames)))

    def _later(self) -> str | None:
        """What the user comes out with later, with all its details; None if there is nothing."""
        asked = [one for one in self._asked if one[1].later]
        if not asked:
            return None
        self._phrasing.is_full = True
        moment = next(intent.later for _, intent in asked)
        is_replacing = any(intent.replaces is not None for _, intent in asked)
        opening, question = forms()["replacing" if is_replacing else "adding"], forms()["adding_ask"]
        which = f"{moment}_several" if len(asked) > 1 and f"{moment}_several" in opening else moment
        sentences = self._sentences(asked, self._requests(asked), opening[which], question[which])
        return self._in_manner(" ".join([*sentences, *self._consents(is_later=True)]))

    def _in_manner(self, text: str) -> str:
        text = without_lost_commas(text)
        return text.lower() if "writes in lower case" in self.request.persona.traits else text


def _sort_of(intent: Intent) -> str:
    """Which words a question begins with."""
    return "foreseen" if intent.foreseen else "sum" if intent.every else "difference" if intent.compared else "question"
