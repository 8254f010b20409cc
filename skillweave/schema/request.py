"""A request that is to be put into words, and the words that an author gives it."""

from typing import Literal

from pydantic import Field

from skillweave.schema.combination import Condition, Superlative
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import Json, Label, Paragraph, Record, Sentence
from skillweave.schema.task import Moment, Persona


class KnownFact(Record):
    """One thing that the user knows."""

    id: str
    """Unique in the request."""
    value: Json
    """The value as the data hold it."""
    words: str
    """The value as people say it: `Friday 24 January at 09:30`."""
    type: AttributeType
    """Type of the value."""
    about: str
    """What the value belongs to: `appointment: starts at`."""
    secret: bool = False
    """Given only when asked for: it signs the person in. No author is asked for words for it."""
    says: str = ""
    """The sentence that says it, for what is secret."""
    withheld: bool = False
    """Left out of the request and given only when asked for: without it nobody knows what the user means."""
    volunteered: bool = False
    """Said in the first message: it fills an optional argument, for which nobody would ask."""


class KnownRow(Record):
    """A row that the user refers to."""

    entity: str
    """The row's entity."""
    columns: dict[str, str]
    """Column -> id of the known fact."""


class KnownRows(Record):
    """Several rows that are meant together."""

    entity: str
    """What they are."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Column that all of them have -> id of the known fact."""
    month: str | None = None
    """Id of the known fact that says their month (`YYYY-MM-01`); None: of any."""
    since: bool = False
    """Whether later months are meant too."""
    ahead: bool = False
    """Whether their month is still to come."""
    day_column: str | None = None
    """The column whose day lies in the month."""
    excepted: list[KnownRow] = Field(default_factory=list)
    """Rows that are not meant."""
    first: Superlative | None = None
    """The order in which they are taken; None: in any."""
    budget: str | None = None
    """Id of the known fact up to which an amount of theirs may go in all; None: all are meant."""
    budget_column: str | None = None
    """The column of that amount."""


class Intent(Record):
    """One thing that the user wants done, or wants to hear."""

    tool: str
    """The tool that does it, or whose result holds it."""
    kind: Literal["do", "hear"]
    """`do`: have something done; `hear`: be told a value."""
    rows: dict[str, KnownRow] = Field(default_factory=dict)
    """Parameter -> the row it names. For `hear`, under the name `row`, the row that the value is about."""
    values: dict[str, str] = Field(default_factory=dict)
    """Parameter -> id of the known fact."""
    linked: dict[str, str] = Field(default_factory=dict)
    """Parameter -> entity of a row that an earlier intent has made or named: `that invoice`."""
    unwanted: list[str] = Field(default_factory=list)
    """Optional parameters for which the user wants nothing."""
    ask: str = ""
    """For `hear`: a noun clause that fits after `I would like to know`. For `do`: a verb phrase that fits after `I
    would like to`, with `{parameter}` for the row or value in words; empty: the author's own."""
    only_if_needed: bool = False
    """The user does not ask for it, and agrees to it if what they ask for needs it first."""
    best: dict[str, Superlative] = Field(default_factory=dict)
    """Parameter -> how its row is meant: the first of its kind among the rows that the other words fit."""
    condition: Condition | None = None
    """When the user wants it; the limit is the known fact `condition_fact`."""
    condition_fact: str | None = None
    """Id of the known fact that is the condition's limit."""
    instead_of: int | None = None
    """Place of the wish in whose place the user wants this one, if that cannot be done or its condition is not met."""
    otherwise: bool = False
    """Whether it is the other branch of a condition, that of the wish `instead_of`."""
    replaces: int | None = None
    """Place of the wish that the user has thought better of."""
    later: Moment | None = None
    """When the user comes out with it; None: at once."""
    every: KnownRows | None = None
    """`do`: the user wants it of each of these rows. `hear`: the sum over these rows is asked for."""
    foreseen: bool = False
    """`hear`: asked is what would come of the call, which is not to be made; `noun` says which value of its result."""
    compared: bool = False
    """`hear`: asked is the difference between the rows `row` and `other`, and which of them has less."""
    noun: str = ""
    """For `every`, `compared` and `foreseen` of `hear`: what the values are, in words."""
    believed: str | None = None
    """`hear`: id of the known fact that is what the user takes the value to be, wrongly."""


class UserRequest(Record):
    """Everything that an author needs to put a task into a user's words."""

    title: str
    """The template's title."""
    company: str
    """The company that the user writes to."""
    persona: Persona
    """Who the user is."""
    reason: str
    """Why they want it, in the first person."""
    wishes: list[Intent]
    """What they want, in order."""
    known: list[KnownFact]
    """What they know."""
    insists: int = 0
    """How many times they insist when something is declined."""


class FactWords(Record):
    """An author's words for one known fact."""

    id: Label
    """Id of the fact."""
    text: Sentence
    """The fact as a sentence in the first person; it contains the value's words, or `{value}` in their place."""
    tell: Literal["first", "asked", "later"] = "asked"
    """`first`: the first message says it; `asked`: the user says it when asked; `later`: what the user says later says
    it."""


class Telling(Record):
    """An author's words for a task."""

    id: Label
    """The task's number in the question: `1`, `2`, ..."""
    first_message: Paragraph
    """What the user writes first."""
    goal: Paragraph
    """What the user wants, in the second person: `You want to move your appointment ...`."""
    reason: Sentence | None = None
    """Why they want it, in the first person; None if nothing is said about that."""
    facts: list[FactWords] = Field(max_length=64)
    """Words for the facts that the user knows."""
    later: Paragraph | None = None
    """What the user says when they come out with what they want later; None if there is nothing."""
    insists: list[Paragraph] = Field(default_factory=list, max_length=4)
    """What the user says each time that they insist."""
