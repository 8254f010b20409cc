"""What changed between two sides: passes, tasks, failures, calls; and the examples that show it. Pure functions."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from evaluator.report.compare import ResultsByAgent, compare, results_by_agent
from evaluator.report.summary import in_order, values_of
from evaluator.report.tally import traits_of
from learn.traces.figures import (
    PASSED,
    OutcomeMove,
    TaskMove,
    TaskMoves,
    ToolFigures,
    TraceExample,
    TraceFigures,
    TraceOutcome,
)
from learn.traces.side import MeasuredTrajectory, ScoredFolder, added
from skillweave.base.errors import ConfigError
from skillweave.schema.result import AgentComparison, GroupComparison, Result

EXAMPLES = 4
"""Most examples of tasks gained, and of tasks lost."""
GROUPED = ("world", "split")
"""Traits by which tasks are grouped, beside those of a comparison of agents."""
SIGNS: dict[TaskMove, int] = {"gained": 1, "lost": -1}
"""What the pass rate does."""


class ResultPair(NamedTuple):
    """Results of one task before and after."""

    before: Result
    after: Result


def figures_of(before: ScoredFolder, after: ScoredFolder, *, seed: int = 0) -> TraceFigures:
    """What changed between two sides.

    Args:
        seed: Seeds the resamples of the interval.

    Raises:
        ConfigError: They have no task in common.
    """
    a, b = results_by_agent(before.scored), results_by_agent(after.scored)
    [passes] = compare(a, b, seed=seed)
    if passes.difference is None:
        first, second = (sorted({result.task_id for result in side.scored})[0] for side in (before, after))
        raise ConfigError(
            f"no task has scored trajectories in both folders: {before.title} has {passes.only_a} tasks such as "
            f"{first!r}, {after.title} {passes.only_b} such as {second!r}; give two rollouts of the same tasks"
        )
    common = {result.task_id for result in before.scored} & {result.task_id for result in after.scored}
    pairs = paired_results(before.scored, after.scored)
    measured = _measured(before, common), _measured(after, common)
    return TraceFigures(
        dataset=before.scorer.evaluator.worlds.digest,
        before=before.record(added([one.figures for one in measured[0]])),
        after=after.record(added([one.figures for one in measured[1]])),
        passes=passes.model_copy(update={"unscored_a": _unscored(before), "unscored_b": _unscored(after)}),
        groups={trait: _group(trait, before.scored, a, b, common) for trait in GROUPED},
        tasks=_moves(passes, a, b, common),
        outcomes=_outcome_moves(pairs),
        tools=_tools(*measured),
        examples=chosen_examples(pairs, passes),
    )


def _unscored(side: ScoredFolder) -> int:
    return len(side.results) - len(side.scored)


def _measured(side: ScoredFolder, tasks: Collection[str]) -> list[MeasuredTrajectory]:
    every = (side.measured(result) for result in side.scored if result.task_id in tasks)
    return [one for one in every if one is not None]


def paired_results(before: Sequence[Result], after: Sequence[Result]) -> list[ResultPair]:
    """The results of each common task, the trials in their order; trials that one side has more are left out."""
    first, second = _by_task(before), _by_task(after)
    return [
        ResultPair(*pair)
        for id in sorted(first.keys() & second.keys())
        for pair in zip(first[id], second[id], strict=False)
    ]


def _by_task(results: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: (result.task_id, result.trial, result.id)):
        found.setdefault(result.task_id, []).append(result)
    return found


def _group(
    trait: str, known: Sequence[Result], a: ResultsByAgent, b: ResultsByAgent, common: Collection[str]
) -> dict[str, GroupComparison]:
    """The pass rates of both sides for each value of a trait."""
    members: dict[str, set[str]] = {}
    for result in known:
        if result.task_id in common:
            for value in values_of(traits_of(result), trait):
                members.setdefault(value, set()).add(result.task_id)
    rates_a, rates_b = _rates(a), _rates(b)
    return {
        value: GroupComparison(
            tasks=len(members[value]),
            rate_a=float(sum(rates_a[id] for id in members[value]) / len(members[value])),
            rate_b=float(sum(rates_b[id] for id in members[value]) / len(members[value])),
        )
        for value in in_order(trait, members)
    }


def _rates(side: ResultsByAgent) -> dict[str, Fraction]:
    """The pass rate of each task."""
    return {
        id: Fraction(trials.passed, trials.scored) for results in side.values() for id, trials in results.tasks.items()
    }


def _moves(passes: AgentComparison, a: ResultsByAgent, b: ResultsByAgent, common: Collection[str]) -> TaskMoves:
    rates_a, rates_b = _rates(a), _rates(b)
    failing = sum(not rates_a[id] and not rates_b[id] for id in common)
    return TaskMoves(
        gained=sorted(task.task_id for task in passes.flipped if task.gain > 0),
        lost=sorted(task.task_id for task in passes.flipped if task.gain < 0),
        kept=passes.tasks - len(passes.flipped) - failing,
        failing=failing,
    )


def outcome_of(result: Result) -> TraceOutcome:
    """How a scored trajectory ended."""
    return PASSED if result.passed else result.failure.class_ if result.failure else "other"


def _outcome_moves(pairs: Sequence[ResultPair]) -> list[OutcomeMove]:
    counts = Counter((outcome_of(pair.before), outcome_of(pair.after)) for pair in pairs)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [OutcomeMove(before=before, after=after, trajectories=count) for (before, after), count in ordered]


def _tools(before: Sequence[MeasuredTrajectory], after: Sequence[MeasuredTrajectory]) -> list[ToolFigures]:
    """Each tool that was called, the largest changes first."""
    calls = [sum((one.tools for one in side), Counter[str]()) for side in (before, after)]
    failed = [sum((one.failed for one in side), Counter[str]()) for side in (before, after)]
    found = [
        ToolFigures(
            tool=tool,
            calls_before=calls[0][tool],
            calls_after=calls[1][tool],
            failed_before=failed[0][tool],
            failed_after=failed[1][tool],
            before=calls[0][tool] / max(len(before), 1),
            after=calls[1][tool] / max(len(after), 1),
        )
        for tool in {*calls[0], *calls[1]}
    ]
    return sorted(found, key=lambda one: (-abs(one.difference), one.tool))


def chosen_examples(pairs: Sequence[ResultPair], passes: AgentComparison) -> list[TraceExample]:
    """A few pairs of tasks gained and lost. Worlds and classes of failure that have no example yet come first."""
    gain = {task.task_id: task.gain for task in passes.flipped}
    found: list[TraceExample] = []
    for move, sign in SIGNS.items():
        wanted = [
            pair
            for pair in pairs
            if sign * gain.get(pair.before.task_id, 0) > 0
            and bool(pair.after.passed) - bool(pair.before.passed) == sign
        ]
        found += [_example(move, pair) for pair in _spread(wanted, move)]
    return found


def _spread(pairs: Sequence[ResultPair], move: TaskMove) -> Iterator[ResultPair]:
    """At most EXAMPLES pairs, one a task; each time the one whose world and class were shown least."""
    left = {pair.before.task_id: pair for pair in reversed(pairs)}
    worlds: Counter[str] = Counter()
    classes: Counter[str] = Counter()

    def order(id: str) -> tuple[int, int, str]:
        worse = _worse(left[id], move)
        return worlds[worse.world] + classes[outcome_of(worse)], worlds[worse.world], id

    while left and worlds.total() < EXAMPLES:
        pair = left.pop(min(left, key=order))
        worse = _worse(pair, move)
        worlds[worse.world] += 1
        classes[outcome_of(worse)] += 1
        yield pair


def _worse(pair: ResultPair, move: TaskMove) -> Result:
    return pair.before if move == "gained" else pair.after


def _example(move: TaskMove, pair: ResultPair) -> TraceExample:
    failure = _worse(pair, move).failure
    return TraceExample(
        move=move,
        task_id=pair.before.task_id,
        before=pair.before.id,
        after=pair.after.id,
        failure=failure.class_ if failure else "other",
    )


def by_class(moves: Sequence[OutcomeMove]) -> dict[TraceOutcome, tuple[int, int]]:
    """Outcome -> trajectories that ended so before and after."""
    before, after = Counter[TraceOutcome](), Counter[TraceOutcome]()
    for move in moves:
        before[move.before] += move.trajectories
        after[move.after] += move.trajectories
    return {outcome: (before[outcome], after[outcome]) for outcome in sorted({*before, *after})}


def groups_of(figures: TraceFigures) -> Mapping[str, Mapping[str, GroupComparison]]:
    """World, split, kind, form and level -> value -> its tasks."""
    return {**figures.groups, **figures.passes.by}
