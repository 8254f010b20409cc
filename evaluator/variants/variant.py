"""A variant: a conversation derived from a task's golden calls, with what an evaluator must say of it."""

from collections.abc import Iterable
from typing import NamedTuple

from evaluator.variants.transcript import Conversation
from skillweave.schema.message import Message
from skillweave.schema.result import FailureClass
from skillweave.schema.trajectory import StopReason, UserTurn


class Variant(NamedTuple):
    """What is to be said of it is known from how it was made, and by execution; no check was asked."""

    name: str
    """Its sort: `write_left_out`. A task may have several of one sort."""
    messages: list[Message]
    """The whole conversation."""
    turns: list[UserTurn]
    """What the user recorded of each of their messages."""
    stop_reason: StopReason
    """What ended it."""
    classes: frozenset[FailureClass]
    """What it may be called as a failure; empty: it passes."""

    @property
    def passes(self) -> bool:
        """Whether an evaluator must pass it."""
        return not self.classes


def passing(name: str, held: Conversation, stop_reason: StopReason = "user_stop") -> Variant:
    """A variant that does what the task asks."""
    return Variant(name, held.messages, held.turns, stop_reason, frozenset())


def failing(
    name: str, held: Conversation, classes: Iterable[FailureClass], stop_reason: StopReason = "user_stop"
) -> Variant:
    """A variant that does not, and what it may be called."""
    return Variant(name, held.messages, held.turns, stop_reason, frozenset(classes))
