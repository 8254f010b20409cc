"""One side of a trace analysis: the trajectories of a folder, scored and replayed.

Scores come from the evaluator alone: from earlier results where they still hold, else made now in its worker pool.
Calls are then replayed once more in this process, which takes milliseconds each, to see what each one did. A line
that brings a worker down has no score, and so is not replayed here.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.explain.evidence import is_unreadable
from evaluator.replay.execution import ExecutedCall
from evaluator.replay.rollouts import RolloutIndex, find_rollouts
from evaluator.replay.trial import ReplayedTrial, UnreadableTrajectoryError
from evaluator.report.conversation import ShownConversation, conversation_of
from evaluator.report.results import key_of
from evaluator.report.tally import NO_REWARD
from evaluator.scoring.evaluate import NotScoredError
from evaluator.scoring.worker_pool import EvaluationJob
from interop.export.scores import Scorer, results_files, score
from learn.traces.figures import UNKNOWN_TOOL, CallFigures, TraceSide
from rollout.folder import RUN
from skillweave.base.command import counted, one_line
from skillweave.base.errors import ConfigError
from skillweave.base.manifest import MANIFEST
from skillweave.base.store import Store, digest_json
from skillweave.schema.contract import TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.result import Result, SpeakerNames
from skillweave.schema.task import Split
from skillweave.world.tools import name_of

NAMED_LINES = 3
"""Unreadable lines that are named; the others are counted."""


@dataclass(frozen=True)
class MeasuredTrajectory:
    """What the agent did in one trajectory."""

    figures: CallFigures
    tools: Counter[str]
    """Calls of each tool."""
    failed: Counter[str]
    """Those of them that ended in an error."""


@dataclass
class ScoredFolder:
    """The trajectories of a rollouts folder with their results. All are of one agent with one user."""

    title: str
    rollouts: RolloutIndex
    scorer: Scorer
    speakers: SpeakerNames
    results: list[Result] = field(default_factory=list)
    """By task and trial; the unscored too."""

    @property
    def scored(self) -> list[Result]:
        """The results with a score."""
        return [result for result in self.results if result.scored]

    def measured(self, result: Result) -> MeasuredTrajectory | None:
        """What the agent did in the trajectory of a result; None where it cannot be replayed any more."""
        with suppress(NotScoredError, UnreadableTrajectoryError):
            return measure(self.scorer.evaluator.trial(self._job(result)), result)
        return None

    def conversation(self, result: Result) -> ShownConversation | None:
        """The trajectory of a result for people to read; None where it cannot be replayed any more."""
        with suppress(NotScoredError, UnreadableTrajectoryError):
            return conversation_of(self.scorer.evaluator.scored(self._job(result)), result)
        return None

    def record(self, calls: CallFigures) -> TraceSide:
        """The side as the figures give it."""
        unscored = Counter(_reason(result) for result in self.results if not result.scored)
        return TraceSide.model_validate(
            {
                "title": self.title,
                "agent": self.speakers.agent,
                "user": self.speakers.user,
                "trajectories": len(self.results),
                "scored": len(self.scored),
                "not_scored": dict(sorted(unscored.items())),
                "unreadable": [one_line(str(line)) for line in self.rollouts.bad[:NAMED_LINES]],
                "unreadable_lines": len(self.rollouts.bad),
                "calls": calls,
            }
        )

    def _job(self, result: Result) -> EvaluationJob:
        key = key_of(result)
        place = self.rollouts.places[key]
        return EvaluationJob(key, self.rollouts.files[place.file], place, result.trajectory_digest)


def scored_folder(title: str, rollouts: Path, scorer: Scorer, store: Store, split: Split | None = None) -> ScoredFolder:
    """Score the trajectories of a folder.

    Args:
        title: What to call this side.
        rollouts: The folder.
        scorer: Evaluates what has no result yet.
        store: Where new results are kept until the analysis is written.
        split: Only trajectories of this split's tasks; None: all.

    Raises:
        ConfigError: The folder holds no trajectory, those of several agents or users, or none with a score.
        ArtifactError: The folder or its results cannot be read.
    """
    index = find_rollouts(rollouts)
    speakers = _only_speakers(index, rollouts)
    earlier = results_files(scorer.setup.tasks, rollouts, None)
    tasks = scorer.evaluator.tasks.tasks
    wanted = [
        key
        for key, place in index.places.items()
        if split is None or (place.task_id in tasks and tasks[place.task_id].split == split)
    ]
    if not wanted:
        raise ConfigError(
            f"{str(rollouts)!r} holds no trajectory of a task of the split {split!r}; give another --split"
        )
    found = score(scorer, index, wanted, earlier, store)
    results = sorted((result for _, result, _ in found), key=lambda result: (result.task_id, result.trial, result.id))
    side = ScoredFolder(title, index, scorer, speakers, results)
    if not side.scored:
        raise ConfigError(f"no trajectory in {str(rollouts)!r} has a score: {_why(results)}")
    return side


def require_one_run(rollouts: Path) -> None:
    """Raise ConfigError if there is no such folder, if it is a dataset, or if it holds the trajectories of several
    runs."""
    if not rollouts.exists():
        raise ConfigError(f"there is no rollouts folder {str(rollouts)!r}; give the one that a rollout run wrote")
    if (rollouts / MANIFEST).is_file():
        raise ConfigError(f"{str(rollouts)!r} is a dataset; give a folder that `rollout run` wrote")
    runs = sorted(path.parent for path in rollouts.rglob(RUN)) if rollouts.is_dir() else []
    if len(runs) > 1:
        raise ConfigError(
            f"{str(rollouts)!r} holds the trajectories of {len(runs)} runs; give one of them, such as {str(runs[0])!r}"
        )


def _only_speakers(index: RolloutIndex, rollouts: Path) -> SpeakerNames:
    every = sorted({key.speakers for key in index.places})
    if not every:
        raise ConfigError(
            f"{str(rollouts)!r} holds no trajectory ({counted(len(index.bad), 'line')} cannot be read); "
            "give a folder that `rollout run` wrote"
        )
    if len(every) > 1:
        names = "; ".join(map(str, every))
        raise ConfigError(f"{str(rollouts)!r} holds trajectories of: {names}; give a folder for each of them")
    return every[0]


def _why(results: Sequence[Result]) -> str:
    """Why none of them has a score, in words: the most frequent reason, and what to do."""
    kinds = Counter(map(_reason, results))
    kind, count = min(kinds.items(), key=lambda item: (-item[1], item[0]))
    example = next((result.error.message for result in results if result.error and result.error.kind == kind), kind)
    advice = "; give the dataset that they were made in with --outputs" if kind in ("dataset", "task") else ""
    return f"{counted(count, 'time')} {kind}, for example: {example}{advice}"


def _reason(result: Result) -> str:
    """Why a result has no score."""
    return result.error.kind if result.error else NO_REWARD


def measure(trial: ReplayedTrial, result: Result) -> MeasuredTrajectory:
    """What the agent did in a trajectory, from its replay and its result."""
    calls = trial.execution.calls
    offered = frozenset(map(name_of, trial.world.tools))
    names = [call.tool if call.tool in offered else UNKNOWN_TOOL for call in calls]
    unconfirmed = result.checks.policy.unconfirmed if result.checks.policy else None
    asking = [call for call in calls if call.ok and call.tool in trial.world.confirmed]
    figures = CallFigures(
        trajectories=1,
        turns=result.turns,
        calls=len(calls),
        failed=sum(not call.ok for call in calls),
        malformed=sum(map(is_unreadable, calls)),
        repeated=sum(_repeats(calls)),
        writes=sum(call.writes for call in calls),
        asking=len(asking) if unconfirmed is not None else 0,
        unconfirmed=len(unconfirmed or ()),
        transfers=int(any(call.ok and call.tool == TRANSFER for call in calls)),
    )
    failed = Counter(name for name, call in zip(names, calls, strict=True) if not call.ok)
    return MeasuredTrajectory(figures, Counter(names), failed)


def _repeats(calls: Sequence[ExecutedCall]) -> Iterator[bool]:
    """For each call, whether it is equal to an earlier one with nothing written between."""
    seen: set[str] = set()
    for call in calls:
        given: Json = [call.tool, call.arguments]
        digest = digest_json(given)
        yield digest in seen
        if call.writes:
            seen.clear()
        seen.add(digest)


def added(figures: Sequence[CallFigures]) -> CallFigures:
    """The sum of the figures."""
    return CallFigures(**{name: sum(getattr(one, name) for one in figures) for name in CallFigures.model_fields})
