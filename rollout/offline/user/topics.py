"""Topics: which of the user's facts a question is after.

A question names a fact by the last part of its id (`date of birth`), by its record (`which invoice`), or by offering
its value among others (`card or bank transfer?`). What it names beside these, the user does not know.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property

from evaluator.words.mentions import Day, mentions
from rollout.offline.user.lexicon import WORD, asked_as, lexicon, moments, stem, stems, wording
from rollout.user.telling.fact_words import LABELLED, MINE, is_said
from skillweave.schema.task import Fact

_MOMENT_ENDINGS = ("_at", "_on", "check_in", "check_out", "_date", "_until", "_from")
_OF_COMPANY = re.compile(r"(?P<what>.+?) for (?P<company>[A-Z].*)")
_PAYS = re.compile(r"I pay (?P<company>[A-Z].+?) (?:by|with|from|out of|in) ")
_ENDS = re.compile(r"(?:return|end|check_out|latest|until|to)\b|ends_|return_|new_return|valid_until|latest_on|expires")


@dataclass(frozen=True)
class Topic:
    """A fact as something to be asked for."""

    fact: Fact

    @cached_property
    def record(self) -> str:
        """`invoice` of `invoice_2.starts_at`; `me` for the user's own."""
        return re.sub(r"_\d+$", "", self.fact.id.partition(".")[0])

    @cached_property
    def column(self) -> str:
        """`starts_at`."""
        return re.sub(r"_\d+$", "", self.fact.id.partition(".")[2] or self.fact.id)

    @property
    def is_own(self) -> bool:
        """Whether it identifies the user."""
        return self.record == "me"

    @property
    def is_moment(self) -> bool:
        """Whether it is a date or time."""
        value = self.fact.value
        is_date = isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value) is not None
        return is_date or self.column.endswith(_MOMENT_ENDINGS)

    @cached_property
    def moment(self) -> datetime | None:
        """Its value as a date or time."""
        value = self.fact.value
        try:
            return datetime.fromisoformat(value) if isinstance(value, str) and value[4:5] == "-" else None
        except ValueError:
            return None

    def is_day_of(self, days: Sequence[Day]) -> bool:
        """Whether it is a date or time on one of these days."""
        return self.moment is not None and any(day.is_day(self.moment.date()) for day in days)

    def is_in(self, text: str) -> bool:
        """Whether a text says it."""
        return is_said(self.fact, text) or self.is_day_of(mentions(text).days)

    def is_misquoted(self, text: str) -> bool:
        """Whether a text that names it says another value of its sort."""
        if is_said(self.fact, text):
            return False
        if self.moment is not None:
            days = mentions(text).days
            return bool(days) and not self.is_day_of(days)
        return "@" in str(self.fact.value) and "@" in text

    @property
    def is_end(self) -> bool:
        """Whether it is the end of something that lasts."""
        return self.is_moment and _ENDS.search(self.column) is not None

    @property
    def is_row(self) -> bool:
        """Whether it tells one record from others."""
        return self.fact.value is not None and self.fact.text.startswith(("It is my ", "It is the "))

    @cached_property
    def record_stems(self) -> frozenset[str]:
        """Of the words that name its record."""
        noun = re.match(r"^It is (?:my|the) (.+)$", self.fact.text)
        said = WORD.findall(noun.group(1).lower())[:8] if noun else []
        named = {stem(word) for word in self.record.split("_")}
        return frozenset(named | ({stem(word) for word in said} & _things()))

    @cached_property
    def column_stems(self) -> frozenset[str]:
        """Of the words that name what of its record it is."""
        words = [*self.column.split("_"), *WORD.findall(self._label.partition(f" for {self.company}")[0].lower())]
        return frozenset(stem(word) for word in words if word not in lexicon()["empty"])

    @cached_property
    def company(self) -> str:
        """Whom it is for, where several companies are asked: `Smile Dental` of `Method for Smile Dental: card.`, and of
        `I pay Smile Dental by card.`"""
        found = _OF_COMPANY.fullmatch(self._label) or _PAYS.match(self.fact.text)
        return found["company"] if found else ""

    @property
    def _label(self) -> str:
        match = LABELLED.match(self.fact.text) or MINE.match(self.fact.text)
        return match["label"] if match else ""


def topics_of(question: str, topics: Sequence[Topic]) -> list[Topic]:
    """The facts that a question is after; empty where it names none of them."""
    question = wording("sent_by").sub(" ", question)
    own = [topic for topic in topics if topic.is_own and _names(topic, question)]
    rest = question
    for topic in own:
        pattern = asked_as(topic.column)
        rest = pattern.sub(" ", rest) if pattern else rest
    if not own and wording("identity").search(question):
        own = [topic for topic in topics if topic.is_own]
    if own and not _is_more_than_identity(rest):
        return own
    others = [topic for topic in topics if not topic.is_own]
    named = [topic for topic in others if _names(topic, rest)]
    if own:
        said = stems(rest)
        named = [topic for topic in named if not topic.is_moment or topic.record_stems & said]
    named = _of_the_record(named, rest) or _of_record(others, rest)
    return [*own, *(named or _among_choices(others, rest))]


def of_company(found: Sequence[Topic], text: str) -> list[Topic]:
    """The facts without those for another company, where one of the sort is for a company that the text names."""
    named = {topic.column for topic in found if topic.company and topic.company.lower() in text.lower()}
    return [one for one in found if one.column not in named or one.company.lower() in text.lower()]


def _names(topic: Topic, question: str) -> bool:
    pattern = asked_as(topic.column)
    if pattern is not None and pattern.search(question):
        return True
    if pattern is not None and topic.is_own:
        return False
    if topic.is_moment and moments().search(question):
        return _is_that_end(topic, question)
    if topic.fact.value is None and not topic.column_stems & stems(question):
        return False
    return bool(topic.column_stems & stems(question))


def _is_that_end(topic: Topic, question: str) -> bool:
    """Of a stay or a rental: whether the question is after that one of its two ends."""
    ends = _ENDS.search(topic.column) is not None
    if wording("end_asked").search(question) and not wording("start_asked").search(question):
        return ends
    if wording("start_asked").search(question) and not wording("end_asked").search(question):
        return not ends
    return True


def _of_the_record(named: Sequence[Topic], question: str) -> list[Topic]:
    """Those whose record the question names, where it names one of them."""
    said = stems(question)
    closer = [topic for topic in named if topic.record_stems & said]
    new = [topic for topic in named if topic.fact.text.startswith("It is the ")]
    if not closer and new and wording("moved_to").search(question):
        return new
    return closer or list(named)


def _of_record(topics: Sequence[Topic], question: str) -> list[Topic]:
    """All that is known of a record that the question is about."""
    if not wording("about_record").search(question) and not wording("record_id").search(question):
        return []
    if wording("all_details").search(question):
        return [topic for topic in topics if topic.fact.value is not None]
    said = stems(question)
    return [topic for topic in topics if topic.is_row and topic.record_stems & said]


def _among_choices(topics: Sequence[Topic], question: str) -> list[Topic]:
    return [topic for topic in topics if " or " in question and topic.is_in(question)]


def _is_more_than_identity(question: str) -> bool:
    """Whether a question after credentials goes on to something else."""
    return len(re.findall(r"\?|\b(?:which|what|when|how)\b", question, re.IGNORECASE)) > 1


@cache
def _things() -> frozenset[str]:
    return frozenset(stem(word) for word in lexicon()["things"].split())
