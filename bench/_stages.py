"""Measures the cost of each stage of an evaluation, and the number of evaluations per second of one core."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from evaluator.checks import CHECKS
from evaluator.explain import explain
from evaluator.replay.execution import execute_golden, execute_messages
from evaluator.replay.golden import golden_execution_of, needless_calls
from evaluator.replay.rollouts import find_rollouts
from evaluator.replay.trial import ScoredTrial
from evaluator.scoring.evaluate import CheckSettings, is_failed
from evaluator.scoring.score import reward_of
from evaluator.scoring.worker_pool import DatasetEvaluator, EvaluationJob, EvaluationSetup, finished_job
from skillweave.schema.score import Checks
from skillweave.world.tools import namespaces_of

ROUNDS = 7
"""Rounds of each measurement; the median counts."""


class Bench:
    """A dataset and its rollouts, to be evaluated in this process."""

    def __init__(self, outputs: Path, rollouts: Path, most: int) -> None:
        """Select the trajectories.

        Args:
            outputs: The dataset.
            rollouts: The folder of trajectories.
            most: The most trajectories to take, evenly spread over all.
        """
        self._outputs = outputs
        index = find_rollouts(rollouts)
        places = sorted(index.places.items())[:: -(-len(index.places) // most)]
        self._jobs = [EvaluationJob(id, index.files[place.file], place, "") for id, place in places]

    def evaluator(self, *, cache: bool, prune: bool = True) -> DatasetEvaluator:
        """Create an evaluator.

        Args:
            cache: Keep golden executions, or make each anew.
            prune: Search for needless golden calls.
        """
        return DatasetEvaluator(EvaluationSetup(self._outputs, self._outputs, CheckSettings(cache=cache, prune=prune)))

    def per_second(self) -> dict[str, float]:
        """Rates per second of CPU time. An evaluation goes from a place in a file to a line of results."""
        return {
            "golden_replays": _rate(self._replays()),
            "evaluations_golden_anew": _rate(self._evaluations(self.evaluator(cache=False, prune=False))),
            "evaluations_golden_anew_and_pruned": _rate(self._evaluations(self.evaluator(cache=False))),
            "evaluations_golden_cached": _rate(self._evaluations(self.evaluator(cache=True))),
        }

    def outcomes(self) -> dict[str, int]:
        """The number of passed and failed trajectories, and of each class of failure and kind of error."""
        evaluator = self.evaluator(cache=True)
        results = [evaluator.result(job) for job in self._jobs]
        counts = Counter("passed" if result.passed else "failed" for result in results if result.error is None)
        counts.update(f"failed: {result.failure.class_}" for result in results if result.failure)
        counts.update(f"error: {result.error.kind}" for result in results if result.error)
        return dict(sorted(counts.items()))

    def stages(self) -> dict[str, float]:
        """Mean microseconds of each stage of an evaluation with a new golden execution, and of the whole evaluation.

        `rest` is the time outside the stages: lookups, and the result as a record and as a line.
        """
        stages = self._median(_stages, self.evaluator(cache=True))
        whole = self._median(_whole, self.evaluator(cache=False))["whole"]
        return {**stages, "rest": round(whole - sum(stages.values()), 1), "whole": whole}

    def _median(
        self, run: Callable[[DatasetEvaluator, Sequence[EvaluationJob]], Counter[str]], evaluator: DatasetEvaluator
    ) -> dict[str, float]:
        rounds = [run(evaluator, self._jobs) for _ in range(ROUNDS + 1)][1:]
        return {name: round(median(spent[name] for spent in rounds) / 1e3 / len(self._jobs), 1) for name in rounds[0]}

    def _replays(self) -> Callable[[], int]:
        dataset = self.evaluator(cache=False).tasks
        tasks = [(dataset.world(task), task) for task in dataset.tasks.values()]

        def run() -> int:
            for world, task in tasks:
                with world.session(task) as session:
                    execute_golden(session, task.golden)
            return len(tasks)

        return run

    def _evaluations(self, evaluator: DatasetEvaluator) -> Callable[[], int]:
        def run() -> int:
            for job in self._jobs:
                finished_job(job, evaluator.result(job))
            return len(self._jobs)

        return run


def _rate(run: Callable[[], int]) -> float:
    run()
    rates = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        count = run()
        rates.append(count / (time.process_time() - begun))
    return round(median(rates), 1)


class _Clock:
    """Nanoseconds of CPU time by stage."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.process_time_ns()
        yield
        self.spent[name] += time.process_time_ns() - begun


def _whole(evaluator: DatasetEvaluator, jobs: Sequence[EvaluationJob]) -> Counter[str]:
    clock = _Clock()
    with clock.stage("whole"):
        for job in jobs:
            finished_job(job, evaluator.result(job))
    return clock.spent


def _stages(evaluator: DatasetEvaluator, jobs: Sequence[EvaluationJob]) -> Counter[str]:
    """Time each stage by itself. Results of earlier stages come from the cache."""
    clock = _Clock()
    for job in jobs:
        with clock.stage("read"):
            recorded = evaluator.recorded(job)
        trial = evaluator.evaluator.trial(recorded)
        task, world = trial.task, trial.world
        with clock.stage("golden"):
            golden_execution_of(world, task, prune=False)
        with clock.stage("pruning"):
            needless_calls(world, task, trial.golden.execution)
        with clock.stage("made"), world.session(task) as session:
            execute_messages(session, recorded.messages, namespaces_of(task))
        records: dict[str, Any] = {}
        for name, check in CHECKS.items():
            if not check.needs_judge:
                with clock.stage(f"check_{name}"):
                    records[name] = check.record(trial)
        scored = ScoredTrial(trial, Checks(**records), reward_of(task, Checks(**records)))
        with clock.stage("explain"):
            if is_failed(scored):
                explain(scored)
    return clock.spent
