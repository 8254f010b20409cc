"""What each part of an evaluation costs, and how many there are in a second of one core."""

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
"""Of each measurement; the median counts."""


class Bench:
    """A dataset and rollouts of it, ready to be evaluated in this process."""

    def __init__(self, outputs: Path, rollouts: Path, most: int) -> None:
        """At most so many trajectories, evenly drawn from all."""
        self._outputs = outputs
        found = find_rollouts(rollouts)
        places = sorted(found.places.items())[:: -(-len(found.places) // most)]
        self._jobs = [EvaluationJob(id, found.files[place.file], place, "") for id, place in places]

    def evaluator(self, *, cache: bool, prune: bool = True) -> DatasetEvaluator:
        """One that keeps golden executions, or makes each anew."""
        return DatasetEvaluator(EvaluationSetup(self._outputs, self._outputs, CheckSettings(cache=cache, prune=prune)))

    def per_second(self) -> dict[str, float]:
        """By second of this process's CPU. An evaluation goes from a place in a file to a line of results."""
        return {
            "golden_replays": _rate(self._replays()),
            "evaluations_golden_anew": _rate(self._evaluations(self.evaluator(cache=False, prune=False))),
            "evaluations_golden_anew_and_pruned": _rate(self._evaluations(self.evaluator(cache=False))),
            "evaluations_golden_cached": _rate(self._evaluations(self.evaluator(cache=True))),
        }

    def outcomes(self) -> dict[str, int]:
        """How many passed, and how often each class of failure and each error was found."""
        evaluator = self.evaluator(cache=True)
        results = [evaluator.result(job) for job in self._jobs]
        found = Counter("passed" if result.passed else "failed" for result in results if result.error is None)
        found.update(f"failed: {result.failure.class_}" for result in results if result.failure)
        found.update(f"error: {result.error.kind}" for result in results if result.error)
        return dict(sorted(found.items()))

    def stages(self) -> dict[str, float]:
        """Mean microseconds of each stage of an evaluation whose golden execution is made anew, and of the whole.

        `rest` is what the whole takes beside its stages: to look things up, the result as a record and as a line.
        """
        stages = self._median(_stages, self.evaluator(cache=True))
        whole = self._median(_whole, self.evaluator(cache=False))["whole"]
        return {**stages, "rest": round(whole - sum(stages.values()), 1), "whole": whole}

    def _median(
        self, run: Callable[[DatasetEvaluator, Sequence[EvaluationJob]], Counter[str]], evaluator: DatasetEvaluator
    ) -> dict[str, float]:
        rounds = [run(evaluator, self._jobs) for _ in range(ROUNDS + 1)][1:]
        return {name: round(median(one[name] for one in rounds) / 1e3 / len(self._jobs), 1) for name in rounds[0]}

    def _replays(self) -> Callable[[], int]:
        data = self.evaluator(cache=False).tasks
        tasks = [(data.world(task), task) for task in data.tasks.values()]

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
    found = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        count = run()
        found.append(count / (time.process_time() - begun))
    return round(median(found), 1)


class _Clock:
    """Nanoseconds of CPU spent, by stage."""

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
    """Each stage by itself. What comes before one in the same evaluation is looked up where it is kept."""
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
        found: dict[str, Any] = {}
        for name, check in CHECKS.items():
            if not check.needs_judge:
                with clock.stage(f"check_{name}"):
                    found[name] = check.record(trial)
        scored = ScoredTrial(trial, Checks(**found), reward_of(task, Checks(**found)))
        with clock.stage("explain"):
            if is_failed(scored):
                explain(scored)
    return clock.spent
