"""Goals of people, the graph of a world's tools, and the templates that goals become over it."""

from typing import Literal

from pydantic import Field

from skillweave.schema.criteria import FormName
from skillweave.schema.record import FusedName, Label, Name, Record, Sentence, Value
from skillweave.schema.task import Kind


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
    persons: list[str] = Field(default_factory=list)
    """Of a compound: keys of the persons who have an instance of each part; none: it is not known who has."""
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
