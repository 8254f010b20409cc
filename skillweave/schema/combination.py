"""Combinations: a template with a person, rows and values chosen, and the terms on which the user wants its calls."""

from typing import Literal

from pydantic import Field

from skillweave.schema.contract import RowChange
from skillweave.schema.criteria import Criteria, FactToTell, GoldenCall, RequestForm
from skillweave.schema.record import FusedName, Json, Name, Record
from skillweave.schema.task import Gates, Kind, Login, Moment
from skillweave.schema.template import OmittedSlot


class MentionedRow(Record):
    """A row that the user refers to in words."""

    call: int
    """The golden call whose argument it is; for a value to be told, the read that returns the row."""
    parameter: str | None
    """The parameter that takes its key; None: the row that a value is told about."""
    entity: FusedName | None
    """The row's entity, if it has one."""
    key: str | None
    """The row's key, if it has one."""
    read: str
    """The tool whose result shows the row."""
    columns: dict[str, Json]
    """Columns of that result, with the values that the user knows."""


class MentionedValue(Record):
    """A value that the user says as it is."""

    call: int
    """The golden call that takes it, from 0."""
    parameter: str
    """The parameter that takes it."""
    value: Json
    """The value; None: the user wants nothing said about it."""


class Superlative(Record):
    """A row that is meant as the first of its kind: `the earliest`, `the cheapest`."""

    column: Name
    """The column that decides."""
    order: Literal["least", "most"]
    """Which end of its values is meant."""
    foreseen: bool = False
    """Whether the column is one of the call's own result: whichever visit costs least to cancel."""
    allowed: bool = False
    """Whether rows are passed over for which a rule forbids the call: the first slot that I may have."""


class Condition(Record):
    """What decides whether the user wants a call: a value that has to be looked up."""

    parameter: Name
    """The parameter of the call that names the row."""
    column: Name
    """The column of that row."""
    foreseen: bool = False
    """Whether the column is one of the call's own result: what it would cost."""
    noun: str
    """What the value is, in words."""
    holds: Literal["above", "at_most"]
    """The user wants the call if the value is above the limit (later, of a day), or if it is at most the limit."""
    limit: Json
    """The limit."""
    then: Literal["do", "leave"]
    """Whether the condition is met. `leave`: the call is not wanted, and the user wants to be told the value."""
    otherwise: bool = False
    """Whether the user wants another call where the condition is not met, instead of being told the value."""


class RowSet(Record):
    """Several rows that are meant together: `everything in April but the cleaning`."""

    entity: FusedName
    """What they are."""
    columns: dict[str, Json] = Field(default_factory=dict)
    """Columns that all of them have, with their values."""
    day_column: Name | None = None
    """The column whose day lies in the months."""
    other_days: list[Name] = Field(default_factory=list)
    """Other columns whose day may be meant: they lie in the months where that one does."""
    month: str | None = None
    """`YYYY-MM`: the rows are of this month; None: of any."""
    since: bool = False
    """Whether the rows of later months are meant too."""
    excepted: list[dict[str, Json]] = Field(default_factory=list)
    """Rows that are not meant, each by the columns that the user says of it."""
    first: Superlative | None = None
    """The order in which they are taken, first the `least` or the `most`; None: in any."""
    budget: int | None = None
    """Of the column `budget_column`, what the rows that are taken may have in all: the first one that would go beyond
    it is left, and so are those behind it."""
    budget_column: Name | None = None
    """The column of the budget."""
    size: int
    """How many rows are meant."""


class Belief(Record):
    """What the user takes a value to be, wrongly."""

    value: Json
    """What they take it to be."""


class CallTerms(Record):
    """The terms on which the user wants one of the template's calls."""

    call: int
    """The template's call, from 0."""
    best: dict[str, Superlative] = Field(default_factory=dict)
    """Parameter -> how its row is meant, beside the columns that the user says of it."""
    condition: Condition | None = None
    """When the user wants it; None: in any case."""
    instead_of: int | None = None
    """The template's call, from 0, in whose place the user wants this one: if that cannot be done or, where it has a
    condition, if that is not met."""
    every: RowSet | None = None
    """The user wants it of each of these rows; the mentioned row is one of them."""
    later: Moment | None = None
    """When the user comes out with it; None: at once."""
    replaces: int | None = None
    """The template's call, from 0, that the user has thought better of, and wants this in its place."""
    foreseen: str | None = None
    """If the user does not want it made, but to hear what would come of it: what they want to hear, in words."""


class Calculation(Record):
    """Something that the user wants to know and that no result shows by itself."""

    fact: str
    """Id of the fact to tell."""
    tool: FusedName
    """The read that shows what it is computed from."""
    call: int = 0
    """Its first golden call."""
    sort: Literal["sum", "difference", "outcome"]
    """`sum`: of a column, over rows; `difference`: between two rows; `outcome`: of calls that are not made."""
    column: Name
    """The column that counts."""
    noun: str
    """What its values are, in words."""
    of: RowSet | None = None
    """For a sum: the rows."""
    rows: list[MentionedRow] = Field(default_factory=list)
    """For a difference: the two rows."""
    later: Moment | None = None
    """When the user comes out with it, if not at once."""


class Combination(Record):
    """A task instance before it is proven: a template with a caller, rows and values chosen."""

    id: str
    """`DentalClinic/move_appointment/007`."""
    template: str
    """Id of the template."""
    server: FusedName
    """The world."""
    kind: Kind
    """The kind of task."""
    login: Login
    """Whether the session opens with the user signed in."""
    caller: str
    """Key of the person who calls."""
    now: str
    """The session's clock, `YYYY-MM-DD HH:MM:SS`."""
    patch: list[RowChange] = Field(default_factory=list)
    """Row changes that the task makes to the world's database before it begins."""
    golden: list[GoldenCall]
    """The reference calls."""
    asked: GoldenCall | None = None
    """The call that the user asks for and that is not made; its place is behind the golden calls. Rows and values refer
    to it as to them. None if everything that the user asks for is done."""
    forbidden: list[str] = Field(default_factory=list)
    """The rules that `asked` would break; the first to fail comes first."""
    asked_after: int | None = None
    """How many golden calls are made before the request for `asked` is judged; None: all."""
    undone: list[GoldenCall] = Field(default_factory=list)
    """Calls that the user would want if things were otherwise, and that are not made. Their place is behind `asked`."""
    forms: list[RequestForm] = Field(default_factory=list)
    """The forms in which the request is put, with the courses that prove them."""
    terms: list[CallTerms] = Field(default_factory=list)
    """The terms on which the user wants the template's calls, where there are any."""
    questions: list[Calculation] = Field(default_factory=list)
    """What the user wants to know that is computed from results. Their facts come last in `communicate`."""
    beliefs: dict[str, Belief] = Field(default_factory=dict)
    """Id of a fact to tell -> what the user takes it to be."""
    any_of: list[list[RowChange]] = Field(default_factory=list)
    """Other end states that are as right, because the user's wish allows another course."""
    thought_better_of: list[int] = Field(default_factory=list)
    """Golden calls in whose place the user wants later ones, where no terms say so: of a task on record."""
    insists: int = 0
    """How many times the user insists when something is declined."""
    hidden: list[str] = Field(default_factory=list)
    """Tools that are not offered."""
    withheld: list[OmittedSlot] = Field(default_factory=list)
    """What the user says only when asked; `call` is the place among the golden calls, from 0."""
    steps: list[int]
    """Positions of the golden calls that are the template's own, in its order; the others look something up or sign
    in."""
    rows: list[MentionedRow]
    """Rows that the user refers to."""
    values: list[MentionedValue]
    """Values that the user says."""
    credentials: dict[str, Json] = Field(default_factory=dict)
    """What the user gives to sign in; empty for `login: session`."""
    communicate: list[FactToTell] = Field(default_factory=list)
    """What the user has to be told."""
    open_columns: dict[str, list[str]] = Field(default_factory=dict)
    """Table -> columns that an optional argument fills and for which the user has no preference: not compared."""

    @property
    def calls(self) -> list[GoldenCall]:
        """The golden calls, then those that are not made: what a rule or the tools do not allow, and what is not wanted
        as things are."""
        return [*self.golden, *([self.asked] if self.asked else []), *self.undone]

    @property
    def asked_later(self) -> set[int]:
        """Places of the calls that the user asks for with what they come out with later."""
        # A task on record has no terms.
        found = {place for place, call in enumerate(self.calls) if call.asked_later}
        found |= {self.steps[terms.call] for terms in self.terms if terms.later is not None}
        of_several = {self.steps[terms.call] for terms in self.terms if terms.every is not None}
        # Of what is wanted of several rows the template has one call; those for the other rows follow it.
        for place in range(1, len(self.calls) - len(self.undone)):
            before = max((one for one in of_several if one < place), default=None)
            is_other = before is not None and place not in self.steps
            if is_other and before in found and self.calls[place].tool == self.calls[before or 0].tool:
                found.add(place)
        return found

    def marked(self, place: int) -> GoldenCall:
        """The call at a place, with the mark whether the user asks for it later."""
        return self.calls[place].model_copy(update={"asked_later": place in self.asked_later})

    @property
    def replaced(self) -> set[int]:
        """Places of the calls that the user thinks better of; of those that were made, no trace need be left."""
        of_terms = {self.steps[terms.replaces] for terms in self.terms if terms.replaces is not None}
        return of_terms | {*self.thought_better_of}


class ValidatedTask(Record):
    """A combination that has passed its gates."""

    combination: Combination
    """What was chosen."""
    criteria: Criteria
    """What a session is scored against."""
    gates: Gates
    """What was proved."""
