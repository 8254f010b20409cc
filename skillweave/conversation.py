"""Where a conversation ends: with the message with which the user leaves. What follows was never heard."""

from collections.abc import Iterable, Sequence

from skillweave.schema.message import Message
from skillweave.schema.trajectory import UserTurn

STOP = "###STOP###"
"""What a user writes when it leaves, where it answers in plain text and keeps no record."""


def until_end(messages: Sequence[Message], turns: Iterable[UserTurn] = ()) -> Sequence[Message]:
    """The messages up to the one with which the user leaves; all of them where it does not."""
    left = {turn.message for turn in turns if turn.done}
    for place, message in enumerate(messages):
        if message.role == "user" and (place in left or STOP in (message.content or "")):
            return messages[: place + 1]
    return messages
