"""The agent that does nothing: polite, and of no use. Whatever passes with it is not worth a task."""

from random import Random

from skillweave.llm.request import Reply, Request

_WORDS = (
    "Thank you for your message.",
    "I hear you, and thank you for your patience.",
    "I understand. Thank you for getting in touch.",
    "That is good to know, thank you.",
    "I see. How kind of you to write.",
    "Thank you, I have taken note of that.",
)


def nothing(request: Request, seed: int) -> Reply:
    """Words, and no more."""
    return Reply(text=Random(f"{seed}/{request.key}/{len(request.messages)}/nothing").choice(_WORDS), model="nothing")
