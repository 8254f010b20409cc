"""Task difficulty from a strong model's trials: which tasks are worth training on, and which to audit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evaluator.report.terminal import print_line, print_table
from skillweave.base.store import Store
from skillweave.schema.record import Record
from skillweave.schema.result import Divergence, FailureClass, NeverSolved, Result, TeachingRecord

TAUGHT = "taught.jsonl"
TAUGHT_TASKS = "taught_tasks.txt"
NEVER_SOLVED = "never_solved.jsonl"


class Teaching(NamedTuple):
    taught: list[TeachingRecord]
    """One record for each task, sorted by task."""
    never_solved: list[NeverSolved]
    """Tasks that no trial passed, sorted by task."""

    def task_ids(self, *, min_passes: int = 1, max_rate: float = 1.0) -> list[str]:
        """Ids of tasks with at least `min_passes` passes and a pass rate of at most `max_rate`, sorted."""
        return [
            task.task_id for task in self.taught if task.passes >= min_passes and task.passes <= max_rate * task.trials
        ]


@dataclass(slots=True)
class _Failed:
    """Failed trials of one class."""

    count: int
    first: str
    divergence: Divergence | None


@dataclass(slots=True)
class _Task:
    world: str
    model: str
    trials: int = 0
    passes: int = 0
    failed: dict[FailureClass, _Failed] = field(default_factory=dict)


def teach(results: Iterable[Result]) -> Teaching:
    """Passes and failures of each task in one agent's results, without results that have no score."""
    tasks: dict[str, _Task] = {}
    for result in results:
        if result.scored:
            _add(tasks.setdefault(result.task_id, _Task(result.world, result.speakers.agent)), result)
    taught = [
        TeachingRecord(task_id=id, world=task.world, model=task.model, trials=task.trials, passes=task.passes)
        for id, task in sorted(tasks.items())
    ]
    never = [_never_solved(id, task) for id, task in sorted(tasks.items()) if not task.passes]
    return Teaching(taught, never)


def _add(task: _Task, result: Result) -> None:
    task.trials += 1
    if result.passed:
        task.passes += 1
        return
    name: FailureClass = result.failure.class_ if result.failure is not None else "other"
    where = result.failure.first_divergence if result.failure is not None else None
    known = task.failed.setdefault(name, _Failed(0, result.id, where))
    known.count += 1
    if result.id < known.first:
        known.first, known.divergence = result.id, where


def _never_solved(id: str, task: _Task) -> NeverSolved:
    name, failed = min(task.failed.items(), key=lambda item: (-item[1].count, item[0]))
    return NeverSolved(
        task_id=id,
        world=task.world,
        trials=task.trials,
        failure=name,
        failures=failed.count,
        example=failed.first,
        first_divergence=failed.divergence,
    )


def write_teaching(store: Store, teaching: Teaching, *, min_passes: int = 1, max_rate: float = 1.0) -> None:
    """Write the figures, the ids of tasks to train on, and the tasks to audit next to the results."""
    ids = teaching.task_ids(min_passes=min_passes, max_rate=max_rate)
    files = {
        TAUGHT: _lines(teaching.taught),
        TAUGHT_TASKS: "".join(f"{id}\n" for id in ids),
        NEVER_SOLVED: _lines(teaching.never_solved),
    }
    for name, text in files.items():
        store.write(name, text.encode())


def _lines(records: Sequence[Record]) -> str:
    return "".join(f"{record.model_dump_json()}\n" for record in records)


def show_teaching(teaching: Teaching, *, min_passes: int = 1, max_rate: float = 1.0) -> None:
    """Print how many tasks are worth training on, and those that were never solved."""
    tasks = len({task.task_id for task in teaching.taught})
    ids = teaching.task_ids(min_passes=min_passes, max_rate=max_rate)
    print_line(
        f"{tasks} tasks tried; {len(ids)} passed at least {min_passes} times and by at most {max_rate:.0%} of the "
        f"trials; {len(teaching.never_solved)} never solved"
    )
    rows = [
        (
            task.task_id,
            str(task.trials),
            f"{task.failure} ({task.failures})",
            task.example,
            _where(task.first_divergence),
        )
        for task in teaching.never_solved
    ]
    print_table("Never solved: to audit", ("task", "trials", "failure (trials)", "example", "first divergence"), rows)


def _where(divergence: Divergence | None) -> str:
    return f"expected {divergence.expected}, got {divergence.got}" if divergence is not None else ""
