"""The tool graph: how the tools of a server depend on each other."""

from typing import Literal

from skillweave.schema.names import FusedName, Name
from skillweave.schema.record import Record


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
