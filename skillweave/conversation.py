"""Where a conversation ends: with the user's message that holds the mark of leaving. What follows was never heard."""

from collections.abc import Sequence

from skillweave.schema.message import Message

STOP = "###STOP###"
"""What a user writes when it leaves."""


def until_end(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages up to the one with which the user leaves; all of them where it does not."""
    for place, message in enumerate(messages):
        if message.role == "user" and STOP in (message.content or ""):
            return messages[: place + 1]
    return messages
