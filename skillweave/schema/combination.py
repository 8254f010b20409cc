"""A task before it is one:
a template with caller, rows and values chosen, and the request that an author puts into words.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.call import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import FusedName, Json, Label, Paragraph, Record, Sentence
from skillweave.schema.task import Criteria, FactToTell, Gates, GoldenCall, Kind, Login, Persona
from skillweave.schema.template import OmittedSlot


class MentionedRow(Record):
    """A row that the user refers to in words."""

    call: int
    """The golden call whose argument it is; for a value to be told, the read that returns it."""
    parameter: str | None
    """None: the row that a value is told about."""
    entity: FusedName | None
    key: str | None
    read: str
    """The tool whose result shows the row."""
    columns: dict[str, Json]
    """Columns of that result, with the values that the user knows."""


class MentionedValue(Record):
    """A value that the user gives as it is."""

    call: int
    parameter: str
    value: Json
    """None: the user wants nothing said about it."""


class Combination(Record):
    id: str
    """`DentalClinic/move_appointment/007`."""
    template: str
    server: FusedName
    kind: Kind
    login: Login
    caller: str
    now: str
    patch: list[RowChange] = Field(default_factory=list)
    golden: list[GoldenCall]
    asked: GoldenCall | None = None
    """The call that the request comes to and that is not made, in the place behind the golden calls: rows and values
    are said of it as of them. None where all that is asked for is done."""
    forbidden: list[str] = Field(default_factory=list)
    """The rules that `asked` would break, the first to fail before the others."""
    hidden: list[str] = Field(default_factory=list)
    """Tools that are not offered."""
    withheld: list[OmittedSlot] = Field(default_factory=list)
    """What is said only when asked for; `call` is the place among the golden calls, counted from 0."""
    steps: list[int]
    """Which golden calls are the template's own, in its order; the others look something up or sign in."""
    rows: list[MentionedRow]
    values: list[MentionedValue]
    credentials: dict[str, Json] = Field(default_factory=dict)
    """What the user gives to sign in; empty for `login: session`."""
    communicate: list[FactToTell] = Field(default_factory=list)
    open_columns: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that an optional argument fills of which the user has no preference: not compared."""

    @property
    def calls(self) -> list[GoldenCall]:
        """The golden calls, and behind them the one that is asked for and not made."""
        return [*self.golden, *([self.asked] if self.asked else [])]


class ValidatedTask(Record):
    """A combination that has passed its gates."""

    combination: Combination
    criteria: Criteria
    gates: Gates


class KnownFact(Record):
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


class KnownRow(Record):
    """A row that the user refers to."""

    entity: str
    columns: dict[str, str]
    """Column -> id of the thing known."""


class Intent(Record):
    """One thing that the user wants done, or wants to hear."""

    tool: str
    kind: Literal["do", "hear"]
    rows: dict[str, KnownRow] = Field(default_factory=dict)
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


class UserRequest(Record):
    """All that an author needs to tell a task."""

    title: str
    company: str
    persona: Persona
    reason: str
    wishes: list[Intent]
    known: list[KnownFact]


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
