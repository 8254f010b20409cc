"""Reading: what one message of the agent does, against what the user wants and knows.

It says nothing of what the user makes of it; that depends on the conversation so far, which `memory` keeps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rollout.offline.user.conflict import conflicts
from rollout.offline.user.labels import mislabelled
from rollout.offline.user.lexicon import deeds_of, stems, wording
from rollout.offline.user.moods import Sentence, sentences_of
from rollout.offline.user.offers import is_agreed_to, is_beside, is_extra, is_instead, is_named, owns, says
from rollout.offline.user.topics import Topic, of_company, topics_of
from rollout.user.telling.errands import Errand

_SAYS_SOMETHING = re.compile(r"\d|\b(?:by|with|to|for|from) [a-z]+ ?[a-z]*")


@dataclass(frozen=True)
class Reading:
    text: str
    errands: Sequence[Errand]
    topics: Sequence[Topic]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Of the message."""
        return list(sentences_of(self.text))

    @cached_property
    def offers(self) -> bool:
        """It asks what the user wants, or wants beside."""
        return any(sentence.offers for sentence in self.sentences)

    @cached_property
    def offers_more(self) -> bool:
        """It asks what the user wants beside what they have brought up."""
        return any(wording("anything_else").search(s.text) for s in self.sentences if s.offers)

    @cached_property
    def is_extra(self) -> bool:
        """Whether it proposes something in addition, of which the user has said nothing."""
        return is_extra(self._proposal, self.errands, self.topics)

    @cached_property
    def is_beside(self) -> bool:
        """Whether it proposes a deed that the user has not asked for, or something in the place of what they want."""
        coming = [s.text for s in self.sentences if self._is_proposal(s) or _is_to_come(s)]
        telling = [sentence for sentence in self.sentences if not sentence.asks_something]
        left = [errand for errand in self.errands if errand.only_if_needed and not self._is_agreed_to(errand)]
        wanted = [errand for errand in self.errands if errand not in left]
        known = [one for one in self.topics if one.is_row or not any(owns(errand, one) for errand in left)]
        return is_beside(coming, wanted, known) or is_instead(self._proposal, telling, self.topics)

    @cached_property
    def _proposal(self) -> list[Sentence]:
        return [sentence for sentence in self.sentences if self._is_proposal(sentence)]

    @cached_property
    def proposes(self) -> bool:
        """It waits for a yes."""
        return bool(self._proposal)

    @cached_property
    def waits(self) -> bool:
        """It announces something, and asks nothing."""
        return any(sentence.waits for sentence in self.sentences)

    @cached_property
    def questions(self) -> list[Sentence]:
        """Sentences that ask for something to be told."""
        return [s for s in self.sentences if s.asks and not s.offers and not self._is_proposal(s)]

    @cached_property
    def asked(self) -> list[Topic]:
        """The facts asked for."""
        asking = self.questions
        if wording("one_time_code").search(self.text):
            asking = [sentence for sentence in asking if not wording("identity").search(sentence.text)]
        found = of_company([topic for sentence in asking for topic in self._topics(sentence)], self.text)
        return list({topic.fact.id: topic for topic in found}.values())

    def _topics(self, question: Sentence) -> list[Topic]:
        """The facts that a question is after; where it names none, with the sentence before it."""
        if wording("whether").search(question.text):
            return []
        found = [topic for part in wording("parts").split(question.text) for topic in topics_of(part, self.topics)]
        place = self.sentences.index(question)
        if found or not place or not wording("which_one").search(question.text):
            return found
        before = [sentence.text for sentence in self.sentences[:place]]
        listed = [topic for topic in self.topics if topic.is_row and topic.is_in(before[-1])]
        return listed or topics_of(f"{before[-1]} {question.text}", self.topics)

    @cached_property
    def asks_which(self) -> bool:
        """Whether a question that names no fact asks which of several the user means."""
        return any(wording("which_one").search(text) for text in self.unknown)

    @cached_property
    def options(self) -> list[str]:
        """What it lets the user choose from, where it asks which."""
        asks = any(sentence.asks_choice for sentence in self.questions)
        found = [match.group(1) for match in wording("option").finditer(self.text)] if asks else []
        return found if len(found) > 1 and not self.declines else []

    @cached_property
    def asks_wish(self) -> bool:
        """Whether it asks what the user wants, and not what else."""
        return any(wording("wish_asked").search(sentence.text) for sentence in self.sentences if sentence.asks)

    @cached_property
    def asks_any_more(self) -> bool:
        """Whether it asks for whatever there may be beside."""
        return any(wording("any_more").search(sentence.text) for sentence in self.questions)

    @cached_property
    def affirms(self) -> bool:
        """Whether it says yes, and asks nothing."""
        is_yes = bool(self.sentences) and wording("affirms").match(self.sentences[0].text) is not None
        return is_yes and not (self.proposes or self.questions or self.declines)

    @cached_property
    def asks_name(self) -> bool:
        """Whether it asks who the user is."""
        return any(wording("own_name").search(sentence.text) for sentence in self.questions)

    @cached_property
    def asks_age(self) -> bool:
        """Whether it asks how old the user is."""
        return any(wording("own_age").search(sentence.text) for sentence in self.questions)

    @cached_property
    def unknown(self) -> list[str]:
        """Questions after nothing that the user knows."""
        return [
            sentence.text
            for sentence in self.questions
            if sentence.asks_something
            and not self._topics(sentence)
            and not wording("own_name").search(sentence.text)
            and not wording("own_age").search(sentence.text)
        ]

    @cached_property
    def asks_id(self) -> bool:
        """Whether it asks for a number or code of a record that the user does not have."""
        named = " ".join(topic.column for topic in self.asked)
        if re.search(r"number|reference|phone", named):
            return False
        return any(wording("record_id").search(sentence.text) for sentence in self.questions)

    @cached_property
    def asks_preference(self) -> bool:
        """Whether it asks what the user would like, rather than what they know."""
        return any(wording("preference").search(text) for text in self.unknown)

    @cached_property
    def asks_in_general(self) -> bool:
        """Whether a question that names no fact asks what the user is after."""
        return self.asks_wish or any(wording("in_general").search(text) for text in self.unknown)

    @cached_property
    def conflicts(self) -> list[Topic]:
        """Facts that what it proposes contradicts."""
        if not self.proposes:
            return []
        proposal = [s for s in self.sentences if self._is_proposal(s) or _is_to_come(s)]
        if not any(_SAYS_SOMETHING.search(sentence.text) for sentence in proposal):
            proposal = [s for s in self.sentences if not s.reports and not s.declines]
        found = [*conflicts(proposal, self.topics), *mislabelled(self.text, self.topics)]
        return list({topic.fact.id: topic for topic in found}.values())

    def concerns(self, topic: Topic, places: Sequence[int]) -> bool:
        """Whether a fact belongs to one of these errands, or to none in particular."""
        said = [place for place, errand in enumerate(self.errands) if says(errand, topic)]
        owners = said or [place for place, errand in enumerate(self.errands) if owns(errand, topic)]
        return not owners or any(place in places for place in owners)

    @cached_property
    def proposed(self) -> list[int]:
        """Errands that the proposal is about, by deed and thing."""
        doing = {place: errand for place, errand in enumerate(self.errands) if errand.kind == "do"}
        named = [place for place, errand in doing.items() if self._is_named(errand)]
        if named:
            return named
        likeness = {
            place: len(stems(errand.whole) & stems(self._not_reported))
            for place, errand in doing.items()
            if not errand.only_if_needed
        }
        best = [place for place, count in likeness.items() if count and count == max(likeness.values())]
        return best if len(best) == 1 else []

    @cached_property
    def _not_reported(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences if not sentence.reports)

    def _is_named(self, errand: Errand) -> bool:
        return self._is_agreed_to(errand) if errand.only_if_needed else is_named(errand, self._not_reported)

    def _is_agreed_to(self, errand: Errand) -> bool:
        return errand.only_if_needed and is_agreed_to(errand, self._not_reported, self.topics)

    @cached_property
    def reports(self) -> list[Sentence]:
        """Sentences that say that something has been done."""
        return [sentence for sentence in self.sentences if sentence.reports]

    @cached_property
    def claims_all(self) -> bool:
        """Whether it says that nothing is left to do."""
        return any(wording("all_done").search(sentence.text) for sentence in self.reports)

    @cached_property
    def declines(self) -> list[Sentence]:
        """Sentences that say that something will not be done."""
        found = [sentence for sentence in self.sentences if sentence.declines]
        busy = self.proposes or bool(self.asked)
        return [s for s in found if not busy or any(deeds_of(s.text) & deeds_of(e.whole) for e in self.errands)]

    @cached_property
    def gives_up(self) -> bool:
        """Whether it says that it will do nothing more."""
        return any(sentence.gives_up for sentence in self.sentences)

    @cached_property
    def hands_over(self) -> bool:
        """Whether it hands the user over to somebody else."""
        return any(sentence.hands_over for sentence in self.sentences)

    @cached_property
    def offers_transfer(self) -> bool:
        """Whether it asks if somebody else shall go on."""
        asking = [sentence for sentence in self.sentences if sentence.asks_something or sentence.proposes]
        return any(wording("hand_over").search(sentence.text) for sentence in asking)

    @cached_property
    def is_lost(self) -> bool:
        """Whether it found nothing by what the user told."""
        return any(wording("lost").search(sentence.text) for sentence in self.sentences)

    @cached_property
    def gives_reason(self) -> bool:
        """Whether it says why."""
        return any(
            wording("reason").search(sentence.text)
            or (not sentence.declines and sentence.tells and len(sentence.text.split()) > 6)
            for sentence in self.sentences
            if not sentence.offers
        )

    def _is_proposal(self, sentence: Sentence) -> bool:
        """A proposal, unless it only asks to confirm something of the user's own that it does not say."""
        if not sentence.proposes:
            return False
        own = [topic for topic in topics_of(sentence.text, self.topics) if topic.is_own]
        if any(topic.is_misquoted(sentence.text) for topic in own):
            return False
        return not own or bool(sentence.mentions.days or sentence.mentions.numbers or "@" in sentence.text)


def _is_to_come(sentence: Sentence) -> bool:
    return not sentence.reports and wording("to_come").search(sentence.text) is not None
