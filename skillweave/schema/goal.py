"""Goals: what a person wants of a world, as an author tells it, before any row or value is chosen."""

from typing import Literal

from pydantic import Field

from skillweave.schema.bounds import Label, Sentence
from skillweave.schema.names import Name
from skillweave.schema.record import Record


class GoalCall(Record):
    """One step that the goal needs: a write, or the read whose result the person wants to hear."""

    tool: Name
    same: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Arguments that come from an earlier call: parameter -> `<call>.<column>`, calls counted from 1."""


class Told(Record):
    """A value of a result that the person wants to hear."""

    call: int = Field(ge=1)
    """Which of the goal's calls returns it, counted from 1."""
    column: Name
    """The column of its result."""
    coming: bool = False
    """Only asked of what is still to come: the value's day, or else some day of its row, lies ahead."""
    was: bool = False
    """Asked as it stood at that call (`what I owed`), though the later ones may change it; else they must not."""
    noun: Label
    """What the value is, in words: `cancellation fee`."""
    ask: list[Label] = Field(min_length=1, max_length=16)
    """Noun clauses that fit after `I would like to know`; `{row}` is the row it is about, where the result has many."""


class Goal(Record):
    name: Name
    kind: Literal["do", "inform"]
    title: Label
    """`Move an appointment to another day`."""
    calls: list[GoalCall] = Field(min_length=1, max_length=16)
    """In the order in which they are to happen. Reads that only look something up are left out: they are found."""
    tell: list[Told] = Field(default_factory=list, max_length=16)
    """For `inform` at least one; a `do` goal may ask for a result too (`and tell me the refund`)."""
    reasons: list[Sentence] = Field(min_length=1, max_length=16)
    """Why somebody wants it, each a full sentence in the first person, true whatever rows are chosen."""
