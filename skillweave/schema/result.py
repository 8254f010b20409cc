"""Results: what the evaluator says of one trajectory, of one task over its trials, and of two agents side by side."""

from fractions import Fraction
from typing import Literal, NamedTuple

from pydantic import ConfigDict, Field

from skillweave.schema.criteria import FormName
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
    "malformed_call": "A demanded call was tried only with arguments or a name that nobody can carry out, or as text.",
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
    """The agent's message there, counted from 0; None if nothing was said."""
    message: int | None
    """Position of that message in the trajectory, from 0."""
    call: int | None
    """The call of the trajectory there, counted from 0; None if the divergence is not a call."""
    expected: str
    """What the golden path has there."""
    got: str
    """What the trajectory has there."""


class FailureRecord(Record):
    """How a trajectory failed."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), populate_by_name=True)

    class_: FailureClass = Field(alias="class", serialization_alias="class")
    """What kind of failure it is."""
    first_divergence: Divergence
    """Where it began."""


class ResultError(Record):
    """Why a trajectory could not be scored."""

    kind: ResultErrorKind
    """Where the error lies: the provider, world, user or infrastructure, as the rollout recorded it; `trajectory` (the
    line), `task` (unknown), `dataset` (another one, or defective), `judge`."""
    message: str
    """The error in words."""


UNNAMED = "unnamed"
"""Name of an agent or a user whose name a trajectory does not give."""


class SpeakerNames(NamedTuple):
    """Who held a conversation. Figures are for one agent with one user; nothing is counted over several."""

    agent: str
    """`provider/model` of the agent."""
    user: str
    """`provider/model` of the simulated user."""

    def __str__(self) -> str:
        return f"{self.agent} with {self.user}"


class Result(Record):
    """`results.jsonl`: what the evaluator says of one trajectory."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    id: str
    """`<task id>#<trial>`."""
    task_id: str
    """The task."""
    trial: int
    """Counted from 0."""
    world: str
    """The world; if the task is unknown, the one that the trajectory names."""
    domains: list[str]
    """Servers whose domains the task lies in."""
    kind: str | None
    """The task's kind; None if the task is unknown."""
    split: str | None
    """The task's split; None if the task is unknown."""
    checks_version: str
    """Version of the checks, with a digest of their code and of the settings that change scores."""
    passed: bool | None
    """Whether the reward is 1; None if it could not be scored."""
    reward: float | None
    """Product of the checks in the task's `reward_basis`, from 0 to 1; None if it could not be scored."""
    checks: Checks
    """Every check that was made."""
    failure: FailureRecord | None = None
    """For a trajectory that did not pass: the class of failure and where it began."""
    error: ResultError | None = None
    """Why it could not be scored."""
    persona: str | None = None
    """The style of the user's persona."""
    noise: bool | None = None
    """Whether faults are planted in what the tools answer; None if the task is unknown."""
    calls: int | None = None
    """Golden calls of the task."""
    forms: list[FormName] | None = None
    """The forms in which the task's request is put; empty if it is a plain one, None if the task is unknown."""
    level: int | None = None
    """How difficult the task is, from 1 to 5; None if it is unknown."""
    stop_reason: str | None = None
    """What ended the trajectory."""
    agent: str | None = None
    """`provider/model` of the agent."""
    user: str | None = None
    """`provider/model` of the user."""
    usage: RolloutUsage | None = None
    """Tokens and cost; None if the trajectory does not say."""
    turns: int = 0
    """Number of the agent's messages."""
    calls_as_text: int = Field(default=0, exclude_if=lambda value: not value)
    """Those of them that hold a call as text, which nobody made; the key is left out where there are none."""
    task_digest: str | None = None
    """sha256 of the task's record that was scored against."""
    trajectory_digest: str
    """sha256 of the trajectory's line and of what it was scored with; if it changes, the result is made again."""
    floor_nothing: float | None = None
    """The reward of doing nothing in this task."""
    floor_random: float | None = None
    """The reward of random calls in this task."""

    @property
    def scored(self) -> bool:
        """Whether it has a score and counts."""
        return self.error is None and self.passed is not None

    @property
    def speakers(self) -> SpeakerNames:
        """Who held the conversation."""
        return SpeakerNames(self.agent or UNNAMED, self.user or UNNAMED)


class TeachingRecord(Record):
    """`taught.jsonl`: how often one strong model passed a task."""

    task_id: str
    """The task."""
    world: str
    """Its world."""
    model: str
    """`provider/model` of the agent."""
    trials: int
    """Trials that were scored."""
    passes: int
    """Trials with the reward 1."""


class NeverSolved(Record):
    """`never_solved.jsonl`: a task that no trial passed. It is hard, or wrong."""

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
    """Where that result left the golden path."""


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
    """The most frequent class of failure of the worse side."""

    @property
    def gain(self) -> Fraction:
        """Pass rate of the second minus pass rate of the first."""
        return Fraction(self.b_passed, self.b_scored) - Fraction(self.a_passed, self.a_scored)


class GroupComparison(Record):
    """Tasks that have something in common, with the results of both sides."""

    tasks: int
    """Tasks with scored trials of both."""
    rate_a: float
    """Mean pass rate of the first over these tasks."""
    rate_b: float
    """Mean pass rate of the second over these tasks."""


class AgentComparison(Record):
    """Results of two agents, or of one agent before and after, task by task. Each task counts the same."""

    agent_a: str
    """The first agent."""
    user_a: str
    """Its simulated user."""
    agent_b: str
    """The second agent."""
    user_b: str
    """Its simulated user."""
    tasks: int
    """Tasks with scored trials of both."""
    rate_a: float | None
    """Mean pass rate of the first over these tasks; None if there are none."""
    rate_b: float | None
    """Mean pass rate of the second over these tasks; None if there are none."""
    difference: float | None
    """`rate_b` minus `rate_a`."""
    low: float | None
    """Lower end of the difference's interval, by bootstrap over tasks."""
    high: float | None
    """Upper end of that interval."""
    p: float | None
    """Two-sided p-value of the sign-flip test over tasks; with one trial a task that is McNemar's exact test."""
    is_exact: bool
    """Whether `p` is exact; otherwise it is from a seeded sample."""
    by: dict[str, dict[str, GroupComparison]] = Field(default_factory=dict)
    """`kind`, `form`, `level` -> value -> its tasks. A task counts for each form of its request, or as `plain`."""
    flipped: list[ChangedTask]
    """Tasks with different rates: first those that the second does worse, the largest differences first."""
    only_a: int
    """Tasks with scored trials of the first only."""
    only_b: int
    """Tasks with scored trials of the second only."""
    changed: int
    """Tasks whose records differ between the two sides; they are not compared."""
    unscored_a: int
    """Results of the first without a score."""
    unscored_b: int
    """Results of the second without a score."""
    checks_versions: list[str]
    """Versions of the checks on both sides; with more than one, scores may differ because of the checks alone."""


class AgentComparisons(Record):
    """What `compare --output` writes."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    comparisons: list[AgentComparison]
    """One for each pair of agents."""


class RescoredResult(Record):
    """A result that another version of the checks scores differently."""

    id: str
    """Id of the trajectory."""
    agent: str
    """`provider/model` of the agent; `unnamed` if the trajectory does not say."""
    user: str
    """`provider/model` of the simulated user; `unnamed` if the trajectory does not say."""
    before: bool | None
    """Whether it passed; None: it was not scored."""
    after: bool | None
    """Whether it passes now; None: it is not scored."""
    class_before: FailureClass | None
    """How it failed before."""
    class_after: FailureClass | None
    """How it fails now."""
    version_before: str
    """Version of the checks before."""
    version_after: str
    """Version of the checks now."""
