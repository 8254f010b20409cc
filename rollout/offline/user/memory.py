"""Memory: what has come of each errand, and what the user has said, made anew from the conversation each time.

Words alone count: an errand is settled when the agent reports it, answers it or declines it, never because a tool may
have done it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rollout.offline.user.answers import is_answer, is_spoken_of, overlap
from rollout.offline.user.lexicon import deeds_of, stems, strong_deeds_of, wording
from rollout.offline.user.moods import Sentence
from rollout.offline.user.reading import Reading
from rollout.offline.user.topics import Topic
from rollout.user.telling.errands import Errand

LIKE_ENOUGH = 2
"""Words that a report shares with an errand that the user has not brought up yet."""
Status = Literal["open", "settled", "declined", "standby"]
"""`standby`: not asked for, and agreed to where it is needed."""


@dataclass
class Memory:
    errands: Sequence[Errand]
    topics: Sequence[Topic]
    status: list[Status]
    voiced: list[bool]
    """Whether the user has said that they want it."""
    agreed: list[int] = field(default_factory=list)
    """Errands to which the user said yes, and of which nothing was heard since."""
    confirmed: set[int] = field(default_factory=set)
    """Errands to which the user said yes, whatever was heard since."""
    checks: list[int] = field(default_factory=list)
    """Errands of which the user has just asked whether they went through."""
    told: set[str] = field(default_factory=set)
    """Ids of facts that were told when asked for."""
    stalled: int = 0
    """Messages in a row that brought the user no further."""
    agreements: int = 0
    """Times in a row that the user said yes."""
    refusals: int = 0
    """Times in a row that the user said no."""
    unknowns: int = 0
    """Times that the user knew no answer."""
    offers: int = 0
    """Times that the user was asked what they want and has said it again."""
    transfers: int = 0
    """Times that the user let themselves be handed over."""
    newly_voiced: bool = False
    """Whether the last moves brought up something new."""
    consented: bool = False
    """Whether the user has said of their own accord what they agree to."""
    asked_why: bool = False
    awaits_reason: bool = False
    """Whether the user has just asked why not."""
    checked: bool = False
    """Whether the user has asked whether all is done."""
    settled_now: list[int] = field(default_factory=list)
    """Errands that the last message settled or declined."""

    @classmethod
    def at_first(cls, errands: Sequence[Errand], topics: Sequence[Topic], voiced: int) -> "Memory":
        """After the opening, which brings up that many of the errands."""
        status: list[Status] = ["standby" if errand.only_if_needed else "open" for errand in errands]
        return cls(errands, topics, status, [place < voiced for place in range(len(errands))])

    @property
    def open(self) -> list[int]:
        """Errands of which nothing has come yet, in their order."""
        return [place for place, status in enumerate(self.status) if status == "open"]

    @property
    def open_deeds(self) -> list[int]:
        """Those to be done."""
        return [place for place in self.open if self.errands[place].kind == "do"]

    @property
    def asked_for(self) -> list[int]:
        """Errands that the user asks for, whatever has come of them."""
        return [place for place, errand in enumerate(self.errands) if not errand.only_if_needed]

    def on_standby(self, places: Sequence[int]) -> list[int]:
        """Those of the errands that are agreed to and were not needed so far."""
        return [place for place in places if self.status[place] == "standby"]

    @property
    def is_over(self) -> bool:
        """Whether something has come of all."""
        return not self.open

    def hear(self, reading: Reading) -> None:
        """Take in a message: what it settles, answers and declines."""
        self.settled_now = []
        if reading.hands_over or (reading.gives_up and not reading.proposes and not reading.questions):
            for place in self.open:
                self._set(place, "declined")
            return
        if reading.affirms:
            for place in [place for place in self.checks if self.status[place] == "open"]:
                self._set(place, "settled")
        self.checks = []
        self._hear_reports(reading)
        if not (reading.proposes and self.on_standby(reading.proposed)):
            self._hear_declines(reading)
        self._hear_answers(reading)
        if self.settled_now:
            self.agreed = [place for place in self.agreed if self.status[place] in ("open", "standby")]

    def _set(self, place: int, status: Status) -> None:
        self.status[place] = status
        self.settled_now.append(place)

    def _hear_reports(self, reading: Reading) -> None:
        asking = reading.proposes or bool(reading.asked)
        for sentence in reading.reports:
            for place in self._reported(sentence, asking=asking):
                self._set(place, "settled")
        if reading.claims_all and not asking:
            for place in [place for place in self.open_deeds if self.voiced[place]]:
                self._set(place, "settled")

    def _reported(self, sentence: Sentence, *, asking: bool) -> list[int]:
        """The open errands that a report settles."""
        done = deeds_of(sentence.text)
        enough = max([LIKE_ENOUGH, *(self._likeness(place, sentence) + 1 for place in self.agreed)])
        waiting = [p for p in self.open_deeds if self.voiced[p] or self._likeness(p, sentence) >= enough]
        strong = [place for place in waiting if self._matches(place, sentence, done)]
        agreed_to = self._agreed_to(sentence, done)
        if strong or agreed_to:
            # What has nothing of an errand but the verb is of what was agreed to.
            strong = [place for place in strong if not agreed_to or self._likeness(place, sentence)]
            meant = frozenset().union(*(deeds_of(self.errands[place].whole) for place in agreed_to))
            strong = [place for place in strong if deeds_of(self.errands[place].whole) & done - meant or not agreed_to]
            strong = strong if wording("both").search(sentence.text) else self._without_twins(strong, done)
            return [*strong, *agreed_to]
        waiting += self.on_standby(self.agreed)
        if sentence.is_brief:
            waiting = [place for place in waiting if not strong_deeds_of(self.errands[place].whole)]
        if not waiting or sentence.is_on_the_way or self._is_of_the_past(sentence, done):
            return []
        best = max(waiting, key=lambda place: self._likeness(place, sentence))
        likeness = self._likeness(best, sentence)
        if sentence.is_brief:
            return [best] if likeness >= LIKE_ENOUGH else []
        said, wanted = strong_deeds_of(sentence.text), strong_deeds_of(self.errands[best].whole)
        if said and wanted and not done & deeds_of(self.errands[best].whole) and best not in self.agreed:
            return []
        agreed = [place for place in self.agreed if place in waiting]
        if agreed and (likeness < LIKE_ENOUGH or any(self._likeness(place, sentence) for place in agreed)):
            return agreed
        is_alike = likeness >= LIKE_ENOUGH and likeness > self._likeness(waiting[0], sentence)
        if not asking and not is_alike and wording("finished").search(sentence.text):
            return waiting[:1]
        return [best] if likeness >= (LIKE_ENOUGH if asking else 1) else []

    def _without_twins(self, places: Sequence[int], done: frozenset[str]) -> list[int]:
        """Of errands that one deed of a report would settle alike the one agreed to, or the first: it is of one."""
        kept: list[int] = []
        for place in sorted(places, key=lambda place: (place not in self.agreed, place)):
            deeds = deeds_of(self.errands[place].whole) & done
            if not any(deeds & deeds_of(self.errands[other].whole) for other in kept):
                kept.append(place)
        return sorted(kept)

    def _agreed_to(self, sentence: Sentence, done: frozenset[str]) -> list[int]:
        """What the user only agrees to and a report is of; of several those whose deed it names, or the likest."""
        found = [place for place in self.on_standby(range(len(self.errands))) if self._is_of(place, sentence, done)]
        if len(found) < 2:
            return found
        named = [place for place in found if deeds_of(self.errands[place].whole) & done]
        return named or [max(found, key=lambda place: self._likeness(place, sentence))]

    def _is_of(self, place: int, sentence: Sentence, done: frozenset[str]) -> bool:
        """Whether a report is of what the user only agrees to, rather than of what they ask for."""
        rivals = [other for other in self.open_deeds if deeds_of(self.errands[other].whole) & done]
        mine = self._likeness(place, sentence)
        is_its_deed = bool(deeds_of(self.errands[place].whole) & done)
        if place in self.agreed:
            nearest = max((self._likeness(other, sentence) for other in rivals), default=0)
            # Who names nothing but the deed says it of what was agreed to last.
            return mine > nearest or (is_its_deed and (mine > 0 or nearest == 0))
        return is_its_deed and mine > max((self._likeness(other, sentence) for other in rivals), default=0)

    def _matches(self, place: int, sentence: Sentence, done: frozenset[str]) -> bool:
        """Whether a report is of that errand: of its deed and, where several have it, of its thing."""
        words = self.errands[place].whole
        if not deeds_of(words) & done:
            return False
        is_sure = bool(strong_deeds_of(words) & strong_deeds_of(sentence.text))
        if not is_sure and (sentence.is_on_the_way or not self._likeness(place, sentence)):
            return False
        rivals = [other for other in range(len(self.errands)) if other != place and self.errands[other].kind == "do"]
        rivals = [other for other in rivals if deeds_of(self.errands[other].whole) & done]
        rivals = [o for o in rivals if self.status[o] != "standby" or deeds_of(self.errands[o].whole) & deeds_of(words)]
        mine = self._likeness(place, sentence)
        if not rivals:
            return mine > 0 or len(self.open_deeds) == 1 or place in self.agreed or not stems(sentence.text)
        best = max(self._likeness(other, sentence) for other in rivals)
        return mine > best or (mine == best and (place in self.agreed or place == min(self.open_deeds)))

    def _likeness(self, place: int, sentence: Sentence) -> int:
        return len(stems(self.errands[place].whole) & stems(sentence.text))

    def _is_of_the_past(self, sentence: Sentence, done: frozenset[str]) -> bool:
        """Whether it repeats what was settled before."""
        settled = [place for place, status in enumerate(self.status) if status == "settled"]
        return any(deeds_of(self.errands[p].whole) & done and self._likeness(p, sentence) > 1 for p in settled)

    def _hear_declines(self, reading: Reading) -> None:
        for sentence in reading.declines:
            is_all: list[int] = []
            named = [p for p in self.open if self._is_declined(p, sentence)]
            is_known = any(s == "declined" and self._is_declined(p, sentence) for p, s in enumerate(self.status))
            if wording("declines_all").search(sentence.text):
                named = is_all = named or self.open_deeds
            for place in is_all or named[:1] or ([] if is_known else self._declined_unnamed(sentence)):
                self._set(place, "declined")
        if reading.declines:
            for place in self.open:
                if self._falls_away(place):
                    self._set(place, "declined")

    def _declined_unnamed(self, sentence: Sentence) -> list[int]:
        """What a decline is of that names no errand: what was agreed last, unless it is of something else."""
        said = strong_deeds_of(sentence.text)
        is_other = bool(said) and not any(said & deeds_of(errand.whole) for errand in self.errands)
        if is_other and self.agreed == [] and not any(self._likeness(p, sentence) for p in self.open):
            return []
        return ([place for place in self.agreed if place in self.open] or self.open)[:1]

    def _falls_away(self, place: int) -> bool:
        """Whether it hangs on a deed that was declined: what comes of it, or the bill for it."""
        before = [p for p in range(place) if self.errands[p].kind == "do"]
        if not before or self.status[before[-1]] != "declined":
            return False
        return self.errands[place].kind == "hear" or wording("that_one").search(self.errands[place].words) is not None

    def _is_declined(self, place: int, sentence: Sentence) -> bool:
        errand = self.errands[place]
        shares = self._likeness(place, sentence) > 0
        return bool(deeds_of(errand.whole) & deeds_of(sentence.text)) if errand.kind == "do" else shares

    def _hear_answers(self, reading: Reading) -> None:
        """An answer counts once nothing is to be done before it."""
        if reading.asked:
            return
        is_asked_for = not self.settled_now
        telling = [s for s in reading.sentences if s.tells and not (s.asks or s.offers or s.is_rule)]
        for sentence in telling:
            waiting = [place for place in self.open if self.errands[place].kind == "hear" and self.voiced[place]]
            waiting = [place for place in waiting if not any(other < place for other in self.open_deeds)]
            fitting = [
                place
                for place in waiting
                if is_answer(self.errands[place].words, sentence, self.topics, is_asked_for=is_asked_for)
            ]
            scores = {place: overlap(self.errands[place].words, sentence) for place in fitting}
            best = max(scores.values(), default=0)
            if (reading.proposes and best == 0) or self._goes_on(sentence, best):
                continue
            chosen = [place for place in fitting if scores[place] == best]
            several = len(sentence.mentions.numbers) + len(sentence.mentions.days) >= len(fitting) > 1
            several = several and all(is_spoken_of(self.errands[place].words, sentence) for place in fitting)
            for place in fitting if several else chosen[:1]:
                self._set(place, "settled")

    def _goes_on(self, sentence: Sentence, best: int) -> bool:
        """Whether it says more of what was answered before, rather than something new."""
        answered = [p for p, status in enumerate(self.status) if status == "settled" and self.errands[p].kind == "hear"]
        return any(overlap(self.errands[place].words, sentence) > best for place in answered)
