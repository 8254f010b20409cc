"""Something wrong, or odd, in a blueprint."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    where: str
    """`tool cancel_appointment, guard cancel_deadline`."""
    message: str
    fatal: bool = True
    """False: a note; the blueprint runs all the same."""
