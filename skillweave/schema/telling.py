"""How a user tells what they want: the request as an author gets it, and the words that come back."""

from typing import Literal

from pydantic import Field

from skillweave.schema.bounds import Label, Paragraph, Sentence
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, Record
from skillweave.schema.task import Persona


class Known(Record):
    """One thing that the user knows."""

    id: str
    value: Json
    words: str
    """The value as people say it: `Friday 24 January at 09:30`."""
    type: AttributeType
    about: str
    """What it is a value of: `appointment: starts at`."""
    secret: bool = False
    """Given only when asked for: what signs a person in. No author is asked for words for it."""
    says: str = ""
    """The sentence that says it, of what is secret."""
    withheld: bool = False
    """Left out of the request, and given only when asked for: without it nobody knows what is meant."""
    volunteered: bool = False
    """Said in the first message: it goes into an optional argument, for which nobody would ask."""


class RowKnown(Record):
    """A row that the user refers to."""

    entity: str
    columns: dict[str, str]
    """Column -> id of the thing known."""


class Wish(Record):
    """One thing that the user wants done, or wants to hear."""

    tool: str
    kind: Literal["do", "hear"]
    rows: dict[str, RowKnown] = Field(default_factory=dict)
    """Parameter -> the row it names. For `hear`, under `row`, the row that it is about."""
    values: dict[str, str] = Field(default_factory=dict)
    """Parameter -> id of the thing known."""
    linked: dict[str, str] = Field(default_factory=dict)
    """Parameter -> entity of a row that an earlier wish has made or named: `that invoice`."""
    unwanted: list[str] = Field(default_factory=list)
    """Optional parameters of which the user wants nothing."""
    ask: str = ""
    """For `hear`: a noun clause that fits after `I would like to know`. For `do`: a verb phrase that fits after `I
    would like to`, with `{parameter}` for the row or value in words; empty: the author's own."""
    only_if_needed: bool = False
    """The user does not ask for it, and agrees to it where what they ask for needs it first."""


class Request(Record):
    """All that an author needs to tell a task."""

    title: str
    company: str
    persona: Persona
    reason: str
    wishes: list[Wish]
    known: list[Known]


class FactWords(Record):
    id: Label
    text: Sentence
    """The fact as a sentence in the first person; it holds the value's words, or `{value}` in their place."""
    tell: Literal["first", "asked"] = "asked"
    """`first`: the first message says it."""


class Telling(Record):
    """An author's words for a task."""

    id: Label
    """The task's number in the question: `1`, `2`, ..."""
    first_message: Paragraph
    goal: Paragraph
    """What the user wants, in the second person: `You want to move your appointment ...`."""
    reason: Sentence | None = None
    """Why they want it, in the first person; None where nothing is said of that."""
    facts: list[FactWords] = Field(max_length=64)
