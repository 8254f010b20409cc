"""Coverage of a world's rules by its tasks, and why some are left out."""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record


class Lacking(Record):
    """A task template of which no task came."""

    template: str
    """Its id."""
    reason: str
    """What most often stood in the way."""

    @property
    def text(self) -> str:
        """The same as one line."""
        return f"no instance of {self.template}: {self.reason}"


class RuleCoverage(Record):
    rule: str
    """Its number in the policy: `R7`."""
    says: str
    """Its sentence."""
    held_by: Literal["tool", "agent", "effect"]
    """`tool`: refused by the tool itself; `agent`: only the policy forbids it; `effect`: what a call does."""
    tools: list[str]
    """Tools that share it."""
    kept: int
    """Tasks whose golden calls meet it and keep it; of an effect, whose calls change a row by it."""
    kept_by: list[str] = Field(default_factory=list)
    """Ids of the first of them."""
    broken: int
    """Tasks that whoever breaks it fails: their request comes to that, or leaving out a call that it demands does."""
    broken_by: list[str] = Field(default_factory=list)
    """Ids of the first of them."""
    why: str | None = None
    """Why no task keeps it, or none would break it; None: there are both."""
