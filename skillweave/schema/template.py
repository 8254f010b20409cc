"""From what people want to task templates: goals, the graph of how tools depend on each other, and templates."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import FusedName, Label, Name, Record, Sentence, Value
from skillweave.schema.task import Kind


class GoalCall(Record):
    """One step that the goal needs: a write, or the read whose result the person wants to hear."""

    tool: Name
    same: dict[str, Label] = Field(default_factory=dict, max_length=32)
    """Arguments that come from an earlier call: parameter -> `<call>.<column>`, calls counted from 1."""


class RequestedValue(Record):
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
    tell: list[RequestedValue] = Field(default_factory=list, max_length=16)
    """For `inform` at least one; a `do` goal may ask for a result too (`and tell me the refund`)."""
    reasons: list[Sentence] = Field(min_length=1, max_length=16)
    """Why somebody wants it, each a full sentence in the first person, true whatever rows are chosen."""


class ToolEdge(Record):
    """From a producer to a consumer."""

    source: FusedName
    target: FusedName
    kind: Literal["auth", "data", "state", "story"]
    """`auth`: signs in; `data`: a column of the result is an argument; `state`: an effect changes what a guard reads;
    `story`: people do the one after the other."""
    parameter: Name | None = None
    """For `data`: the consumer's parameter ..."""
    column: Name | None = None
    """... and the column of the producer's result that holds its value."""
    rule: str | None = None
    """For `state`: the guard of the consumer that the producer's effect can turn from broken to met."""
    reason: str = ""
    """For `story`: why, in words."""
    proof: Literal["static", "executed", "unproven"] = "static"
    """`executed`: the consumer's instance was absent before the producer ran and present after it."""


class ToolGraph(Record):
    server: FusedName
    tools: list[FusedName]
    edges: list[ToolEdge]


class RowSource(Record):
    """A read that can return the row that an argument names."""

    tool: FusedName
    column: Name
    """The column of its result that holds the key."""


class TemplateCall(Record):
    tool: FusedName
    same: dict[str, str] = Field(default_factory=dict)
    """Parameter -> where its value comes from, calls counted from 1: `<call>.<column>` of an earlier call's result;
    `<call>.<parameter>.<column>` of the row that an argument of that call, or of this one, names; either within
    `date(...)`, which takes the day of a moment."""
    names: dict[str, str] = Field(default_factory=dict)
    """Parameter -> `Entity.attribute` of another domain: the row whose key it is given, although its own contract knows
    it as mere text."""
    given: dict[str, Value] = Field(default_factory=dict)
    """Parameter -> the value that the user says in any case; null: nothing is given."""
    rows: dict[str, dict[str, list[Value]]] = Field(default_factory=dict)
    """Parameter -> columns that the row it names must have, with the values allowed."""
    ask: list[str] = Field(default_factory=list)
    """Verb phrases by which people ask for it in this story; empty: as they do elsewhere."""
    demanded_by: str | None = None
    """The bridge rule that demands the call: the user agrees to it and does not ask for it."""
    found_by: dict[str, list[RowSource]] = Field(default_factory=dict)
    """Parameter that names a row -> the reads that return it (from the tool graph's data edges)."""


class OmittedSlot(Record):
    """Something that the user says only when asked for it."""

    call: int
    """The template's call that needs it, counted from 1."""
    parameter: str
    """Of that call: the value that it is given, or the words for the row that it names."""


class TaskTemplate(Record):
    id: str
    """`DentalClinic/move_appointment`."""
    server: FusedName
    kind: Kind
    base: str | None = None
    """The template of a goal that it was derived from; both are of one family, and in one split."""
    title: str
    calls: list[TemplateCall]
    forbidden: str | None = None
    """The rule that the last call is to break (`refuse`): it is asked for, and not made."""
    withheld: list[OmittedSlot] = Field(default_factory=list)
    """What the user leaves out of the request (`clarify`)."""
    is_hidden: bool = False
    """Whether the last call's tool, and all that do the like, are not offered (`unavailable`)."""
    lookups: dict[str, dict[str, list[RowSource]]] = Field(default_factory=dict)
    """The same as `found_by`, for the parameters of reads that a look-up may need: read -> parameter -> sources."""
    referred_by: dict[str, list[str]] = Field(default_factory=dict)
    """Read -> columns of its result by which people refer to a row of it, best first."""
    tell: list[RequestedValue] = Field(default_factory=list)
    reasons: list[str]
