"""The answer that tells a task in words (s17)."""

from skillweave.schema.telling import Request, Telling
from synth.offline.answers.asked import Asked
from synth.offline.language.teller import Teller


def tell(asked: Asked) -> Telling:
    """A task in the persona's words."""
    talk = asked.variant(asked.get("server", str)).rendered.talk
    return Teller(asked.get("request", Request), talk, asked.random).tell()
