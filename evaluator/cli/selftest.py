"""`selftest`: whether the evaluator says of every variant of a dataset's tasks what it must."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypeVar

from evaluator.evaluate import Evaluator, Settings
from evaluator.variants.selftest import Outcome, outcomes
from skillweave.command import one_line
from skillweave.dataset import Dataset
from skillweave.errors import ConfigError
from skillweave.workers import process_pool

T = TypeVar("T")

_SHOWN = 5
"""Tasks that are named where something is not as expected."""
_CHUNK = 16
"""Tasks that a process takes at a time."""
_WIDTH = 200
"""Characters of what is shown of a task."""


@dataclass
class _Row:
    """What is known of one sort of variant."""

    passes: bool
    tasks: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    """What was said of it where it should have passed, or failed; by task."""
    misnamed: dict[str, str] = field(default_factory=dict)
    """What it was called where it failed for another reason; by task."""

    def add(self, outcome: Outcome) -> None:
        self.tasks.add(outcome.task_id)
        self.counts.update(["all", *["right"] * outcome.is_right, *["class"] * outcome.has_right_class])
        if not outcome.has_right_class:
            wanted = "must pass" if outcome.passes else f"must be {' or '.join(sorted(outcome.classes))}"
            found = self.misnamed if outcome.is_right else self.wrong
            found.setdefault(outcome.task_id, f"{outcome.said}, and {wanted}")


def run_selftest(outputs: Path, *, tasks: Sequence[str] = (), limit: int | None = None, workers: int = 1) -> int:
    """Print a table of all variants, and what is not as expected; 0 iff everything is."""
    ids = selected(Dataset(outputs), tasks, limit)
    rows: dict[str, _Row] = {}
    for outcome in each(_of_tasks, outputs, ids, workers):
        rows.setdefault(outcome.name, _Row(outcome.passes)).add(outcome)
    _show(rows)
    made = sum(row.counts["all"] for row in rows.values())
    wrong = sum(row.counts["all"] - row.counts["class"] for row in rows.values())
    tried = len(set().union(*(row.tasks for row in rows.values())))
    print(f"{made} variants of {tried} tasks of {len(ids)}: {wrong or 'none'} not as expected")
    return 1 if wrong or not made else 0


def selected(dataset: Dataset, globs: Sequence[str], limit: int | None) -> list[str]:
    """Ids of the tasks that are to be tried. Raises ConfigError where there are none."""
    found = [id for id in dataset.tasks if not globs or any(fnmatchcase(id, glob) for glob in globs)]
    if not found:
        raise ConfigError(f"no task matches --tasks {' '.join(globs)!r}; there are {len(dataset.tasks)}")
    return found[:limit]


def each(
    work: Callable[[Path, Sequence[str]], list[T]], outputs: Path, ids: Sequence[str], workers: int
) -> Iterator[T]:
    """What is found of all tasks, in their order."""
    chunks = [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]
    if workers < 2:
        for chunk in chunks:
            yield from work(outputs, chunk)
        return
    with process_pool(workers) as pool:
        for found in pool.map(work, [outputs] * len(chunks), chunks):
            yield from found


def _of_tasks(outputs: Path, ids: Iterable[str]) -> list[Outcome]:
    dataset, evaluator = opened(outputs)
    return [outcome for id in ids for outcome in outcomes(dataset, evaluator, dataset.tasks[id])]


@cache
def opened(outputs: Path) -> tuple[Dataset, Evaluator]:
    """A dataset and its evaluator; once in each process."""
    dataset = Dataset(outputs)
    return dataset, Evaluator(dataset, dataset, Settings())


def _show(rows: dict[str, _Row]) -> None:
    width = max(map(len, [*rows, "variant"]))
    print(f"{'variant':{width}}  must  {'tasks':>6}  {'made':>6}  {'as expected':>11}  {'right class':>11}")
    for name, row in sorted(rows.items(), key=lambda item: (not item[1].passes, item[0])):
        must, named = ("pass", "") if row.passes else ("fail", str(row.counts["class"]))
        counts = f"{len(row.tasks):>6}  {row.counts['all']:>6}  {row.counts['right']:>11}  {named:>11}"
        print(f"{name:{width}}  {must}  {counts}".rstrip())
        for id, said in [*row.wrong.items(), *row.misnamed.items()][:_SHOWN]:
            print(f"    {one_line(id)}: {one_line(said)[:_WIDTH]}")
