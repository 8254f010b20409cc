"""A summary of a world's database: what is in it, what happened in it, what of its contract it lets happen."""

from pydantic import Field

from skillweave.schema.names import Name
from skillweave.schema.record import Record


class Unmet(Record):
    """A guard that nothing in the database breaks first. No refusal task is made of it."""

    tool: Name
    rule: str


class Coverage(Record):
    tools: int
    tools_succeeding: int
    failing_tools: list[str]
    effects: int
    effects_taking_place: int
    idle_effects: list[str]
    """Effects that changed no row in any call that succeeded."""
    guards: int
    guards_first_broken: int
    unmet: list[Unmet]
    unsound: list[str]
    """Agent rules whose breach the tool could not carry out soundly."""

    @property
    def reached(self) -> int:
        """All that is reached, as one number by which databases are compared."""
        return self.tools_succeeding * 1000 + self.guards_first_broken * 10 + self.effects_taking_place


class Summary(Record):
    server: Name
    rows: dict[str, int]
    """Table -> rows."""
    values: dict[str, dict[str, int]] = Field(default_factory=dict)
    """`table.column` -> how often each of its enum values occurs."""
    calls: dict[str, int]
    """Write tool -> calls that succeeded in the history."""
    events: dict[str, int]
    coverage: Coverage
    witnessed: list[Unmet] = Field(default_factory=list)
    """Guards that the database does not break, but that the author's own case does."""
