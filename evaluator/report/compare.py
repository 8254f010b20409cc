"""Compares agents task by task, and results before and after a change of checks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product

from evaluator.report.statistics import paired
from evaluator.report.summary import COMPARED, in_order, values_of
from evaluator.report.tally import Traits, traits_of
from evaluator.report.terminal import print_line, print_table
from skillweave.base.command import percent
from skillweave.schema.result import (
    AgentComparison,
    ChangedTask,
    FailureClass,
    GroupComparison,
    RescoredResult,
    Result,
    SpeakerNames,
)


@dataclass(slots=True)
class _Trials:
    """The scored trials of one task."""

    passed: int = 0
    scored: int = 0
    traits: Traits | None = None
    failures: Counter[FailureClass] = field(default_factory=Counter)
    digests: set[str] = field(default_factory=set)


@dataclass(slots=True)
class AgentResults:
    """The results of one agent with one user."""

    tasks: dict[str, _Trials] = field(default_factory=dict)
    unscored: int = 0
    versions: set[str] = field(default_factory=set)

    def add(self, result: Result) -> None:
        """Add one result."""
        self.versions.add(result.checks_version)
        if not result.scored:
            self.unscored += 1
            return
        trials = self.tasks.setdefault(result.task_id, _Trials())
        traits = traits_of(result)
        trials.traits = max(trials.traits or traits, traits)
        trials.scored += 1
        trials.passed += bool(result.passed)
        if result.task_digest is not None:
            trials.digests.add(result.task_digest)
        if result.failure is not None:
            trials.failures[result.failure.class_] += 1


ResultsByAgent = dict[SpeakerNames, AgentResults]


def results_by_agent(results: Iterable[Result]) -> ResultsByAgent:
    """The results of each agent with each user."""
    by_agent: ResultsByAgent = {}
    for result in results:
        by_agent.setdefault(result.speakers, AgentResults()).add(result)
    return dict(sorted(by_agent.items()))


def compare(
    a: ResultsByAgent, b: ResultsByAgent | None = None, *, agents: Sequence[str] = (), seed: int = 0
) -> list[AgentComparison]:
    """Compare agents task by task.

    Without `b`, compare the agents of `a` with each other. With `b`, compare each agent with itself in `b`, or the only
    agent of `a` with the only agent of `b`. `agents` names the agents to compare: one, or the first and the second.
    """
    pairs = _pairs_within(a, agents) if b is None else _pairs_between(a, b, agents)
    # Results with different users say little about the agents.
    pairs = [(first, second) for first, second in pairs if first.user == second.user] or pairs
    other = a if b is None else b
    return [_comparison(first, a[first], second, other[second], seed) for first, second in pairs]


def _pairs_within(sides: ResultsByAgent, agents: Sequence[str]) -> list[tuple[SpeakerNames, SpeakerNames]]:
    if not agents:
        return list(combinations(sides, 2))
    named = [(first, other) for first, other in product(sides, sides) if first != other and first.agent == agents[0]]
    if len(agents) == 1:
        return [(first, other) for first, other in named if first.agent != other.agent]
    return [(first, other) for first, other in named if other.agent == agents[1]]


def _pairs_between(
    a: ResultsByAgent, b: ResultsByAgent, agents: Sequence[str]
) -> list[tuple[SpeakerNames, SpeakerNames]]:
    if not agents and len(a) == len(b) == 1:
        return list(product(a, b))
    if not agents:
        return [(left, other) for left, other in product(a, b) if left.agent == other.agent]
    first, second = agents[0], agents[-1]
    return [(left, other) for left, other in product(a, b) if (left.agent, other.agent) == (first, second)]


def _comparison(
    speakers_a: SpeakerNames, first: AgentResults, speakers_b: SpeakerNames, second: AgentResults, seed: int
) -> AgentComparison:
    common = sorted(first.tasks.keys() & second.tasks.keys())
    same = [id for id in common if not _is_changed(first.tasks[id], second.tasks[id])]
    every = [_flip(id, first.tasks[id], second.tasks[id]) for id in same]
    rates_a = [Fraction(task.a_passed, task.a_scored) for task in every]
    rates_b = [Fraction(task.b_passed, task.b_scored) for task in every]
    significance = paired(rates_a, rates_b, seed=seed) if every else None
    flipped = [task for task in every if task.gain]
    return AgentComparison(
        agent_a=speakers_a.agent,
        user_a=speakers_a.user,
        agent_b=speakers_b.agent,
        user_b=speakers_b.user,
        tasks=len(every),
        rate_a=_mean(rates_a),
        rate_b=_mean(rates_b),
        difference=significance.difference if significance else None,
        low=significance.interval.low if significance else None,
        high=significance.interval.high if significance else None,
        p=significance.p if significance else None,
        is_exact=significance is None or significance.is_exact,
        by={name: _groups(name, every, first.tasks) for name in COMPARED},
        flipped=sorted(flipped, key=lambda task: (task.gain, task.task_id)),
        only_a=len(first.tasks) - len(common),
        only_b=len(second.tasks) - len(common),
        changed=len(common) - len(same),
        unscored_a=first.unscored,
        unscored_b=second.unscored,
        checks_versions=sorted(first.versions | second.versions),
    )


def _groups(name: str, every: Sequence[ChangedTask], known: Mapping[str, _Trials]) -> dict[str, GroupComparison]:
    """Both sides' rates for each value of a trait."""
    members: dict[str, list[ChangedTask]] = {}
    for task in every:
        traits = known[task.task_id].traits
        for value in values_of(traits, name) if traits else ():
            members.setdefault(value, []).append(task)
    return {value: _group(members[value]) for value in in_order(name, members)}


def _group(tasks: Sequence[ChangedTask]) -> GroupComparison:
    rate_a = sum(Fraction(task.a_passed, task.a_scored) for task in tasks) / len(tasks)
    rate_b = sum(Fraction(task.b_passed, task.b_scored) for task in tasks) / len(tasks)
    return GroupComparison(tasks=len(tasks), rate_a=float(rate_a), rate_b=float(rate_b))


def _is_changed(a: _Trials, b: _Trials) -> bool:
    return bool(a.digests and b.digests) and a.digests != b.digests


def _flip(id: str, a: _Trials, b: _Trials) -> ChangedTask:
    worse = a if a.passed * b.scored < b.passed * a.scored else b
    classes = sorted(worse.failures, key=lambda name: (-worse.failures[name], name))
    return ChangedTask(
        task_id=id,
        a_passed=a.passed,
        a_scored=a.scored,
        b_passed=b.passed,
        b_scored=b.scored,
        failure=classes[0] if classes else None,
    )


def _mean(rates: list[Fraction]) -> float | None:
    return float(sum(rates) / len(rates)) if rates else None


def flips(old: Iterable[Result], new: Iterable[Result]) -> Iterator[RescoredResult]:
    """Results that pass in only one of the two, or are scored in only one of them, in the order of `new`.

    Only the outcomes of the old results stay in memory. Agent, user and id identify a result.
    """
    known = {(one.speakers, one.id): (one.passed, _class(one), one.checks_version) for one in old}
    for result in new:
        before = known.get((result.speakers, result.id))
        if before is not None and before[0] is not result.passed:
            yield RescoredResult(
                id=result.id,
                agent=result.speakers.agent,
                user=result.speakers.user,
                before=before[0],
                after=result.passed,
                class_before=before[1],
                class_after=_class(result),
                version_before=before[2],
                version_after=result.checks_version,
            )


def _class(result: Result) -> FailureClass | None:
    return result.failure.class_ if result.failure is not None else None


def show_comparison(comparison: AgentComparison, place_a: str = "A", place_b: str = "B") -> None:
    """Print a comparison. The agent names a side, or the folder if both sides have the same agent."""
    first, second = (
        SpeakerNames(comparison.agent_a, comparison.user_a),
        SpeakerNames(comparison.agent_b, comparison.user_b),
    )
    users = comparison.user_a != comparison.user_b
    a, b = (str(first), str(second)) if users else (comparison.agent_a, comparison.agent_b)
    if first == second:
        a, b = place_a, place_b
        print_line(f"{first}:")
    if comparison.difference is None:
        print_line("no task has scored trials on both sides")
    else:
        print_line(
            f"{comparison.tasks} tasks: {a} {_rate(comparison.rate_a)}, {b} {_rate(comparison.rate_b)}; "
            f"difference {_points(comparison.difference)} points "
            f"[{_points(comparison.low)}, {_points(comparison.high)}], "
            f"p = {comparison.p:.2g}{'' if comparison.is_exact else ' (sampled)'}"
        )
    aside = {
        f"only in {a}": comparison.only_a,
        f"only in {b}": comparison.only_b,
        "changed": comparison.changed,
        f"results of {a} not scored": comparison.unscored_a,
        f"results of {b} not scored": comparison.unscored_b,
    }
    noted = [f"{count} {what}" for what, count in aside.items() if count]
    if noted:
        print_line(f"left out: {', '.join(noted)}")
    if len(comparison.checks_versions) > 1:
        print_line(f"the checks are not of one version: {', '.join(comparison.checks_versions)}")
    for trait, groups in comparison.by.items():
        if len(groups) > 1:
            each = [(value, f"{of.tasks}", _rate(of.rate_a), _rate(of.rate_b)) for value, of in groups.items()]
            print_table(f"By {trait}", (trait, "tasks", a, b), each)
    rows = [
        (task.task_id, f"{task.a_passed}/{task.a_scored}", f"{task.b_passed}/{task.b_scored}", task.failure or "")
        for task in comparison.flipped
    ]
    print_table(f"{len(comparison.flipped)} tasks with another rate", ("task", a, b, "failure of the worse"), rows)


def _rate(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _points(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:+.1f}"


def show_flips(rescored: Iterable[RescoredResult]) -> None:
    """Print the results that flipped, and how many of each kind."""
    kinds: Counter[tuple[str, str, str]] = Counter()
    rows: list[tuple[str, ...]] = []
    for result in rescored:
        before, after = _outcome(result.before, result.class_before), _outcome(result.after, result.class_after)
        speakers = str(SpeakerNames(result.agent, result.user))
        kinds[speakers, before, after] += 1
        rows.append((result.id, speakers, before, after, result.version_before, result.version_after))
    print_line(f"{kinds.total()} results flipped")
    print_table("Flips", ("result", "agent", "before", "after", "checks before", "checks after"), rows)
    ordered = sorted(kinds.items(), key=lambda item: (item[0][0], -item[1], item[0]))
    print_table("By outcome", ("agent", "before", "after", "results"), [(*kind, str(count)) for kind, count in ordered])


def _outcome(passed: bool | None, failure: FailureClass | None) -> str:
    return "not scored" if passed is None else "passed" if passed else failure or "failed"
