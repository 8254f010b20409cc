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


class TemplateCall(Record):
    tool: Name
    same: dict[str, str] = Field(default_factory=dict)
    """Parameter -> `<call>.<column>` of an earlier call of the template, counted from 1."""
    found_by: dict[str, list[Source]] = Field(default_factory=dict)
    """Parameter that names a row -> the reads that return it, best first (from the tool graph's data edges)."""


class TaskTemplate(Record):
    id: str
    """`DentalClinic/move_appointment`."""
    server: Name
    kind: Literal["do", "inform"]
    title: str
    calls: list[TemplateCall]
    tell: list[Told] = Field(default_factory=list)
    reasons: list[str]
