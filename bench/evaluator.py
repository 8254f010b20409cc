"""How fast trajectories are evaluated, what each part costs, and what 100,000 of them hold in memory.

Run it from the repository's root: `python -m bench.evaluator`. It makes a world of 10 tables with 300 rows each, 50
tasks and 450 conversations of it; the whole program runs on those, over and over under other ids. Prints one JSON
document; README.md beside this file says how to read it.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench._conversations import conversations
from bench._memory import Held
from bench._practice import SERVER, practice
from bench._visits import visits, write_dataset
from evaluator.evaluate import CHECKS, Evaluator, Settings, is_failed
from evaluator.execution import execute_golden, execute_messages
from evaluator.explain import explain
from evaluator.golden import digest_of, golden_of
from evaluator.recorded import read
from evaluator.score import reward_of
from evaluator.trial import Scored, Trial
from skillweave.dataset import Dataset
from skillweave.schema.score import Checks
from skillweave.tool_call import namespaces_of

ROOT = Path(__file__).resolve().parent.parent
SEED = 7
ROUNDS = 7
ROOM = 1.3
"""Free space that is asked for, of what is written."""
"""Where trajectories of other sizes are wanted: what is left of the system prompt."""


class Workplace:
    """A dataset, opened, and the lines to be evaluated."""

    def __init__(self, outputs: Path, lines: Sequence[bytes]) -> None:
        self.dataset = Dataset(outputs)
        self.lines = lines

    def evaluator(self, *, cache: bool, prune: bool = True) -> Evaluator:
        """One that keeps golden executions, or makes each anew."""
        return Evaluator(self.dataset, self.dataset, Settings(cache=cache, prune=prune))


def per_second(run: Callable[[], int]) -> float:
    """The median, over some rounds, of how many were done in a second of this process's CPU."""
    run()
    found = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        count = run()
        found.append(count / (time.process_time() - begun))
    return round(median(found), 1)


def throughput(place: Workplace) -> dict[str, float]:
    """Golden replays and full evaluations, by second and core."""
    tasks = list(place.dataset.tasks.values())
    worlds = [place.dataset.world(task) for task in tasks]

    def golden() -> int:
        for task, world in zip(tasks, worlds, strict=True):
            with world.session(task) as session:
                execute_golden(session, task.golden)
        return len(tasks)

    def full(evaluator: Evaluator) -> Callable[[], int]:
        def run() -> int:
            for line in place.lines:
                evaluator.evaluate(read(line), "").model_dump_json(by_alias=True)
            return len(place.lines)

        return run

    return {
        "golden_replays": per_second(golden),
        "evaluations_golden_anew": per_second(full(place.evaluator(cache=False, prune=False))),
        "evaluations_golden_anew_and_pruned": per_second(full(place.evaluator(cache=False))),
        "evaluations_golden_cached": per_second(full(place.evaluator(cache=True))),
    }


class Stages:
    """Microseconds spent, by stage."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done meanwhile."""
        begun = time.perf_counter()
        yield
        self.spent[name] += round((time.perf_counter() - begun) * 1e9)


def stages(place: Workplace) -> dict[str, float]:
    """Mean microseconds of each stage of an evaluation; the median over some rounds."""
    evaluator = place.evaluator(cache=True)
    rounds = [_stages_once(place, evaluator) for _ in range(ROUNDS + 1)][1:]
    return {name: round(median(one[name] for one in rounds) / 1e3 / len(place.lines), 1) for name in rounds[0]}


def _stages_once(place: Workplace, evaluator: Evaluator) -> Counter[str]:
    at, settings = Stages(), Settings()
    for line in place.lines:
        with at.stage("read"):
            recorded = read(line)
        task = evaluator.scored(recorded).trial.task
        world = place.dataset.world(task)
        with at.stage("golden"):
            golden = golden_of(world, task, prune=False)
        with at.stage("pruning"):
            golden = golden._replace(pruned=golden_of(world, task).pruned)
        with at.stage("made"), world.session(task) as session:
            made = execute_messages(session, recorded.messages, namespaces_of(task))
        trial = Trial(task, world, golden, recorded, made)
        found: dict[str, Any] = {}
        for name, check in CHECKS.items():
            with at.stage(f"check_{name}"):
                found[name] = check(trial, settings)
        with at.stage("explain"):
            scored = Scored(trial, Checks(**found), reward_of(task, Checks(**found)))
            if is_failed(scored):
                explain(scored)
        result = evaluator.evaluate(recorded, "")
        with at.stage("write_line"):
            result.model_dump_json(by_alias=True)
    at.spent["pruning"] -= at.spent["golden"]
    return at.spent
