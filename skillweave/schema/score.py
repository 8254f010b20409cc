"""A score: what the evaluator says of a trajectory."""

from pydantic import Field

from skillweave.schema.change import RowChange
from skillweave.schema.record import Record


class StateCheck(Record):
    score: float
    """1 or 0."""
    missing: list[RowChange] = Field(default_factory=list)
    """Changes that the task demands and that did not happen."""
    unexpected: list[RowChange] = Field(default_factory=list)
    """Changes that happened and that the task does not list."""


class CommunicateCheck(Record):
    score: float
    """The share of the facts that were told."""
    missing: list[str] = Field(default_factory=list)
    """Facts that the user was not told, or told wrongly."""


class PolicyCheck(Record):
    score: float
    """1 or 0."""
    violations: list[str] = Field(default_factory=list)
    """`R7 in call 3 (cancel_appointment)`."""


class Checks(Record):
    """None: not asked for by the task, or cannot be said without messages."""

    state: StateCheck
    """The end state."""
    communicate: CommunicateCheck | None = None
    """What the user was told."""
    policy: PolicyCheck | None = None
    """Rules that only the agent holds."""


class Score(Record):
    task_id: str
    """The task scored."""
    passed: bool | None
    """The reward is 1; None where a check that counts could not be made."""
    reward: float | None
    """Product of the checks in the task's `reward_basis`, from 0 to 1."""
    checks: Checks
    """Each check, also those that do not count."""
