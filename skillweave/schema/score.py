"""A score: what the evaluator says of a trajectory."""

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.record import Record


class StateCheck(Record):
    score: float
    missing: list[RowChange] = Field(default_factory=list)
    """Changes that the task demands and that did not happen."""
    unexpected: list[RowChange] = Field(default_factory=list)
    """Changes that happened and that the task does not list."""


class CommunicateCheck(Record):
    score: float
    missing: list[str] = Field(default_factory=list)
    """Facts that the user was not told, or told wrongly."""


class PolicyCheck(Record):
    score: float
    violations: list[str] = Field(default_factory=list)
    """`R7 in call 3 (cancel_appointment)`."""


class Checks(Record):
    """None: not asked for by the task, or cannot be said without messages."""

    state: StateCheck
    communicate: CommunicateCheck | None = None
    policy: PolicyCheck | None = None


class Score(Record):
    task_id: str
    passed: bool | None
    reward: float | None
    checks: Checks
