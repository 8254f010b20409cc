"""The worker pool: workers that open a dataset and evaluate trajectories, a batch at a time.

If a worker dies, its batch is tried again line by line. A line that ends a worker by itself gets a result that
says so.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from evaluator.replay.rollouts import LinePosition, TrajectoryKey
from evaluator.replay.trial import (
    RecordedSpeaker,
    RecordedTrajectory,
    ReplayedTrial,
    ScoredTrial,
    UnreadableTrajectoryError,
    read_trajectory,
)
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from skillweave.base.errors import ArtifactError
from skillweave.base.store import digest_json
from skillweave.schema.result import Result, ResultError
from skillweave.workers import Workers
from skillweave.world.dataset import QUERIES, Dataset

BATCHES_AHEAD = 3
"""Batches queued for each worker."""


@dataclass(frozen=True)
class EvaluationSetup:
    """What every process needs to evaluate."""

    tasks: Path
    """Outputs folder with the tasks."""
    worlds: Path
    """Outputs folder with their worlds; it may be the same."""
    settings: CheckSettings


class EvaluationJob(NamedTuple):
    """One trajectory to evaluate."""

    key: TrajectoryKey
    path: Path
    """File with its line."""
    place: LinePosition
    digest: str
    """Digest of the line and of all that the result depends on; a result with another digest is stale."""


class DatasetEvaluator:
    """Evaluates trajectories of one dataset, read from their files. Not thread-safe."""

    def __init__(self, setup: EvaluationSetup) -> None:
        """Open the dataset. Raises ArtifactError where a folder is no outputs folder."""
        self._settings = setup.settings
        self.tasks = Dataset(setup.tasks)
        self.worlds = self.tasks if setup.worlds == setup.tasks else Dataset(setup.worlds)
        self.evaluator = Evaluator(self.tasks, self.worlds, setup.settings)
        self._open: tuple[Path, IO[bytes]] | None = None
        """The file read last: trials of one world stand in one file."""

    @property
    def fingerprint(self) -> str:
        """Digest of all that results depend on, apart from the trajectories."""
        settings = {name: value for name, value in sorted(vars(self._settings).items()) if name != "cache"}
        return digest_json([self.tasks.digest, self.worlds.digest, repr(settings)])

    def asks_for_rubric(self) -> bool:
        """Whether the reward of any task counts the rubric."""
        files = (self.tasks.store.file(f"{QUERIES}/{world}.jsonl") for world in self.tasks.tasks.worlds)
        if not any(b'"rubric"' in line for file in files for line in file.open("rb")):
            return False
        return any(self._asks(id) for id in self.tasks.tasks)

    def _asks(self, id: str) -> bool:
        """Whether a task counts the rubric; False for a task that cannot be read."""
        with suppress(ArtifactError):
            return "rubric" in self.tasks.tasks[id].criteria.reward_basis
        return False

    def recorded(self, job: EvaluationJob) -> RecordedTrajectory:
        """Read a trajectory. Raises UnreadableTrajectoryError."""
        if self._open is None or self._open[0] != job.path:
            if self._open is not None:
                self._open[1].close()
            self._open = job.path, job.path.open("rb")
        stream = self._open[1]
        stream.seek(job.place.offset)
        return read_trajectory(stream.read(job.place.length))

    def trial(self, job: EvaluationJob) -> ReplayedTrial:
        """Replay a trajectory. Raises NotScoredError, UnreadableTrajectoryError."""
        return self.evaluator.trial(self.recorded(job))

    def scored(self, job: EvaluationJob) -> ScoredTrial:
        """Replay a trajectory and make its checks. Raises NotScoredError, UnreadableTrajectoryError."""
        return self.evaluator.scored(self.recorded(job))

    def result(self, job: EvaluationJob) -> Result:
        """Evaluate a trajectory. A failure of the evaluator itself becomes an error of this one result."""
        try:
            return self.evaluator.evaluate(self.recorded(job), job.digest)
        except UnreadableTrajectoryError as error:
            return self.unscored(job, ResultError(kind="trajectory", message=str(error)), job.digest)
        except (ArtifactError, OSError):
            raise
        except Exception as error:
            return self.unscored(job, evaluator_failure(f"the evaluator failed: {type(error).__name__}: {error}"))

    def unscored(self, job: EvaluationJob, error: ResultError, digest: str = "") -> Result:
        """The result of a line of which only the ids are known. Without a digest, the next run makes it again."""
        id, trial = job.key.id, job.key.id.rpartition("#")[2]
        line = RecordedTrajectory(
            id=id,
            task_id=job.place.task_id,
            trial=int(trial) if trial.isdecimal() else 0,
            model=job.key.agent or None,
            user=RecordedSpeaker(backend=job.key.user or None),
        )
        return self.evaluator.unscored(line, digest, error)


def evaluator_failure(message: str) -> ResultError:
    """A failure of the evaluator itself: it costs one result, is shown, and the next run tries again."""
    return ResultError(kind="infrastructure", message=message)


class FinishedJob(NamedTuple):
    """One result as a line of JSON, and whether it is an error."""

    job: EvaluationJob
    line: bytes
    is_error: bool


def evaluate_all(
    setup: EvaluationSetup, batches: Iterable[Sequence[EvaluationJob]], workers: Workers, most: int
) -> Iterator[FinishedJob]:
    """Evaluate batches of trajectories.

    Args:
        setup: What every worker needs.
        batches: The trajectories.
        workers: Those who evaluate.
        most: Workers at once, at least 1.

    Returns:
        The results, in the order in which they are finished.
    """
    waiting = deque(batches)
    suspects: deque[Sequence[EvaluationJob]] = deque()
    while waiting or suspects:
        alone = not waiting
        source, count = (suspects, 1) if alone else (waiting, most)
        with workers.executor(count) as pool:
            lost = yield from _drained(pool, setup, source, count * BATCHES_AHEAD if not alone else 1)
        if len(lost) == 1 and alone:
            yield _died(setup, lost[0])
        else:
            suspects.extend([job] for job in lost)


def _drained(
    pool: Executor, setup: EvaluationSetup, batches: deque[Sequence[EvaluationJob]], ahead: int
) -> Generator[FinishedJob, None, list[EvaluationJob]]:
    """Evaluate the batches. Returns the jobs that were under way when a worker died."""
    under_way: dict[Future[list[FinishedJob]], Sequence[EvaluationJob]] = {}
    try:
        while batches or under_way:
            while batches and len(under_way) < ahead:
                under_way[pool.submit(_evaluated, setup, batches[0])] = batches[0]
                batches.popleft()
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                results = future.result()
                del under_way[future]
                yield from results
    except BrokenExecutor:
        return [job for batch in under_way.values() for job in batch]
    return []


_worker_evaluator = cache(DatasetEvaluator)
"""One for each process: opening a dataset takes time."""


def _evaluated(setup: EvaluationSetup, batch: Sequence[EvaluationJob]) -> list[FinishedJob]:
    """Called in a worker."""
    return [finished_job(job, _worker_evaluator(setup).result(job)) for job in batch]


def finished_job(job: EvaluationJob, result: Result) -> FinishedJob:
    """A result as the line to be written."""
    line = result.model_dump_json(by_alias=True).encode()
    return FinishedJob(job, line, result.error is not None)


def _died(setup: EvaluationSetup, job: EvaluationJob) -> FinishedJob:
    error = evaluator_failure("the process that evaluated it died; run the same command again")
    return finished_job(job, DatasetEvaluator(setup).unscored(job, error))
