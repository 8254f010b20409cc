"""Results: what the evaluator says of one trajectory, of one task over its trials, and of two agents side by side."""

from fractions import Fraction
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


class SpeakerNames(NamedTuple):
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
    def speakers(self) -> SpeakerNames:
        """Who held the conversation."""
        return SpeakerNames(self.agent or UNNAMED, self.user or UNNAMED)


class TeachingRecord(Record):
    task_id: str
    """The task."""
    world: str
    """Its world."""
    model: str
    """`provider/model` of the agent."""
    trials: int
    """Trials that were scored."""
    passes: int
    """Those with the reward 1."""


class NeverSolved(Record):
    """A task that no trial passed: hard, or wrong."""

    task_id: str
    """The task."""
    world: str
    """Its world."""
    trials: int
    """Trials that were scored."""
    failure: FailureClass
    """The most frequent class of failure."""
    failures: int
    """Trials of that class."""
    example: str
    """Id of the first result of that class."""
    first_divergence: Divergence | None
    """Where that one left the golden path."""


class ChangedTask(Record):
    """A task that one side does better than the other."""

    task_id: str
    """The task."""
    a_passed: int
    """Trials of the first that passed."""
    a_scored: int
    """Trials of the first that were scored."""
    b_passed: int
    """Trials of the second that passed."""
    b_scored: int
    """Trials of the second that were scored."""
    failure: FailureClass | None
    """The most frequent class of failure of the worse one."""

    @property
    def gain(self) -> Fraction:
        """Rate of the second less rate of the first."""
        return Fraction(self.b_passed, self.b_scored) - Fraction(self.a_passed, self.a_scored)


class AgentComparison(Record):
    """One agent's results against another's, or its own from before, task by task. Each task counts the same."""

    agent_a: str
    """The first agent."""
    user_a: str
    """Its simulated user."""
    agent_b: str
    """The second agent."""
    user_b: str
    """Its simulated user."""
    tasks: int
    """Tasks that both have scored trials of."""
    rate_a: float | None
    """Mean over them of the first's pass rate; None where there are none."""
    rate_b: float | None
    """The same of the second."""
    difference: float | None
    """`rate_b` less `rate_a`."""
    low: float | None
    """Lower end of its interval, by bootstrap over tasks."""
    high: float | None
    """Upper end."""
    p: float | None
    """Two-sided, of the sign-flip test over tasks; with one trial a task that is McNemar's exact test."""
    is_exact: bool
    """Whether `p` is exact, or of a seeded sample."""
    flipped: list[ChangedTask]
    """Tasks with different rates: those that the second does worse first, the largest differences before the others."""
    only_a: int
    """Tasks of which the first alone has scored trials."""
    only_b: int
    """Tasks of which the second alone has."""
    changed: int
    """Tasks that are not the same on both sides, by the digests of their records; they are not compared."""
    unscored_a: int
    """Results of the first without a score."""
    unscored_b: int
    """Results of the second without a score."""
    checks_versions: list[str]
    """Versions of the checks of both; with more than one the scores may differ by the checks alone."""


class AgentComparisons(Record):
    """What `compare --output` writes."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    comparisons: list[AgentComparison]
    """One for each pair of agents."""


class RescoredResult(Record):
    """A result that another version of the checks scores otherwise."""

    id: str
    """Of the trajectory."""
    agent: str
    """`provider/model`; `unnamed` where the trajectory does not say."""
    user: str
    """The same of the simulated user."""
    before: bool | None
    """Whether it passed; None: not scored."""
    after: bool | None
    """Whether it passes now; None: not scored."""
    class_before: FailureClass | None
    """How it failed before."""
    class_after: FailureClass | None
    """How it fails now."""
    version_before: str
    """Version of the checks before."""
    version_after: str
    """Version of the checks now."""
