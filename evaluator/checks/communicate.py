"""Whether the user was told what they asked for.

A fact counts as told iff it stands in the agent's last statement of it: in an assertion of an assistant message, never
in a tool call, a question or the user's own words. A clause states a fact if it holds a word of its noun and a value of
its kind; or, where none of the message does, if it gives its very value or a rival's and names it otherwise (by a word
of the question, of the row, or for money a word of paying). The only fact asked for needs no name. Of a message that
gives a rival, alternatives, or two plain statements that differ, nothing is told.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from evaluator.words.assertions import folded, sentences
from evaluator.words.clauses import Clause, may_state, read_clauses
from evaluator.words.moments import moment_of
from evaluator.words.stems import content_words
from evaluator.words.wanted import Wanted, wanted
from skillweave.schema.message import Message
from skillweave.schema.score import CommunicateCheck
from skillweave.schema.task import FactToTell

__all__ = ["Statement", "check_communicate", "content_words", "statements"]

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


def check_communicate(facts: Sequence[FactToTell], messages: Sequence[Message], now: str = "") -> CommunicateCheck:
    """The share of the facts that were told; 1 where there is nothing to tell. `now` is what `tomorrow` starts from."""
    today = _day(now)
    missing = [fact.fact for fact in facts if not _is_told(fact, messages, len(facts) == 1, today)]
    return CommunicateCheck(score=1 - len(missing) / len(facts) if facts else 1.0, missing=missing)


def statements(fact: FactToTell, messages: Sequence[Message], *, alone: bool, now: str = "") -> list[Statement]:
    """All sentences in which the agent states the fact, rightly or not, in order; `alone`: no other is asked for."""
    look, today = wanted(fact), _day(now)
    return [
        Statement(place, clause.text, right)
        for place, message in enumerate(messages)
        for clause, right in _stated(look, message, alone, today)
    ]


def _is_told(fact: FactToTell, messages: Sequence[Message], alone: bool, today: date | None) -> bool:
    look = wanted(fact)
    for message in reversed(messages):
        stated = _stated(look, message, alone, today)
        if stated:
            return stated[-1][1]
    return False


def _day(now: str) -> date | None:
    moment = moment_of(now) if now else None
    return moment.date() if moment and date.min.year < moment.year < date.max.year else None


def _stated(look: Wanted, message: Message, alone: bool, today: date | None) -> list[tuple[Clause, bool]]:
    """The clauses of a message that state the fact, and whether each of them tells it."""
    if message.role != "assistant" or not message.content:
        return []
    text = folded(message.content)
    if not may_state(look, text):
        return []
    stating = _stating(look, read_clauses(look, sentences(text), today), alone=alone)
    is_spoiled = _is_spoiled(stating)
    return [(clause, not is_spoiled and _is_right(clause)) for clause in stating]


def _stating(look: Wanted, clauses: Sequence[Clause], *, alone: bool) -> list[Clause]:
    giving = [clause for clause in clauses if _gives(look, clause)]
    named = [clause for clause in giving if clause.naming]
    if not named:
        return [clause for clause in giving if _is_unnamed_statement(look, clause, alone=alone)]
    most = max(len(clause.naming) for clause in named)
    has_head = any(clause.naming & look.head for clause in named)
    return [clause for clause in named if clause.is_corrected or _is_called(look, clause, most, has_head=has_head)]


def _gives(look: Wanted, clause: Clause) -> bool:
    """Whether it gives a value of the kind; a bare number among other words may be none."""
    if not clause.given:
        return look.is_text and clause.is_corrected and bool(clause.naming)
    if not clause.foreign or clause.is_corrected or any(one.is_known for one in clause.given):
        return True
    return bool(clause.naming & look.telling) and not all(one.is_doubtful for one in clause.given)


def _is_called(look: Wanted, clause: Clause, most: int, *, has_head: bool) -> bool:
    """Whether no other clause of the message is called by more of the noun."""
    if has_head and not clause.naming & look.head:
        return False
    return len(clause.naming) == most or not clause.foreign


def _is_unnamed_statement(look: Wanted, clause: Clause, *, alone: bool) -> bool:
    if not clause.foreign and (alone or clause.is_corrected):
        return True
    knows = any(one.is_known and (look.is_number or not one.is_doubtful) for one in clause.given)
    return knows and (alone or bool(clause.words & look.others))


def _is_spoiled(stating: Sequence[Clause]) -> bool:
    """Whether so much is stated that one of it had to be right, or the statements differ."""
    since = max((place for place, clause in enumerate(stating) if clause.is_corrected), default=0)
    counted = stating[since:]
    given = [candidate for clause in counted for candidate in clause.given]
    if any(candidate.is_rival for candidate in given):
        return True
    if len({candidate.key for clause in stating for candidate in clause.given}) > MOST_VALUES:
        return True
    if len(counted) < 2:
        return False
    plain = [clause for clause in counted if clause.given and not clause.foreign]
    return any(_is_right(clause) for clause in counted) and not all(
        any(candidate.is_right for candidate in clause.given) for clause in plain
    )


def _is_right(clause: Clause) -> bool:
    return any(candidate.is_right for candidate in clause.given) and not clause.is_choice
