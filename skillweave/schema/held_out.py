"""What the second set of variants showed: trajectories by which no task was kept or dropped."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record


class Sort(Record):
    made: int
    """Variants of this sort."""
    right: int
    """How many were said rightly: mutants killed, equivalents passed."""


class Survivor(Record):
    """A variant of which the evaluator says the wrong thing."""

    task: str
    """The task's id."""
    sort: str
    """The sort of variant."""
    must: Literal["pass", "fail"]
    """What was to be said of it."""
    what: str
    """What was changed in it."""
    differs: list[str] = Field(default_factory=list)
    """How its end state differs from the one demanded."""
    why: str
    """What the checks said, and what they cannot see."""


class HeldOutReport(Record):
    """The evaluator's word on every variant of the second set."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    tasks: int
    """Tasks that had such variants."""
    mutants: dict[str, Sort]
    """Wrong trajectories, by sort."""
    equivalents: dict[str, Sort]
    """Right ones, by sort."""
    survivors: list[Survivor]
    """All that were said wrongly."""
