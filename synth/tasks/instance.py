"""An instance of a template: golden calls for one caller, and how each row and value in them is known."""

from dataclasses import dataclass, field
from typing import NamedTuple

from skillweave.schema.call import CallResult
from skillweave.schema.combination import SaidRow, SaidValue
from skillweave.schema.task import FactToTell, GoldenCall


class Stop(NamedTuple):
    """Where a caller who has no instance got stuck, comparable by how far they got."""

    call: int
    """The template's call, counted from 0."""
    guard: int
    """The call's guard at which the nearest arguments fail, counted from 0; -1: there are no arguments at all; the
    number of guards: they pass all of them, and a row cannot be looked up."""
    why: str = ""
    """In words for an author: which row cannot be looked up, which link leads nowhere, why nothing can be told."""
    example: str = ""
    """A value of which that is so."""


class NoInstance(Exception):
    """Why no instance came of a template for a caller; the message is the reason that is counted."""

    def __init__(self, reason: str, call: int = 0, stop: Stop | None = None) -> None:
        super().__init__(reason)
        self.call = call
        """The template's call, counted from 0, beyond which it did not get."""
        self.stop = stop
        """Set where an explanation was asked for."""


@dataclass
class Instance:
    """What has been built so far."""

    golden: list[GoldenCall] = field(default_factory=list)
    results: list[CallResult] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    rows: list[SaidRow] = field(default_factory=list)
    values: list[SaidValue] = field(default_factory=list)
    open_columns: dict[str, list[str]] = field(default_factory=dict)
    communicate: list[FactToTell] = field(default_factory=list)
    asked: GoldenCall | None = None
    """The call that is asked for and not made; it comes behind the golden calls."""
    forbidden: list[str] = field(default_factory=list)
    """The rules that it would break."""
    fresh_from: int = 0
    """Index of the first golden call since the last write: look-ups from there on still show the present state."""
