"""A summary of a world's database: what is in it, what happened in it, what of its contract it lets happen."""

from pydantic import Field

from skillweave.schema.names import Name
from skillweave.schema.record import Record


class Unmet(Record):
    """A guard that nothing in the database breaks first. No refusal task is made of it."""

    tool: Name
    """The tool with the guard."""
    rule: str
    """The guard's rule."""


class Coverage(Record):
    tools: int
    """Tools of the server."""
    tools_succeeding: int
    """Tools that succeed for somebody."""
    failing_tools: list[str]
    """Tools that never do; a world with one is rejected."""
    effects: int
    """Effects of all tools."""
    effects_taking_place: int
    """Effects that changed a row in some call that succeeded."""
    idle_effects: list[str]
    """Effects that changed no row in any call that succeeded."""
    guards: int
    """Guards of all tools."""
    guards_first_broken: int
    """Guards that are the first to be broken in some call."""
    unmet: list[Unmet]
    """The other guards."""
    unsound: list[str]
    """Agent rules whose breach the tool could not carry out soundly."""

    @property
    def reached(self) -> int:
        """All that is reached, as one number by which databases are compared."""
        return self.tools_succeeding * 1000 + self.guards_first_broken * 10 + self.effects_taking_place


class Summary(Record):
    server: Name
    """The world."""
    rows: dict[str, int]
    """Table -> rows."""
    values: dict[str, dict[str, int]] = Field(default_factory=dict)
    """`table.column` -> how often each of its enum values occurs."""
    calls: dict[str, int]
    """Write tool -> calls that succeeded in the history."""
    events: dict[str, int]
    """Event -> how often it happened in the history."""
    coverage: Coverage
    """What of the contract the database lets happen."""
