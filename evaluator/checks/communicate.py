"""Whether the user was told what they asked for, by value.

A fact counts as told iff a form of its value stands in words of the agent that came after the first result that holds
the value, or the last of the parts from which it is computed: before it nobody could know. Of the agent's messages the
last one that holds the value or a rival of it decides: the value has to be there, with at most two rivals beside it, or
the user has to answer with the value and no rival, who then has found it. Parts are no rivals: people explain sums.
Reading stops there. Where the user has several errands, it is enough to have told the fact in this way by a later write
or by what the user tells next: what is said of another errand may be a rival.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from evaluator.replay.execution import ExecutedCall
from evaluator.replay.trial import Trial
from evaluator.text.facts import states_value
from evaluator.text.tokens import tokens
from skillweave.schema.criteria import FactToTell
from skillweave.schema.record import Json
from skillweave.schema.score import CommunicateCheck
from skillweave.schema.trajectory import Message

ERRANDS = "errands"
"""The form of a request that has several errands."""
MOST_UNHEARD = 5
"""Most figures of a sentence that no result has shown and the user has not said, where a value has to be worked out."""
MOST_UNHEARD_IN_ALL = 20
"""The same of a message."""
_SENTENCE = re.compile(r"[.!?;:](?=\s)|\n")
MOST_RIVALS = 2
"""Most rival values that a message may give beside the right one."""


def check_communicate(
    facts: Sequence[FactToTell],
    messages: Sequence[Message],
    steps: Sequence[ExecutedCall],
    now: str = "",
    ends: Sequence[int] = (),
) -> CommunicateCheck:
    """The share of the facts that were told; 1 where there is nothing to tell.

    Args:
        messages: The conversation.
        steps: Its calls, with what they returned.
        now: The clock, from which `tomorrow` counts.
        ends: Positions of messages by which an errand may have ended.
    """
    missing = [fact.fact for fact in facts if telling_message(fact, messages, steps, now, ends) is None]
    return CommunicateCheck.model_construct(score=1 - len(missing) / len(facts) if facts else 1.0, missing=missing)


def ends_of_errands(trial: Trial) -> list[int]:
    """Positions of messages by which the talk may have gone over to another of several errands: those that write, and
    those in which the user tells more of what they want. None where the user has one errand."""
    if all(form.name != ERRANDS for form in trial.task.forms):
        return []
    wishes = [turn.message for turn in trial.turns[1:] if turn.tells]
    writes = [step.message for step in trial.execution.calls if any(step.result.changed)]
    return sorted({*writes, *wishes})


def telling_message(
    fact: FactToTell,
    messages: Sequence[Message],
    steps: Sequence[ExecutedCall],
    now: str = "",
    ends: Sequence[int] = (),
) -> int | None:
    """The position of the message that tells the fact; None where none does."""
    mentions = {last_mention(fact, messages[:end], now) for end in [*ends, len(messages)]} - {None}
    known = known_since(fact, steps) if mentions else None
    if known is None:
        return None
    telling = [at for at in mentions if at is not None and at > known and _tells(fact, messages, at, now)]
    if (fact.foreseen or fact.parts) and telling:
        telling = [at for at in telling if not _is_hedged(fact, messages, at, steps)]
    return max(telling, default=None)


def last_mention(fact: FactToTell, messages: Sequence[Message], now: str = "") -> int | None:
    """The position of the agent's last message that holds the fact's value or a rival of it; None if none does."""
    for place in reversed(range(len(messages))):
        message = messages[place]
        is_heard = message.role == "assistant" and bool((message.content or "").strip())
        if is_heard and (_holds(fact, messages, place, now) or _has_rival(fact, messages, place, now)):
            return place
    return None


def known_since(fact: FactToTell, steps: Sequence[ExecutedCall]) -> int | None:
    """The position of the message whose call returned the value, or the last of its parts, for the first time; -1 where
    no result has to show it, None where something was never returned."""
    places = [_first_returned(values, steps) for values in fact.shown]
    known = [place for place in places if place is not None]
    return max(known, default=-1) if len(known) == len(places) else None


def _first_returned(values: Sequence[Json], steps: Sequence[ExecutedCall]) -> int | None:
    """The position of the message whose call first returned one of the values."""
    return next((step.message for step in steps if step.ok and _returns(step.result.value, values)), None)


def _tells(fact: FactToTell, messages: Sequence[Message], place: int, now: str) -> bool:
    if not _holds(fact, messages, place, now):
        return False
    return sum(_said_rivals(fact, messages, place, now)) <= MOST_RIVALS or _is_taken_up(fact, messages, place, now)


def _is_hedged(fact: FactToTell, messages: Sequence[Message], place: int, steps: Sequence[ExecutedCall]) -> bool:
    """Whether a message gives a value that no result shows among many figures that nobody has heard of.

    Whoever works it out says what it follows from; whoever guesses says many that it could be.
    """
    shown = {abs(cell) for step in steps for cell in _numbers(step.result.value)}
    heard = " ".join(one.content for one in messages[:place] if one.role == "user" and one.content)
    sourced = {number for cell in shown for number in (Decimal(cell), Decimal(cell) / 100)}
    sourced |= {token.number for token in tokens(heard) if token.number is not None}
    sourced |= {Decimal(value) / 100 for value in fact.values if isinstance(value, int)}
    unheard = set[Decimal]()
    for sentence in _SENTENCE.split(messages[place].content or ""):
        figures = {token.number for token in tokens(sentence) if token.number is not None and not token.days} - sourced
        unheard |= figures
        if len(figures) > MOST_UNHEARD:
            return True
    return len(unheard) > MOST_UNHEARD_IN_ALL


def _numbers(value: Json) -> Iterator[int]:
    """The whole numbers in a result, at any level."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)


def _is_taken_up(fact: FactToTell, messages: Sequence[Message], place: int, now: str) -> bool:
    """Whether the user answers a message with the value and with no rival."""
    answer = next((at for at in range(place + 1, len(messages)) if messages[at].role == "user"), None)
    if answer is None:
        return False
    return _holds(fact, messages, answer, now) and not _has_rival(fact, messages, answer, now)


def _holds(fact: FactToTell, messages: Sequence[Message], place: int, now: str) -> bool:
    return any(_said(fact, fact.values, messages, place, now))


def _has_rival(fact: FactToTell, messages: Sequence[Message], place: int, now: str) -> bool:
    return any(_said_rivals(fact, messages, place, now))


def _said_rivals(fact: FactToTell, messages: Sequence[Message], place: int, now: str) -> Iterator[bool]:
    rivals = [value for value in fact.rivals if value not in [*fact.values, *fact.parts]]
    return _said(fact, rivals, messages, place, now)


def _said(
    fact: FactToTell, values: Sequence[Json], messages: Sequence[Message], place: int, now: str
) -> Iterator[bool]:
    """Whether a message says each of the values."""
    earlier = [one.content for one in messages[:place] if one.role in ("user", "assistant") and one.content]
    text = messages[place].content or ""
    for value in values:
        yield states_value(text, value, type=fact.type, unit=fact.unit, now=now, earlier=earlier)


def _returns(value: Json, wanted: Sequence[Json]) -> bool:
    """Whether one of the values stands in a result, at any level."""
    parts = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if any(one in parts for one in wanted) and any(
        part == one and type(part) is type(one) for part in parts for one in wanted
    ):
        return True
    return not _NESTED.isdisjoint(map(type, parts)) and any(
        _returns(part, wanted) for part in parts if isinstance(part, (dict, list))
    )


_NESTED = frozenset({dict, list})
