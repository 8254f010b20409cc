"""What an agent with a script may do next."""

from typing import NamedTuple

from skillweave.schema.record import Json


class Greet(NamedTuple):
    """Nothing was asked for yet."""


class Ask(NamedTuple):
    """Ask for values that only the user knows."""

    wanted: tuple[tuple[int, str], ...]
    """Position of the call and its argument."""


class Which(NamedTuple):
    """Ask which of several rows is meant."""

    position: int
    argument: str


class Clarify(NamedTuple):
    """Ask for what the user has left out."""

    position: int


class Propose(NamedTuple):
    """Say what the next call would do, and wait for a yes."""

    position: int
    again: int
    """How often it was said before."""


class Do(NamedTuple):
    """Make calls."""

    positions: tuple[int, ...]
    """Of the script; empty where the call is none of it."""
    calls: tuple[tuple[str, dict[str, Json]], ...]


class Report(NamedTuple):
    """Say what was done and found out, and ask for more."""

    done: tuple[int, ...]
    """Positions of writes."""
    facts: tuple[int, ...]
    again: bool = False


class Decline(NamedTuple):
    """Say that a rule forbids it."""

    rule: str
    """Empty: say no more than that it is not possible."""


class GiveUp(NamedTuple):
    """Say that it cannot be done, without having tried everything."""

    complaint: str


class Part(NamedTuple):
    """Take leave."""


Act = Greet | Ask | Which | Clarify | Propose | Do | Report | Decline | GiveUp | Part
