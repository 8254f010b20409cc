"""Figures over many results: the summary of an evaluation, the ladder of scripted agents, and the held-out variants.

The summary gives, for each agent with each user, rates with their intervals, by group, and what went wrong. Nothing is
counted over several agents or users. Intervals are by bootstrap over tasks. Errors that are not the agent's (of the
provider, the world, the user, the infrastructure or the judge) are left out of `rate` and count as failures in
`rate_errors_as_failures`.
"""

from typing import Literal

from pydantic import Field

from skillweave.schema.record import Record
from skillweave.schema.task import Kind


class Estimate(Record):
    """A mean over tasks with its interval."""

    estimate: float
    """Mean over tasks."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    tasks: int
    """Tasks that count: those with enough scored trials."""


class RewardFloors(Record):
    """Rewards that need no skill: means over the tasks for which they are known."""

    nothing: float | None
    """Reward of doing and saying nothing; None if no result tells it."""
    random: float | None
    """Reward of random calls; None if no result tells it."""


class TrialGroup(Record):
    """Trials of tasks that have something in common."""

    tasks: int
    """Tasks with at least one trial."""
    trials: int
    """Trials that were scored, or that count as failures in `rate_errors_as_failures`."""
    scored: int
    """Trials that were scored."""
    passed: int
    """Trials with the reward 1."""
    rate: float | None
    """Share of the scored trials that passed; None if none was scored."""
    rate_errors_as_failures: float | None
    """Share of all trials that passed; None if there are none."""
    mean_reward: float | None
    """Mean reward of the scored trials; None if none was scored."""
    floors: RewardFloors
    """What doing nothing and random calls earn in these tasks."""
    pass_at_k: dict[int, Estimate]
    """k -> the chance that at least one of k trials passes. k goes as far as half of the tasks have that many trials;
    above 8 in powers of two."""
    pass_hat_k: dict[int, Estimate]
    """k -> the chance that all of k trials pass."""


class FailureCount(Record):
    """How often trials failed in one way."""

    count: int
    """Failed trials of this class."""
    share: float
    """Share of all failed trials."""


class CheckMean(Record):
    """The mean score of one check."""

    mean: float
    """Mean score."""
    results: int
    """Results in which the check was made."""


MAX_LEFT_SHARE = 0.02
"""Scores are unreliable if the user leaves more than this share of the conversations."""


class UserFigures(Record):
    """What the simulated user did wrong."""

    lost: int
    """Trajectories that were not scored because the user's text was unusable."""
    lost_share: float
    """Share of all trajectories."""
    checked: int
    """Results in which the user was checked."""
    left: int
    """Results in which the user left while a question was open, with its request neither done, declined nor handed
    over, or without a word of what it wanted later (`user_left`)."""
    left_share: float | None
    """Share of the checked results; None if none was checked."""
    faulty: int
    """Results in which the user said what it cannot know."""
    faulty_failed: int
    """Faulty results that failed."""

    @property
    def is_unreliable(self) -> bool:
        """Whether the user left so often that scores are unreliable."""
        return self.left_share is not None and self.left_share > MAX_LEFT_SHARE


class ConfirmationTotals(Record):
    """Whether writes that need the user's confirmation had it."""

    checked: int
    """Results in which confirmation was checked."""
    unconfirmed: int
    """Results with a write that needs confirmation and was made without it."""


class ReplayTotals(Record):
    """How recorded results compare with those of the replay."""

    calls: int
    """Calls made again."""
    differs: int
    """Calls whose recorded result is not the replay's."""
    results_that_differ: int
    """Results with such a call."""


class TokenTotals(Record):
    """What the models used."""

    input_tokens: int
    """Tokens sent."""
    output_tokens: int
    """Tokens sampled."""
    results: int
    """Results whose token counts are known."""
    cost_usd: float | None
    """US dollars; None if the cost of a result is unknown."""
    results_with_cost: int
    """Results whose cost is known."""


class TextCallTotals(Record):
    """Calls that arrived as text, which nobody made: the agent's server has no parser of tool calls."""

    calls: int
    """Replies that hold one."""
    replies: int
    """All replies of the agent in scored trajectories."""


class AgentSummary(Record):
    """The trajectories of one agent with one user."""

    agent: str
    """`provider/model`; `unnamed` where the trajectories do not say."""
    user: str
    """`provider/model` of the simulated user; `unnamed` where the trajectories do not say."""
    trajectories: int
    """All of them."""
    scored: int
    """Those with a reward."""
    not_scored: dict[str, int]
    """Reason -> trajectories: the kind of the error, or `no_reward` if a check that counts was not made."""
    not_scored_share: float
    """Share of all trajectories."""
    overall: TrialGroup
    """All trials."""
    by: dict[str, dict[str, TrialGroup]]
    """`world`, `domains`, `kind`, `form`, `level`, `split`, `difficulty`, `persona`, `noise` -> value -> its trials. A
    task counts for each form of its request; one without counts as `plain`. `difficulty` is its number of golden
    calls."""
    failures: dict[str, FailureCount]
    """Class of failure -> how many, most frequent first."""
    checks: dict[str, CheckMean]
    """Check -> its mean, over all results in which it was made, scored or not."""
    simulated_user: UserFigures
    """What the user did wrong."""
    confirmation: ConfirmationTotals
    """Writes without the user's confirmation."""
    replay: ReplayTotals
    """The calls made again."""
    spent: dict[Literal["agent", "user"], TokenTotals]
    """What the models used."""
    calls_as_text: TextCallTotals | None = Field(default=None, exclude_if=lambda value: value is None)
    """Replies that hold a call as text; the key is left out where there are none."""


class EvaluationSummary(Record):
    """`summary.json`: what was scored, agent by agent."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str | None
    """Digest of the dataset that was scored against."""
    unreadable_lines: int = 0
    """Lines of the rollouts that are no trajectories; there are no results for them."""
    checks_versions: list[str]
    """Versions of the checks; if there is more than one, the results must not be compared."""
    level: float
    """Confidence level of the intervals."""
    resamples: int
    """Bootstrap resamples of tasks behind each interval."""
    by_agent: list[AgentSummary]
    """One for each agent with each user, sorted by name."""


class PassCount(Record):
    """How many tasks an agent passed."""

    tasks: int
    """Tasks tried and scored."""
    passed: int
    """Tasks passed."""

    @property
    def rate(self) -> float:
        """The share that passed; 0 if there are no tasks."""
        return self.passed / self.tasks if self.tasks else 0.0


class Rung(Record):
    """The results of one scripted agent."""

    agent: str
    """Its name: `oracle`."""
    overall: PassCount
    """All tasks."""
    reward: float
    """Mean reward over scored tasks."""
    by_kind: dict[Kind, PassCount]
    """Kind of task -> its tasks."""
    by_form: dict[str, PassCount] = Field(default_factory=dict)
    """Form of request, or `plain` -> its tasks; a task counts for each of its forms."""
    by_level: dict[str, PassCount] = Field(default_factory=dict)
    """Level of difficulty -> its tasks."""
    lost: int = 0
    """Conversations that could not be scored."""


class Ladder(Record):
    """`ladder.json`: how far each scripted agent gets, with one conversation in each task."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    seed: int
    """The configuration's seed; it draws the sample and what agents and users do."""
    sample: int | None
    """Tasks drawn from each world; None: all of them."""
    tasks: int
    """Tasks that each agent was given."""
    rungs: list[Rung]
    """The agents in the order in which they should stand."""
    decided: list[str] = Field(default_factory=list)
    """Ids of the tasks that depend on a rule that no tool of the request enforces: it forbids the request, or demands
    another call before it. `policy_blind` must fail each."""
    oracle_failed: list[str] = Field(default_factory=list)
    """Ids of the tasks that the oracle did not pass."""
    wrong: list[str] = Field(default_factory=list)
    """What is not as it should be, in words."""

    def rung(self, agent: str) -> Rung:
        """The results of an agent. Raises KeyError if it was not tried."""
        for rung in self.rungs:
            if rung.agent == agent:
                return rung
        raise KeyError(agent)


class VariantCount(Record):
    """Variants of one sort."""

    made: int
    """How many were tried."""
    right: int
    """How many were judged rightly: mutants that failed, equivalents that passed."""


class MisjudgedVariant(Record):
    """A variant that the evaluator judges wrongly."""

    task: str
    """The task's id."""
    sort: str
    """The sort of variant."""
    must: Literal["pass", "fail"]
    """What the evaluator should have said."""
    what: str
    """What was changed in it."""
    differs: list[str] = Field(default_factory=list)
    """How its end state differs from the demanded one."""
    why: str
    """What the checks said, and what they cannot see."""


class HeldOutReport(Record):
    """The second set of variants, by which no task was kept or dropped: whether the evaluator judges them rightly."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    tasks: int
    """Tasks with such variants."""
    mutants: dict[str, VariantCount]
    """Wrong trajectories, by sort."""
    equivalents: dict[str, VariantCount]
    """Other right trajectories, by sort."""
    survivors: list[MisjudgedVariant]
    """All variants that were judged wrongly."""
