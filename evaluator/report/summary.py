"""The summary of an evaluation: it counts results one at a time, by agent and user."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from sys import maxsize
from typing import NamedTuple, get_args

from evaluator.kinds import KINDS
from evaluator.report.statistics import LEVEL, RESAMPLES, Interval, Row, bootstrap_rows, pass_at_k, pass_hat_k
from evaluator.report.tally import BILLION, FAULTS, PLAIN, AgentTally, TaskTally, Traits, UsageTally
from skillweave.schema.evaluation import (
    AgentSummary,
    CheckMean,
    ConfirmationTotals,
    Estimate,
    EvaluationSummary,
    FailureCount,
    ReplayTotals,
    RewardFloors,
    TextCallTotals,
    TokenTotals,
    TrialGroup,
    UserFigures,
)
from skillweave.schema.result import Result, SpeakerNames
from skillweave.schema.task import Split

UNKNOWN = "unknown"
"""The group of results that lack the value."""
MANY_CALLS = 10
"""Tasks with at least so many golden calls form one group."""
EACH_K = 8
"""Above this k, pass@k and pass^k are given for powers of two only."""


class SummaryBuilder:
    """Adds results one at a time. Memory grows with the tasks; the order of the results does not matter."""

    def __init__(self, dataset: str | None = None, *, seed: int = 0, unreadable: int = 0) -> None:
        """`dataset` is the digest of the dataset; `seed` seeds the resamples; `unreadable` counts lines that are no
        trajectories and so have no results."""
        self._unreadable = unreadable
        self._dataset = dataset
        self._seed = seed
        self._tallies: dict[SpeakerNames, AgentTally] = {}
        self._versions: set[str] = set()

    def add(self, result: Result) -> None:
        """Add one result."""
        self._tallies.setdefault(result.speakers, AgentTally()).add(result)
        self._versions.add(result.checks_version)

    def record(self) -> EvaluationSummary:
        """The summary of the results so far."""
        return EvaluationSummary(
            dataset=self._dataset,
            unreadable_lines=self._unreadable,
            checks_versions=sorted(self._versions),
            level=LEVEL,
            resamples=RESAMPLES,
            by_agent=[_of_agent(*pair, f"{self._seed}") for pair in sorted(self._tallies.items(), key=itemgetter(0))],
        )


def summarise(results: Iterable[Result], dataset: str | None = None, *, seed: int = 0) -> EvaluationSummary:
    """The summary of these results."""
    summary = SummaryBuilder(dataset, seed=seed)
    for result in results:
        summary.add(result)
    return summary.record()


def _of_agent(speakers: SpeakerNames, tally: AgentTally, seed: str) -> AgentSummary:
    lost = sum(tally.not_scored.values())
    return AgentSummary(
        agent=speakers.agent,
        user=speakers.user,
        trajectories=tally.trajectories,
        scored=tally.trajectories - lost,
        not_scored=dict(sorted(tally.not_scored.items())),
        not_scored_share=_share(lost, tally.trajectories) or 0.0,
        overall=_group(list(tally.tasks.values()), seed),
        by=_groups(tally, seed),
        failures=_failures(tally.failures),
        checks={
            name: CheckMean(mean=mean.total / mean.count / BILLION, results=mean.count)
            for name, mean in sorted(tally.checks.items())
            if mean.count
        },
        simulated_user=_user(tally),
        confirmation=ConfirmationTotals(checked=tally.confirmations, unconfirmed=tally.unconfirmed),
        replay=ReplayTotals(calls=tally.calls, differs=tally.differing_calls, results_that_differ=tally.differing),
        calls_as_text=TextCallTotals(calls=tally.calls_as_text, replies=tally.replies) if tally.calls_as_text else None,
        spent={
            "agent": _spent(tally.agent, tally.trajectories),
            "user": _spent(tally.user, tally.trajectories),
        },
    )


def _user(tally: AgentTally) -> UserFigures:
    lost, checked = tally.not_scored["user"], tally.checks["user"].count
    return UserFigures(
        lost=lost,
        lost_share=_share(lost, tally.trajectories) or 0.0,
        checked=checked,
        left=tally.users_left,
        left_share=_share(tally.users_left, checked),
        faulty=tally.faulty_users,
        faulty_failed=tally.faulty_users_failed,
    )


def _spent(usage: UsageTally, results: int) -> TokenTotals:
    known = usage.cost.count
    return TokenTotals(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        results=usage.results,
        cost_usd=usage.cost.total / BILLION if known == results else None,
        results_with_cost=known,
    )


def _failures(classes: Counter[str]) -> dict[str, FailureCount]:
    total = sum(classes.values())
    ordered = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    return {name: FailureCount(count=count, share=count / total) for name, count in ordered}


class _Trait(NamedTuple):
    """A property by which the summary groups tasks."""

    of: Callable[[Traits], Iterable[str]]
    """The values of a task; a task may belong to several groups. Empty texts, and none at all, are unknown."""
    order: Callable[[str], tuple[int, str]]


def _in_order(names: Collection[str]) -> Callable[[str], tuple[int, str]]:
    """Sort key: these names first, in their order; others by name."""
    places = {name: place for place, name in enumerate(names)}
    return lambda value: (places.get(value, len(places)), value)


def _difficulty(calls: int) -> str:
    return _DIFFICULTIES[min(calls, MANY_CALLS) - 1] if calls > 0 else UNKNOWN


def _domains(count: int) -> str:
    return f"{count} domain{'s' * (count > 1)}" if count else UNKNOWN


def _by_count(value: str) -> tuple[int, str]:
    """Sort key: the fewest first, the unknown last."""
    count = value.partition(" ")[0]
    return (int(count) if count.isdecimal() else maxsize, value)


_DIFFICULTIES = ["1 call", *(f"{calls} calls" for calls in range(2, MANY_CALLS)), f"{MANY_CALLS} and more calls"]
_TRAITS = {
    "world": _Trait(lambda traits: [traits.world], _in_order([])),
    "domains": _Trait(lambda traits: [_domains(traits.domains)], _by_count),
    "kind": _Trait(lambda traits: [traits.kind], _in_order([*KINDS])),
    "form": _Trait(lambda traits: traits.forms, _in_order([PLAIN])),
    "level": _Trait(lambda traits: [f"{traits.level}" if traits.level else UNKNOWN], _by_count),
    "split": _Trait(lambda traits: [traits.split], _in_order(get_args(Split))),
    "difficulty": _Trait(lambda traits: [_difficulty(traits.calls)], _in_order(_DIFFICULTIES)),
    "persona": _Trait(lambda traits: [traits.persona], _in_order([])),
    "noise": _Trait(lambda traits: [traits.noise], _in_order(FAULTS.values())),
}


COMPARED = ("kind", "form", "level")
"""Traits by which agents are compared."""


def values_of(traits: Traits, name: str) -> list[str]:
    """The values of one trait that a task has: several forms, one of anything else."""
    return [*filter(None, _TRAITS[name].of(traits))] or [UNKNOWN]


def in_order(name: str, values: Iterable[str]) -> list[str]:
    """Values of one trait in their order, each once."""
    return sorted({*values}, key=_TRAITS[name].order)


def side_by_side(agents: Sequence[AgentSummary]) -> dict[str, list[str]]:
    """The compared traits in which tasks differ, each with its values; earlier summaries lack some traits."""
    values = {name: [value for agent in agents for value in agent.by.get(name, ())] for name in COMPARED}
    return {name: in_order(name, each) for name, each in values.items() if len({*each}) > 1 or name == "kind"}


def _groups(tally: AgentTally, seed: str) -> dict[str, dict[str, TrialGroup]]:
    groups: dict[str, dict[str, TrialGroup]] = {}
    for name in _TRAITS:
        members: dict[str, list[TaskTally]] = {}
        for task in tally.tasks.values():
            for value in values_of(task.traits, name):
                members.setdefault(value, []).append(task)
        groups[name] = {v: _group(members[v], f"{seed}/{name}/{v}") for v in in_order(name, members)}
    return groups


def _group(tasks: Sequence[TaskTally], seed: str) -> TrialGroup:
    trials, scored, passed, reward = (
        sum(getattr(task, name) for task in tasks) for name in ("trials", "scored", "passed", "reward")
    )
    counts = Counter((task.scored, task.passed) for task in tasks if task.scored)
    estimates = _estimates(counts, seed)
    return TrialGroup(
        tasks=len(tasks),
        trials=trials,
        scored=scored,
        passed=passed,
        rate=_share(passed, scored),
        rate_errors_as_failures=_share(passed, trials),
        mean_reward=_share(reward, scored * BILLION),
        floors=RewardFloors(
            nothing=_mean([task.floor_nothing for task in tasks]), random=_mean([task.floor_random for task in tasks])
        ),
        pass_at_k={k: both[0] for k, both in estimates.items()},
        pass_hat_k={k: both[1] for k, both in estimates.items()},
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / (len(known) * BILLION) if known else None


def _estimates(counts: Mapping[tuple[int, int], int], seed: str) -> dict[int, tuple[Estimate, Estimate]]:
    """pass@k and pass^k for each k. `counts` maps (scored trials, passes) to a number of tasks.

    Values of k for which the same tasks have enough trials share their resamples, which saves most of the work.
    """
    estimates: dict[int, tuple[Estimate, Estimate]] = {}
    ks_of: dict[int, list[int]] = {}
    for k in _ks(counts):
        ks_of.setdefault(sum(tasks for (n, _), tasks in counts.items() if n >= k), []).append(k)
    for tasks, ks in ks_of.items():
        rows: Counter[Row] = Counter()
        for (n, c), number in sorted(counts.items()):
            if n >= ks[-1]:
                rows[tuple(measure(n, c, k) for k in ks for measure in (pass_at_k, pass_hat_k))] += number
        intervals = bootstrap_rows(rows, seed=f"{seed}/{ks[0]}")
        ordered = sorted(rows.items())
        means = [sum(row[at] * number for row, number in ordered) / tasks for at in range(len(intervals))]
        each = [_estimate(mean, interval, tasks) for mean, interval in zip(means, intervals, strict=True)]
        estimates.update({k: (each[2 * at], each[2 * at + 1]) for at, k in enumerate(ks)})
    return estimates


def _estimate(mean: float, interval: Interval, tasks: int) -> Estimate:
    return Estimate(estimate=mean, low=interval.low, high=interval.high, tasks=tasks)


def _ks(counts: Mapping[tuple[int, int], int]) -> list[int]:
    """Each k for which at least half of the tasks have as many scored trials."""
    trials: Counter[int] = Counter()
    for (n, _), tasks in counts.items():
        trials[n] += tasks
    most = tasks_counted = 0
    for n in sorted(trials, reverse=True):
        tasks_counted += trials[n]
        if 2 * tasks_counted >= trials.total():
            most = n
            break
    return [k for k in range(1, most + 1) if k <= EACH_K] + _powers_of_two(EACH_K, most)


def _powers_of_two(above: int, most: int) -> list[int]:
    return [1 << power for power in range(most.bit_length()) if above < 1 << power <= most]
