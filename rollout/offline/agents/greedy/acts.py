"""What the greedy agent may do next, and what may come of a want."""

from typing import NamedTuple

from rollout.offline.agents.greedy.choosing import Answer
from rollout.offline.agents.offered import Argument, Offered
from skillweave.schema.record import Json


class Greet(NamedTuple):
    """Nothing is wanted yet."""


class Ask(NamedTuple):
    """Ask for values."""

    tool: Offered
    arguments: tuple[Argument, ...]


class Which(NamedTuple):
    """Ask which row is meant."""

    argument: str


class Propose(NamedTuple):
    """Say what is going to be done."""

    tool: Offered
    arguments: dict[str, Json]


class Call(NamedTuple):
    tool: Offered
    arguments: dict[str, Json]


class Report(NamedTuple):
    """Say what came of the wants."""


class Close(NamedTuple):
    """Nothing more can be done."""


Act = Greet | Ask | Which | Propose | Call | Report | Close


class Outcome(NamedTuple):
    """What came of a want."""

    tool: str = ""
    """The write that was carried out."""
    answer: Answer | None = None
    complaint: str = ""
