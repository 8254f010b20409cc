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
    estimate: float
    """Mean over tasks."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    tasks: int
    """Tasks that count: those with at least so many scored trials."""


class RewardFloors(Record):
    """What is had for nothing: mean reward over the tasks for which it is known."""

    nothing: float | None
    """Of doing and saying nothing; None where no result says."""
    random: float | None
    """Of calls by chance; None where no result says."""


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
    """Passed, of those scored; None where none was."""
    rate_errors_as_failures: float | None
    """Passed, of all trials."""
    mean_reward: float | None
    """Over scored trials."""
    floors: RewardFloors
    """What doing nothing and chance earn in these tasks."""
    pass_at_k: dict[int, Estimate]
    """k -> the chance that at least one of k trials passes. k goes up to where half of the tasks have as many trials;
    beyond 8 by powers of two."""
    pass_hat_k: dict[int, Estimate]
    """k -> the chance that all of k trials pass."""


class FailureCount(Record):
    count: int
    """Trials of this class."""
    share: float
    """Of all trials that failed."""


class CheckMean(Record):
    mean: float
    """Mean score."""
    results: int
    """Results in which the check was made."""


MAX_LEFT_SHARE = 0.02
"""Where a user leaves a larger share of the conversations, scores with it are unreliable."""


class UserFigures(Record):
    """What the simulated user did wrong."""

    lost: int
    """Trajectories that were not scored because the user's text could not be used."""
    lost_share: float
    """Of all trajectories."""
    checked: int
    """Results in which the user was checked."""
    left: int
    """Those in which it left while a question was open, its request neither done, declined nor handed over
    (`user_left`)."""
    left_share: float | None
    """Of those checked; None where none was."""
    faulty: int
    """Those in which it said what it cannot know."""
    faulty_failed: int
    """Those of them that failed."""

    @property
    def is_unreliable(self) -> bool:
        """Whether it left too often for scores with it to be relied on."""
        return self.left_share is not None and self.left_share > MAX_LEFT_SHARE


class ConfirmationTotals(Record):
    checked: int
    """Results in which confirmation was looked at."""
    unconfirmed: int
    """Those with a write that asks for the user's word and was made without it."""


class ReplayTotals(Record):
    calls: int
    """Calls made again."""
    differs: int
    """Those whose recorded result is not the one that the replay gave."""
    results_that_differ: int
    """Results with such a call."""


class TokenTotals(Record):
    input_tokens: int
    """Tokens sent."""
    output_tokens: int
    """Tokens sampled."""
    results: int
    """Results whose tokens are known."""
    cost_usd: float | None
    """None where the cost of a result is unknown."""
    results_with_cost: int
    """Results whose cost is known."""


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
    """Why not -> how many: the kind of the error, or `no_reward` where a check that counts was not made."""
    not_scored_share: float
    """Of all trajectories."""
    overall: TrialGroup
    """All trials."""
    by: dict[str, dict[str, TrialGroup]]
    """`world`, `domains`, `kind`, `split`, `difficulty`, `persona`, `noise` -> value -> its trials."""
    failures: dict[str, FailureCount]
    """Class of failure -> how many, most frequent first."""
    checks: dict[str, CheckMean]
    """Check -> its mean, over scored results and others."""
    simulated_user: UserFigures
    """What the user did wrong."""
    confirmation: ConfirmationTotals
    """Writes without the user's word."""
    replay: ReplayTotals
    """Calls made again."""
    spent: dict[Literal["agent", "user"], TokenTotals]
    """What the models took."""


class EvaluationSummary(Record):
    """What was scored, agent by agent."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str | None
    """Digest of the dataset that was scored against."""
    unreadable_lines: int = 0
    """Lines of the rollouts that are no trajectories; there are no results of them."""
    checks_versions: list[str]
    """Versions of the checks; more than one: results that are not to be compared."""
    level: float
    """Level of the intervals."""
    resamples: int
    """Resamples of tasks behind each interval."""
    by_agent: list[AgentSummary]
    """One for each agent with each user, by name."""


class PassCount(Record):
    tasks: int
    """Tasks tried and scored."""
    passed: int
    """Of these."""

    @property
    def rate(self) -> float:
        """The share that passed; 0 of no tasks."""
        return self.passed / self.tasks if self.tasks else 0.0


class Rung(Record):
    agent: str
    """`oracle`, of the agents that play without a model."""
    overall: PassCount
    """All tasks."""
    reward: float
    """The mean over scored tasks."""
    by_kind: dict[Kind, PassCount]
    """The tasks of each kind."""
    lost: int = 0
    """Conversations that could not be scored."""


class Ladder(Record):
    """One conversation of each agent in each task, scored by the evaluator."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    seed: int
    """Of the run's configuration: it draws the sample and what agents and users do."""
    sample: int | None
    """Tasks of each world; None: all of them."""
    tasks: int
    """Tasks that each agent was given."""
    rungs: list[Rung]
    """In the order in which they are to stand."""
    decided: list[str] = Field(default_factory=list)
    """Ids of the tasks that a rule decides which no tool of the request holds: it forbids the request, or demands
    another call before it. `policy_blind` must fail each."""
    oracle_failed: list[str] = Field(default_factory=list)
    """Ids of the tasks that the oracle did not pass."""
    wrong: list[str] = Field(default_factory=list)
    """What is not as it must be, in words."""

    def rung(self, agent: str) -> Rung:
        """That agent's; KeyError if it was not asked."""
        for rung in self.rungs:
            if rung.agent == agent:
                return rung
        raise KeyError(agent)


class VariantCount(Record):
    made: int
    """Variants of this sort."""
    right: int
    """How many were said rightly: mutants killed, equivalents passed."""


class MisjudgedVariant(Record):
    """A variant of which the evaluator says the wrong thing."""

    task: str
    """The task's id."""
    sort: str
    """The sort of variant."""
    must: Literal["pass", "fail"]
    """What was to be said of it."""
    what: str
    """What was changed in it."""
    differs: list[str] = Field(default_factory=list)
    """How its end state differs from the one demanded."""
    why: str
    """What the checks said, and what they cannot see."""


class HeldOutReport(Record):
    """The evaluator's word on every variant of the second set."""

    format: Literal["skillweave/1"] = "skillweave/1"
    """The version of this record."""
    dataset: str
    """Digest of the dataset."""
    tasks: int
    """Tasks that had such variants."""
    mutants: dict[str, VariantCount]
    """Wrong trajectories, by sort."""
    equivalents: dict[str, VariantCount]
    """Right ones, by sort."""
    survivors: list[MisjudgedVariant]
    """All that were said wrongly."""
