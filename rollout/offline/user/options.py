"""Options: which of several things that an agent lists is the one that the user means."""

from collections.abc import Sequence
from typing import NamedTuple

from evaluator.words.mentions import mentions
from rollout.offline.user.lexicon import stems
from rollout.offline.user.topics import Topic
from rollout.user.telling.fact_words import is_said


class Choice(NamedTuple):
    number: int
    """Of the option, from 1; 0 where it is none of them, or more than one fits."""
    topics: Sequence[Topic]
    """What the user says of it."""


def choose(options: Sequence[str], topics: Sequence[Topic]) -> Choice | None:
    """The option that holds more of the user's facts than any other; nothing where several fit alike."""
    rows = [topic for topic in topics if topic.is_row]
    facts = rows or [topic for topic in topics if not topic.is_own]
    if not options or not facts:
        return None
    held = [[topic for topic in facts if _holds(option, topic)] for option in options]
    most = max(len(found) for found in held)
    best = [number for number, found in enumerate(held, start=1) if len(found) == most]
    if not most:
        return Choice(0, rows[:2]) if rows else None
    return Choice(best[0], held[best[0] - 1]) if len(best) == 1 else None


def _holds(option: str, topic: Topic) -> bool:
    if topic.moment is not None:
        return topic.is_day_of(mentions(option).days)
    value = str(topic.fact.value)
    return is_said(topic.fact, option) or (bool(stems(value)) and stems(value) <= stems(option))
