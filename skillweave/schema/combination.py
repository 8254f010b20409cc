"""From a goal to a task:
goals, templates over the tool graph, combinations with person, rows and values, and requests to put into words.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.contract import RowChange
from skillweave.schema.entity import AttributeType
from skillweave.schema.record import FusedName, Json, Label, Name, Paragraph, Record, Sentence, Value
from skillweave.schema.task import (
    Criteria,
    FactToTell,
    FormName,
    Gates,
    GoldenCall,
    Kind,
    Login,
    Moment,
    Persona,
    RequestForm,
)


class GoalCall(Record):
    """One step that a goal needs: a write, or the read whose result the person wants to hear."""

    tool: Name
    """The tool."""
    same: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Arguments that come from an earlier call: parameter -> `<call>.<column>`, calls counted from 1."""


class RequestedValue(Record):
    """A value of a result that the person wants to hear."""

    call: int = Field(ge=1)
    """The goal's call that returns it, counted from 1."""
    column: Name
    """The column of its result."""
    coming: bool = False
    """Asked only about the future: the value's day, or else some day of its row, lies ahead."""
    was: bool = False
    """Asked as it was at that call (`what I owed`), although later calls may change it. Otherwise they must not."""
    noun: Label
    """What the value is, in words: `cancellation fee`."""
    ask: list[Label] = Field(min_length=1, max_length=16)
    """Noun clauses that fit after `I would like to know`; `{row}` is the row it is about, if the result has many."""


class Goal(Record):
    """What a person wants of a world, as an author tells it, before any row or value is chosen."""

    name: Name
    """Unique in the world."""
    kind: Literal["do", "inform"]
    """`do`: have something done; `inform`: be told something."""
    title: Label
    """`Move an appointment to another day`."""
    calls: list[GoalCall] = Field(min_length=1, max_length=16)
    """In the order in which they have to happen. Reads that only look something up are left out: the search finds
    them."""
    tell: list[RequestedValue] = Field(default_factory=list, max_length=16)
    """Values to be told. `inform` needs at least one; a `do` goal may ask for a result too (`and tell me the
    refund`)."""
    reasons: list[Sentence] = Field(min_length=1, max_length=16)
    """Why somebody wants it: full sentences in the first person, true for any rows."""


class ToolEdge(Record):
    """A dependency between two tools."""

    source: FusedName
    """The tool that comes first."""
    target: FusedName
    """The tool that depends on it."""
    kind: Literal["auth", "data", "state", "story"]
    """`auth`: it signs in; `data`: a column of its result is an argument; `state`: an effect changes what a guard
    reads; `story`: people do one after the other."""
    parameter: Name | None = None
    """For `data`: the parameter of the target."""
    column: Name | None = None
    """For `data`: the column of the source's result that holds its value."""
    rule: str | None = None
    """For `state`: the guard of the target that the effect can turn from broken to met."""
    reason: str = ""
    """For `story`: the reason in words."""
    proof: Literal["static", "executed", "unproven"] = "static"
    """`executed`: the target's call was impossible before the source ran, and possible after it."""


class ToolGraph(Record):
    """How the tools of a server depend on each other."""

    server: FusedName
    """The world."""
    tools: list[FusedName]
    """Names of its tools."""
    edges: list[ToolEdge]
    """Their dependencies."""


class RowSource(Record):
    """A read that can return the row that an argument names."""

    tool: FusedName
    """The read."""
    column: Name
    """The column of its result that holds the key."""


class TemplateCall(Record):
    """One call of a template."""

    tool: FusedName
    """The tool."""
    same: dict[str, str] = Field(default_factory=dict)
    """Parameter -> where its value comes from, calls counted from 1: `<call>.<column>` of an earlier call's result;
    `<call>.<parameter>.<column>` of the row that an argument of that call, or of this one, names; either within
    `date(...)`, which takes the day of a moment."""
    names: dict[str, str] = Field(default_factory=dict)
    """Parameter -> `Entity.attribute` of another domain: it takes the key of such a row, which its own contract sees as
    plain text."""
    given: dict[str, Value] = Field(default_factory=dict)
    """Parameter -> the value that the user always says; null: nothing is given."""
    rows: dict[str, dict[str, list[Value]]] = Field(default_factory=dict)
    """Parameter -> columns of the row it names, with the values allowed."""
    ask: list[str] = Field(default_factory=list)
    """Verb phrases with which people ask for it in this story; empty: as they do elsewhere."""
    demanded_by: str | None = None
    """The bridge rule that demands the call. The user agrees to it and does not ask for it."""
    found_by: dict[str, list[RowSource]] = Field(default_factory=dict)
    """Parameter that names a row -> the reads that return that row (from the tool graph's data edges)."""


class OmittedSlot(Record):
    """A slot that the user fills only when asked."""

    call: int
    """The template's call that needs it, counted from 1."""
    parameter: str
    """The parameter of that call: the value that it takes, or the words for the row that it names."""


class TaskTemplate(Record):
    """A goal laid over the tool graph, before instances are chosen."""

    id: str
    """`DentalClinic/move_appointment`."""
    server: FusedName
    """The world."""
    kind: Kind
    """The kind of its tasks."""
    base: str | None = None
    """Id of the template that it was derived from. Both belong to one family and to one split."""
    title: str
    """What people want, in words."""
    calls: list[TemplateCall]
    """In the order in which they have to happen; look-ups are added later."""
    forms: list[FormName] = Field(default_factory=list)
    """The forms in which the request is put; none: it is plain."""
    focus: OmittedSlot | None = None
    """The call and parameter that a form is about."""
    form_detail: str = ""
    """What the last form's recipe needs to know beside: a column, a moment."""
    parts: list["TaskTemplate"] = Field(default_factory=list)
    """The templates that it consists of, in the order of their calls; none: it is no compound. What a part has in
    common with the whole (`lookups`, `referred_by`) is left out of it."""
    forbidden: str | None = None
    """The rule that the last call would break (`refuse`): the user asks for the call, and it is not made."""
    withheld: list[OmittedSlot] = Field(default_factory=list)
    """Slots that the user leaves out of the request (`clarify`)."""
    is_hidden: bool = False
    """Whether the last call's tool, and all that do the same, are not offered (`unavailable`)."""
    lookups: dict[str, dict[str, list[RowSource]]] = Field(default_factory=dict)
    """The same as `found_by` for the parameters of reads that a look-up may need: read -> parameter -> sources."""
    referred_by: dict[str, list[str]] = Field(default_factory=dict)
    """Read -> columns of its result by which people refer to a row, best first."""
    tell: list[RequestedValue] = Field(default_factory=list)
    """Values that the person wants to hear."""
    counted: RequestedValue | None = None
    """The value that a form adds up, or compares between rows."""
    reasons: list[str]
    """Why somebody wants it."""


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


class Condition(Record):
    """What decides whether the user wants a call: a value that has to be looked up."""

    parameter: Name
    """The parameter of the call that names the row."""
    column: Name
    """The column of that row."""
    noun: str
    """What the value is, in words."""
    holds: Literal["above", "at_most"]
    """The user wants the call if the value is above the limit (later, of a day), or if it is at most the limit."""
    limit: Json
    """The limit."""
    then: Literal["do", "leave"]
    """Whether the condition is met. `leave`: the call is not wanted, and the user wants to be told the value."""


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
    """The template's call, from 0, in whose place the user wants this one if that cannot be done."""
    every: RowSet | None = None
    """The user wants it of each of these rows; the mentioned row is one of them."""
    later: Moment | None = None
    """When the user comes out with it; None: at once."""
    replaces: int | None = None
    """The template's call, from 0, that the user has thought better of, and wants this in its place."""


class Calculation(Record):
    """Something that the user wants to know and that no result shows by itself."""

    fact: str
    """Id of the fact to tell."""
    tool: FusedName
    """The read that shows what it is computed from."""
    call: int = 0
    """Its first golden call."""
    sort: Literal["sum", "difference"]
    """`sum`: of a column, over rows; `difference`: between two rows."""
    column: Name
    """The column that counts."""
    noun: str
    """What its values are, in words."""
    of: RowSet | None = None
    """For a sum: the rows."""
    rows: list[MentionedRow] = Field(default_factory=list)
    """For a difference: the two rows."""


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
    def replaced(self) -> set[int]:
        """Places of the calls that the user thinks better of; of those that were made, no trace need be left."""
        return {self.steps[terms.replaces] for terms in self.terms if terms.replaces is not None}


class ValidatedTask(Record):
    """A combination that has passed its gates."""

    combination: Combination
    """What was chosen."""
    criteria: Criteria
    """What a session is scored against."""
    gates: Gates
    """What was proved."""


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
    day_column: str | None = None
    """The column whose day lies in the month."""
    excepted: list[KnownRow] = Field(default_factory=list)
    """Rows that are not meant."""


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
    """Place of the wish in whose place the user wants this one, if that cannot be done."""
    replaces: int | None = None
    """Place of the wish that the user has thought better of."""
    later: Moment | None = None
    """When the user comes out with it; None: at once."""
    every: KnownRows | None = None
    """`do`: the user wants it of each of these rows. `hear`: the sum over these rows is asked for."""
    compared: bool = False
    """`hear`: asked is the difference between the rows `row` and `other`, and which of them has less."""
    noun: str = ""
    """For `every` and `compared` of `hear`: what the values are, in words."""
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
