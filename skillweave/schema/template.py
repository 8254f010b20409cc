"""Task templates: goals laid over the tool graph, before instances are chosen."""

from typing import Literal

from pydantic import Field

from skillweave.schema.goal import Told
from skillweave.schema.names import Name
from skillweave.schema.record import Record


class Source(Record):
    """A read that can return the row that an argument names."""

    tool: Name
    column: Name
    """The column of its result that holds the key."""


class TemplateCall(Record):
    tool: Name
    same: dict[str, str] = Field(default_factory=dict)
    """Parameter -> `<call>.<column>` of an earlier call of the template, counted from 1."""
    found_by: dict[str, list[Source]] = Field(default_factory=dict)
    """Parameter that names a row -> the reads that return it (from the tool graph's data edges)."""


class TaskTemplate(Record):
    id: str
    """`DentalClinic/move_appointment`."""
    server: Name
    kind: Literal["do", "inform"]
    title: str
    calls: list[TemplateCall]
    lookups: dict[str, dict[str, list[Source]]] = Field(default_factory=dict)
    """The same as `found_by`, for the parameters of reads that a look-up may need: read -> parameter -> sources."""
    referred_by: dict[str, list[str]] = Field(default_factory=dict)
    """Read -> columns of its result by which people refer to a row of it, best first."""
    tell: list[Told] = Field(default_factory=list)
    reasons: list[str]
