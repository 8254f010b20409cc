"""Whether the user was told what they asked for.

A fact counts as told iff it stands in the agent's last statement of it: in an assertion of an assistant message, never
in a tool call, a question or the user's own words. A clause states a fact if it holds a word of its noun and a value of
its kind; or, where none of the message does, if it gives its very value or a rival's and names it otherwise (by a word
of the question, of the row, or for money a word of paying). The only fact asked for needs no name. Of a message that
gives a rival or its kin, alternatives, or two plain statements that differ, nothing is told; a value that the words at
it give another role (the start, where the end was asked for) is none of the fact's. What is said later overturns.
"""

from collections.abc import Sequence
from datetime import date
from functools import cached_property
from typing import NamedTuple

from evaluator.words.assertions import sentences
from evaluator.words.clauses import Clause, may_state, read_clauses, unread_clause
from evaluator.words.corrections import may_correct
from evaluator.words.markup import LONGEST, folded
from evaluator.words.moments import moment_of
from evaluator.words.stems import content_words
from evaluator.words.wanted import Kin, Wanted, wanted
from skillweave.schema.message import Message
from skillweave.schema.score import CommunicateCheck
from skillweave.schema.task import FactToTell

__all__ = ["Statement", "check_communicate", "content_words", "statements"]

_QUOTE = ">"
MOST_VALUES = 6
"""Different values of its kind that an answer may give beside each other (a price, its discount, a fee, a total)."""


class Statement(NamedTuple):
    """A sentence in which the agent states a fact."""

    message: int
    """Position of its message."""
    text: str
    """Without markup."""
    right: bool
    """Whether the fact is told by it."""


def check_communicate(
    facts: Sequence[FactToTell], messages: Sequence[Message], now: str = "", kin: Kin | None = None
) -> CommunicateCheck:
    """The share of the facts that were told; 1 where there is nothing to tell. `now` is what `tomorrow` starts from.

    `kin` gives the other values of the text columns that hold a value; without it names are told from each other only
    by the fact's own rivals.
    """
    today, alone = _day(now), len(facts) == 1
    missing = [fact.fact for fact in facts if not _Hearing(wanted(fact, kin), messages, alone, today).is_told]
    return CommunicateCheck(score=1 - len(missing) / len(facts) if facts else 1.0, missing=missing)


def statements(
    fact: FactToTell, messages: Sequence[Message], *, alone: bool, now: str = "", kin: Kin | None = None
) -> list[Statement]:
    """All sentences in which the agent states the fact, rightly or not, in order; `alone`: no other is asked for."""
    hearing = _Hearing(wanted(fact, kin), messages, alone, _day(now))
    return [
        Statement(place, clause.text, right)
        for place in range(len(messages))
        for clause, right in hearing.stated(place)
    ]


def _day(now: str) -> date | None:
    moment = moment_of(now) if now else None
    return moment.date() if moment and date.min.year < moment.year < date.max.year else None


class _Hearing:
    """One fact in one conversation."""

    def __init__(self, look: Wanted, messages: Sequence[Message], alone: bool, today: date | None) -> None:
        self._look = look
        self._messages = messages
        self._alone = alone
        self._today = today

    @property
    def is_told(self) -> bool:
        """Whether the last statement tells it."""
        for place in reversed(range(len(self._messages))):
            stated = self.stated(place)
            if stated:
                return stated[-1][1]
        return False

    def stated(self, place: int) -> list[tuple[Clause, bool]]:
        """The clauses of a message that state the fact, and whether each of them tells it."""
        message, look = self._messages[place], self._look
        if message.role != "assistant" or not message.content:
            return []
        stating = self._stating(message.content)
        unread = message.content[LONGEST:]
        if unread and not stating and may_state(look, unread):
            stating = [unread_clause(unread)]
        is_spoiled = bool(unread) or self._is_spoiled(stating)
        return [(clause, not is_spoiled and _is_right(clause)) for clause in stating]

    def _stating(self, content: str) -> list[Clause]:
        look, text = self._look, folded(content)
        if _QUOTE in text:
            text = self._without_quotes(text)
        corrects = may_correct(text)
        if not corrects and not may_state(look, text):
            return []
        stating = _stating(look, read_clauses(look, sentences(text), self._today, corrects=corrects), alone=self._alone)
        if any(map(_is_right, stating)):
            stating = [clause for clause in stating if not _is_of_other_role(look, clause)]
        return stating

    def _without_quotes(self, text: str) -> str:
        """The text without quoted lines that the user wrote."""
        lines = text.splitlines()
        return "\n".join(line for line in lines if line.lstrip()[:1] != _QUOTE or not self._is_the_users(line))

    def _is_the_users(self, line: str) -> bool:
        quoted = line.lstrip("> ").strip().casefold()
        return bool(quoted) and any(quoted in said for said in self._heard)

    @cached_property
    def _heard(self) -> list[str]:
        """What the user said."""
        return [folded(one.content).casefold() for one in self._messages if one.role == "user" and one.content]

    @cached_property
    def _known(self) -> frozenset[object]:
        """The values that the user said themself."""
        return frozenset(one.key for said in self._heard for one in self._look.read(said, self._today))

    def _is_spoiled(self, stating: Sequence[Clause]) -> bool:
        """Whether so much is stated that one of it had to be right, or the statements differ."""
        since = max((place for place, clause in enumerate(stating) if clause.is_corrected), default=0)
        counted = stating[since:]
        if any(self._has_rival(clause) for clause in counted):
            return True
        if len({candidate.key for clause in stating for candidate in clause.given}) > MOST_VALUES:
            return True
        return any(map(_is_right, counted)) and any(_differs(self._look, clause, counted) for clause in counted)

    def _has_rival(self, clause: Clause) -> bool:
        """Whether it gives a value of another row; one that the user named beside the right one says which row."""
        others = [one for one in clause.given if one.is_rival or one.is_kin]
        return bool(others) and not (_is_right(clause) and all(one.key in self._known for one in others))


def _stating(look: Wanted, clauses: Sequence[Clause], *, alone: bool) -> list[Clause]:
    giving = [clause for clause in clauses if clause.takes_back or _gives(look, clause)]
    named = [clause for clause in giving if clause.naming and clause.given]
    if not named:
        unnamed = [clause for clause in giving if _is_unnamed_statement(look, clause, alone=alone)]
        has_name = any(clause.words & look.names and _is_right(clause) for clause in unnamed)
        return [clause for clause in unnamed if not has_name or clause.words & look.names or not clause.foreign]
    most = max(len(clause.naming) for clause in named)
    has_head = any(clause.naming & look.head for clause in named if len(clause.naming) == most)
    return [clause for clause in giving if _is_statement(look, clause, most, has_head=has_head)]


def _is_statement(look: Wanted, clause: Clause, most: int, *, has_head: bool) -> bool:
    if clause.takes_back:
        return True
    if not clause.naming:
        return _corrects(look, clause) or (not clause.foreign and bool(clause.words & look.roles.synonyms))
    return clause.is_corrected or _is_called(look, clause, most, has_head=has_head)


def _gives(look: Wanted, clause: Clause) -> bool:
    """Whether it gives a value of the kind; a bare number among other words may be none."""
    if not clause.given:
        return False
    if not clause.foreign or clause.is_corrected or any(one.is_known for one in clause.given):
        return True
    return bool(clause.naming & look.telling) and not all(one.is_doubtful for one in clause.given)


def _is_called(look: Wanted, clause: Clause, most: int, *, has_head: bool) -> bool:
    """Whether no other clause of the message is called by more of the noun."""
    if has_head and not clause.naming & look.head:
        return False
    return len(clause.naming) == most or not clause.foreign


def _is_unnamed_statement(look: Wanted, clause: Clause, *, alone: bool) -> bool:
    if clause.takes_back or _corrects(look, clause) or (alone and not clause.foreign):
        return True
    if clause.foreign & look.other_nouns and not clause.words & (look.names | look.roles.synonyms):
        return False
    knows = any(one.is_known and (look.is_number or not one.is_doubtful) for one in clause.given)
    return knows and (alone or bool(clause.words & look.others))


def _differs(look: Wanted, clause: Clause, stating: Sequence[Clause]) -> bool:
    """Whether it gives the fact another value, and says nothing by which that could be another thing's."""
    if not clause.given or any(one.is_right for one in clause.given):
        return False
    if not clause.foreign:
        return True
    named = any(_is_right(other) and (other.words & look.names) - clause.words for other in stating)
    return bool(clause.naming & look.telling) and not named


def _is_of_other_role(look: Wanted, clause: Clause) -> bool:
    """Whether it gives something else than the fact, and says by a word what."""
    if not clause.given or clause.is_corrected or any(one.is_right or one.is_rival for one in clause.given):
        return False
    return bool(clause.foreign & look.other_roles)


def _corrects(look: Wanted, clause: Clause) -> bool:
    """Whether it gives another value for what was said before, and speaks of nothing else."""
    return clause.is_corrected and (not clause.foreign or bool(clause.words & look.roles.synonyms))


def _is_right(clause: Clause) -> bool:
    return any(candidate.is_right for candidate in clause.given) and not clause.is_choice
