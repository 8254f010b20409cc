"""A tally: it counts results one at a time, and keeps a few integers for each task and none for each trajectory.

It adds rewards, scores and costs as whole billionths, so that sums do not depend on the order of the results.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import isfinite
from sys import intern
from typing import NamedTuple

from skillweave.schema.result import Result, ResultErrorKind
from skillweave.schema.score import Checks
from skillweave.schema.trajectory import SpeakerUsage

BILLION = 10**9
NO_REWARD = "no_reward"
"""Why a result without an error has no reward: a check that counts did not run."""
COUNTED_AS_FAILURES: tuple[ResultErrorKind, ...] = ("provider", "world", "user", "infrastructure", "judge")
"""Errors of a trial. Other errors (an unreadable line, an unknown task, another dataset) belong to no trial."""
FAULTS: dict[bool | None, str] = {False: "no faults planted", True: "faults planted"}
"""Values of the trait `noise`: whether a task has planted faults."""
PLAIN = "plain"
"""Stands for the form of a request that has none."""


class Traits(NamedTuple):
    """The properties by which the summary groups a task."""

    world: str
    kind: str
    forms: tuple[str, ...]
    """Forms of the request; `PLAIN` if it has none; empty: unknown."""
    level: int
    """How difficult it is, from 1 to 5; 0: unknown."""
    split: str
    persona: str
    noise: str
    """One of `FAULTS`."""
    calls: int
    """Number of golden calls; 0: unknown."""
    domains: int
    """Number of domains; 0: unknown."""


@dataclass(slots=True)
class TaskTally:
    """The trials of one task."""

    traits: Traits
    trials: int = 0
    scored: int = 0
    passed: int = 0
    reward: int = 0
    """Sum over scored trials, in billionths."""
    floor_nothing: int | None = None
    """In billionths."""
    floor_random: int | None = None
    """In billionths."""


@dataclass(slots=True)
class Mean:
    total: int = 0
    """In billionths."""
    count: int = 0

    def add(self, value: float | None) -> None:
        """Add a value; anything but a finite number is ignored."""
        whole = billionths(value)
        if whole is not None:
            self.total += whole
            self.count += 1


@dataclass(slots=True)
class UsageTally:
    input_tokens: int = 0
    output_tokens: int = 0
    results: int = 0
    cost: Mean = field(default_factory=Mean)

    def add(self, usage: SpeakerUsage) -> None:
        """Add the tokens and the cost of one result."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.results += 1
        self.cost.add(usage.cost_usd)


@dataclass
class AgentTally:
    """Counts of the results of one agent with one user."""

    trajectories: int = 0
    not_scored: Counter[str] = field(default_factory=Counter)
    """Reason -> number of results without a score."""
    tasks: dict[str, TaskTally] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    """Number of failures by class."""
    checks: defaultdict[str, Mean] = field(default_factory=lambda: defaultdict(Mean))
    users_left: int = 0
    faulty_users: int = 0
    faulty_users_failed: int = 0
    confirmations: int = 0
    unconfirmed: int = 0
    calls: int = 0
    differing_calls: int = 0
    differing: int = 0
    calls_as_text: int = 0
    replies: int = 0
    agent: UsageTally = field(default_factory=UsageTally)
    user: UsageTally = field(default_factory=UsageTally)

    def add(self, result: Result) -> None:
        """Add one result."""
        self.trajectories += 1
        if result.scored or (result.error is not None and result.error.kind in COUNTED_AS_FAILURES):
            self._add_trial(result)
        if not result.scored:
            self.not_scored[result.error.kind if result.error is not None else NO_REWARD] += 1
        elif not result.passed:
            self.failures[result.failure.class_ if result.failure is not None else "other"] += 1
        self.calls_as_text += result.calls_as_text
        self.replies += result.turns if result.scored else 0
        self._add_checks(result.checks, failed=result.passed is False)
        if result.usage is not None:
            self.agent.add(result.usage.agent)
            self.user.add(result.usage.user)

    def _add_trial(self, result: Result) -> None:
        traits = traits_of(result)
        task = self.tasks.setdefault(result.task_id, TaskTally(traits))
        # If results disagree about their task, the outcome must not depend on their order.
        task.traits = max(task.traits, traits)
        task.trials += 1
        if result.scored:
            task.scored += 1
            task.passed += bool(result.passed)
            task.reward += billionths(result.reward) or 0
        task.floor_nothing = _larger(task.floor_nothing, billionths(result.floor_nothing))
        task.floor_random = _larger(task.floor_random, billionths(result.floor_random))

    def _add_checks(self, checks: Checks, *, failed: bool) -> None:
        for name, score in checks.scores().items():
            self.checks[name].add(score)
        if checks.user is not None:
            self.users_left += checks.user.left
            self.faulty_users += checks.user.score < 1
            self.faulty_users_failed += checks.user.score < 1 and failed
        if checks.policy is not None and checks.policy.unconfirmed is not None:
            self.confirmations += 1
            self.unconfirmed += bool(checks.policy.unconfirmed)
        if checks.replay is not None:
            self.calls += checks.replay.calls
            self.differing_calls += len(checks.replay.differs)
            self.differing += bool(checks.replay.differs)


def traits_of(result: Result) -> Traits:
    """The properties of a result's task."""
    forms = tuple(sorted(map(intern, result.forms or ())))
    return Traits(
        world=intern(result.world),
        kind=intern(result.kind or ""),
        forms=forms or (() if result.forms is None else (PLAIN,)),
        level=result.level or 0,
        split=intern(result.split or ""),
        persona=intern(result.persona or ""),
        noise=FAULTS.get(result.noise, ""),
        calls=result.calls or 0,
        domains=len(result.domains),
    )


def billionths(value: float | None) -> int | None:
    """The value as a whole number of billionths; None if it is not a finite number."""
    return round(value * BILLION) if value is not None and isfinite(value) else None


def _larger(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)
