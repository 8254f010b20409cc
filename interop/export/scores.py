"""Scores: what the evaluator says of each trajectory. What an earlier evaluation said is taken where it still holds.

A result holds if it is of the same line, the same dataset, the same checks and settings: its digest is of all these.
The others are made now. The score that a trajectory records of itself is never read.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from evaluator.cli.options import EvaluationOptions
from evaluator.judge.judge import Judge
from evaluator.replay.rollouts import RolloutIndex, TrajectoryKey
from evaluator.report.results import key_of
from evaluator.scoring.evaluate import checks_version
from evaluator.scoring.score import reward_of
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup, evaluate_all
from interop.export.examples import LineSpot
from skillweave.base.errors import ConfigError
from skillweave.base.progress import progress
from skillweave.base.store import CACHE, Store, digest_json
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.config.sections import Config
from skillweave.schema.result import Result
from skillweave.schema.task import Task
from skillweave.workers import opened_workers
from skillweave.world.dataset import Dataset

OWN_RESULTS = f"{CACHE}/results.jsonl"
"""The results that an export makes, until it is finished."""
BATCH = 32
"""Trajectories in one batch of a worker."""


@dataclass(frozen=True)
class Scorer:
    """Evaluates the trajectories of an export, with the settings of the configuration."""

    options: EvaluationOptions
    setup: EvaluationSetup
    evaluator: DatasetEvaluator

    @property
    def fingerprint(self) -> str:
        """Digest of all that results depend on, apart from the trajectories."""
        return self.evaluator.fingerprint


def open_scorer(
    outputs: Path, rollouts: Path, workers: int | None, cache: Path, config: Config | None = None
) -> Scorer:
    """Open what evaluates. Raises ConfigError, ArtifactError.

    Args:
        outputs: The dataset.
        rollouts: The trajectories.
        workers: Processes; None: as the configuration says.
        cache: A file that keeps digests of code.
        config: The configuration, with `outputs` in it; None: it is loaded.
    """
    values = {"outputs_dir": str(outputs), "evaluation.max_workers": workers}
    options = EvaluationOptions(rollouts=rollouts, values=values, quiet=True, loaded=config)
    options.load_plugins()
    setup = options.setup(checks_version(options.settings, cache))
    return Scorer(options, setup, DatasetEvaluator(setup))


def results_files(outputs: Path, rollouts: Path, given: Path | None) -> list[Path]:
    """The files in which earlier results may stand. Raises ConfigError if the given one is missing."""
    if given is not None:
        file = given / "results.jsonl" if given.is_dir() else given
        if not file.is_file():
            raise ConfigError(f"there are no results at {str(given)!r}; leave --results out, and they are made now")
        return [file]
    name = rollouts.resolve().stem if rollouts.is_file() else rollouts.resolve().name
    folder = outputs / "evaluation"
    return [file for file in (folder / "results.jsonl", folder / name / "results.jsonl") if file.is_file()]


def score(
    scorer: Scorer,
    rollouts: RolloutIndex,
    wanted: Sequence[TrajectoryKey],
    earlier: Sequence[Path],
    store: Store,
) -> Iterator[tuple[TrajectoryKey, Result, LineSpot]]:
    """The result of each trajectory, and where it stands; in no order.

    Args:
        scorer: Evaluates what has no result yet.
        rollouts: Where the trajectories stand.
        wanted: Those to be scored.
        earlier: Files with earlier results.
        store: The export's folder, which keeps new results until the export is finished.
    """
    jobs = {job.key: job for job in _jobs(scorer, rollouts, wanted)}
    own = store.path(OWN_RESULTS)
    fingerprint, judge = scorer.fingerprint, _judge(scorer) if earlier else []
    held: set[TrajectoryKey] = set()
    dataset = Dataset(scorer.setup.tasks)

    def valid(key: TrajectoryKey, digest: str) -> bool:
        line = rollouts.places[key].digest.hex()
        return digest == jobs[key].digest or (bool(judge) and digest == digest_json([fingerprint, *judge, line]))

    def standing(file: Path) -> Iterator[tuple[TrajectoryKey, Result, LineSpot]]:
        for result, spot in _results(file):
            key = key_of(result)
            if key not in jobs or key in held or not valid(key, result.trajectory_digest):
                continue
            if result.error is not None or _agrees(result, dataset.tasks[result.task_id]):
                held.add(key)
                yield key, result, spot

    for file in [*earlier, own]:
        yield from standing(file)
    owed = [job for key, job in jobs.items() if key not in held]
    if owed:
        _evaluate(scorer, owed, store)
        yield from standing(own)


def _jobs(scorer: Scorer, rollouts: RolloutIndex, wanted: Sequence[TrajectoryKey]) -> Iterator[EvaluationJob]:
    fingerprint = scorer.fingerprint
    for key in sorted(wanted, key=lambda key: (rollouts.places[key].task_id, key)):
        place = rollouts.places[key]
        digest = digest_json([fingerprint, place.digest.hex()])
        yield EvaluationJob(key, rollouts.files[place.file], place, digest)


def _judge(scorer: Scorer) -> list[str]:
    """Name and version of the judge, which digests of judged results hold; empty if there is none."""
    options = scorer.options
    if options.judged or scorer.evaluator.asks_for_rubric():
        with suppress(ConfigError):
            judge = Judge(options.config, checks=options.judged)
            return [judge.name, judge.version]
    return []


def _results(file: Path) -> Iterator[tuple[Result, LineSpot]]:
    """The results in a file, and where they stand; none if there is no file."""
    if not file.is_file():
        return
    with file.open("rb") as stream:
        try:
            offset = skip_mark(stream)
        except UnreadableTextError as error:
            raise ConfigError(f"{str(file)!r} cannot be read: {error}") from error
        for line in stream:
            spot, offset = LineSpot(file, offset, len(line)), offset + len(line)
            result = _read(line)
            if result is not None:
                yield result, spot


def _agrees(result: Result, task: Task) -> bool:
    """Whether a result's reward is that of its checks: anybody may have written the file."""
    reward = reward_of(task, result.checks)
    return result.reward == reward and result.passed == (None if reward is None else reward == 1)


def _read(line: bytes) -> Result | None:
    try:
        return Result.model_validate_json(line)
    except ValidationError:
        return None


def _evaluate(scorer: Scorer, owed: Sequence[EvaluationJob], store: Store) -> None:
    """Evaluate what is owed; each result is kept as soon as it is made."""
    batches = [owed[start : start + BATCH] for start in range(0, len(owed), BATCH)]
    execution = scorer.options.execution
    errors = 0
    with progress("evaluations", len(owed)) as bar, opened_workers(execution) as workers:
        finished = evaluate_all(scorer.setup, batches, workers, min(execution.workers, len(batches)))
        for number, one in enumerate(finished, start=1):
            store.append(OWN_RESULTS, one.line + b"\n")
            errors += one.is_error
            bar.advance(number, f"{errors} not scored")
