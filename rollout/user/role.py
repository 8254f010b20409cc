"""Role: whom a simulated user plays, made from what the user may know: golden calls and criteria never enter it."""

from dataclasses import dataclass

from rollout.user.telling.errands import Errand
from skillweave.schema.task import Persona, Scenario


@dataclass(frozen=True)
class Role:
    persona: Persona
    scenario: Scenario
    opening: str
    """The first message."""
    prompt: str
    """How to play this user, in prose, for a model."""
    company: str
    """Whom the user writes to."""
    now: str
    """The clock, `YYYY-MM-DD HH:MM:SS`."""
    signed_in: bool
    """Whether the channel has identified the user already."""
    telling: str = "written"
    """In which order the user tells what they know; one of `rollout.user.telling.telling.TELLINGS`."""
    errands: tuple[Errand, ...] = ()
    """What the user asks for, in their own words; empty: to be read from the goal."""
