"""The types of answers that are no records of the schema: they live between an author and a step."""

from pydantic import Field

from skillweave.schema.bounds import Description, Label, Sentence
from skillweave.schema.contract import Event, Invariant, ToolKind
from skillweave.schema.entity import Entity
from skillweave.schema.fused import BridgeRule
from skillweave.schema.fusion import Conflict
from skillweave.schema.names import FusedName, Name
from skillweave.schema.record import Record


class ToolOutline(Record):
    name: Name
    kind: ToolKind
    description: Description


class Outline(Record):
    title: Label
    """The company's name."""
    tools: list[ToolOutline] = Field(min_length=3, max_length=40)


class Relationships(Record):
    relationships: list[Entity] = Field(max_length=32)


class Rules(Record):
    invariants: list[Invariant] = Field(min_length=1, max_length=40)
    events: list[Event] = Field(default_factory=list, max_length=24)


class Story(Record):
    """An edge of the tool graph that only people know: they do the one after the other, for a reason."""

    source: Name
    target: Name
    reason: Sentence


class RowWords(Record):
    """By which columns of a read's result people refer to one of its rows, best first."""

    read: FusedName
    columns: list[Name] = Field(max_length=32)


class Mediated(Record):
    """How rules of several companies are reconciled."""

    conflicts: list[Conflict] = Field(max_length=40)
    bridges: list[BridgeRule] = Field(default_factory=list, max_length=24)
    """Under the names that stories call them by; who holds them is decided later."""
