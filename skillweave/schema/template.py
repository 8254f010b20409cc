"""Task templates: goals laid over the tool graph, before instances are chosen."""

from pydantic import Field

from skillweave.schema.goal import Told
from skillweave.schema.names import FusedName, Name
from skillweave.schema.record import Record, Value
from skillweave.schema.task import Kind


class Source(Record):
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
    found_by: dict[str, list[Source]] = Field(default_factory=dict)
    """Parameter that names a row -> the reads that return it (from the tool graph's data edges)."""


class Withheld(Record):
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
    withheld: list[Withheld] = Field(default_factory=list)
    """What the user leaves out of the request (`clarify`)."""
    is_hidden: bool = False
    """Whether the last call's tool, and all that do the like, are not offered (`unavailable`)."""
    lookups: dict[str, dict[str, list[Source]]] = Field(default_factory=dict)
    """The same as `found_by`, for the parameters of reads that a look-up may need: read -> parameter -> sources."""
    referred_by: dict[str, list[str]] = Field(default_factory=dict)
    """Read -> columns of its result by which people refer to a row of it, best first."""
    tell: list[Told] = Field(default_factory=list)
    reasons: list[str]
