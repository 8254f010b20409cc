"""A result: what the evaluator says of one trajectory, as a line of `results.jsonl`."""

from typing import Literal, NamedTuple

from pydantic import ConfigDict, Field

from skillweave.schema.record import Record
from skillweave.schema.score import Checks
from skillweave.schema.trajectory import RolloutUsage

ResultErrorKind = Literal["provider", "world", "user", "infrastructure", "trajectory", "task", "dataset", "judge"]
FailureClass = Literal[
    "wrong_argument",
    "wrong_entity",
    "wrong_tool",
    "wrong_order",
    "missing_write",
    "extra_write",
    "malformed_call",
    "gave_up_early",
    "loop",
    "ran_out",
    "policy_violation",
    "unconfirmed_write",
    "not_declined",
    "wrong_rule",
    "wrongly_declined",
    "did_not_ask",
    "did_not_tell",
    "told_wrong",
    "withheld",
    "other",
]
FAILURE_CLASSES: dict[FailureClass, str] = {
    "wrong_argument": "The right call on the right row, with a wrong value.",
    "wrong_entity": "The right call on another row than the one meant.",
    "wrong_tool": "Another write in the place of the one demanded.",
    "wrong_order": "The demanded writes, in an order that ends elsewhere.",
    "missing_write": "A write that the task demands was not made.",
    "extra_write": "A write that the task does not demand was made.",
    "malformed_call": "A demanded call was tried only with arguments or a name that nobody can carry out.",
    "gave_up_early": "Handed over to a human although the task could be done.",
    "loop": "The same call again and again, to the same effect, until the end.",
    "ran_out": "Out of turns, calls or context before the work was done.",
    "policy_violation": "A rule that only the agent holds was broken.",
    "unconfirmed_write": "A write that asks for the user's word was made without it.",
    "not_declined": "What a rule forbids was not recorded as declined, or what no tool can do not handed over.",
    "wrong_rule": "Recorded as declined by another rule than the one that decides.",
    "wrongly_declined": "Recorded as declined although nothing was to be declined.",
    "did_not_ask": "Acted before the user had told what they left out.",
    "did_not_tell": "What the user wanted to know was not said.",
    "told_wrong": "A neighbouring value was told in the place of what the user wanted to know, or several with it.",
    "withheld": "The model or its endpoint withheld an answer.",
    "other": "None of these.",
}
"""Each class in words."""


class Divergence(Record):
    """The first point where a trajectory left the golden path."""

    turn: int | None
    """Which of the agent's messages, from 0; None where nothing was said."""
    message: int | None
    """Position of that message in the trajectory, from 0."""
    call: int | None
    """Which call of the trajectory, from 0; None where it is no call."""
    expected: str
    """What the golden path has there."""
    got: str
    """What was there instead."""


class FailureRecord(Record):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), populate_by_name=True)

    class_: FailureClass = Field(alias="class", serialization_alias="class")
    """What kind of failure it is."""
    first_divergence: Divergence
    """Where it began."""


class ResultError(Record):
    kind: ResultErrorKind
    """Whose error it is: that of the provider, world, user or infrastructure, as the rollout recorded it; `trajectory`
    (the line), `task` (unknown), `dataset` (another one, or defective), `judge`."""
    message: str
    """In words."""


UNNAMED = "unnamed"
"""Stands for an agent or a user whose name a trajectory does not give."""


class Speakers(NamedTuple):
    """Who held a conversation. Figures are of one agent with one user: no others are counted together."""

    agent: str
    user: str

    def __str__(self) -> str:
        return f"{self.agent} with {self.user}"


class Result(Record):
    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    id: str
    """`<task id>#<trial>`."""
    task_id: str
    """The task."""
    trial: int
    """Counted from 0."""
    world: str
    """The world; as the trajectory says where the task is unknown."""
    domains: list[str]
    """Servers whose domains the task lies in."""
    kind: str | None
    """The task's kind; None where the task is unknown."""
    split: str | None
    """The task's split; None where the task is unknown."""
    checks_version: str
    """Version of the checks, with the digest of their code and the settings that change scores."""
    passed: bool | None
    """The reward is 1; None where it could not be scored."""
    reward: float | None
    """Product of the checks in the task's `reward_basis`, from 0 to 1; None where it could not be scored."""
    checks: Checks
    """Each check that was made."""
    failure: FailureRecord | None = None
    """Of what did not pass: its class, and where it began."""
    error: ResultError | None = None
    """Why it could not be scored."""
    persona: str | None = None
    """The style of the user's persona."""
    noise: bool | None = None
    """Whether faults are planted in what the tools answer; None where the task is unknown."""
    calls: int | None = None
    """Golden calls of the task: its difficulty."""
    stop_reason: str | None = None
    """What ended the trajectory."""
    agent: str | None = None
    """`provider/model` of the agent."""
    user: str | None = None
    """`provider/model` of the user."""
    usage: RolloutUsage | None = None
    """Tokens and cost; None where the trajectory says nothing of them."""
    turns: int = 0
    """Messages of the agent."""
    task_digest: str | None = None
    """sha256 of the task's record that was scored against."""
    trajectory_digest: str
    """sha256 of the trajectory's line and of what it was scored with: a result is made again where it changes."""
    floor_nothing: float | None = None
    """The reward of doing nothing in this task."""
    floor_random: float | None = None
    """The reward of calls by chance in this task."""

    @property
    def scored(self) -> bool:
        """Whether it counts."""
        return self.error is None and self.passed is not None

    @property
    def speakers(self) -> Speakers:
        """Who held the conversation."""
        return Speakers(self.agent or UNNAMED, self.user or UNNAMED)
