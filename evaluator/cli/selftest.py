"""`selftest`: whether the evaluator gives every variant of a dataset's tasks the verdict that it must give.

With `--held-out` the second set of variants is used, by which no task was kept or dropped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypeVar

from evaluator.report.statistics import wilson
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import (
    HeldOutVerdict,
    SelftestOutcome,
    held_out_report,
    held_out_verdicts,
    selftest_outcomes,
)
from skillweave.base.command import one_line
from skillweave.base.errors import ConfigError
from skillweave.base.processes import process_pool
from skillweave.base.store import Store
from skillweave.schema.evaluation import HeldOutReport, VariantCount
from skillweave.world.dataset import Dataset

T = TypeVar("T")

_SELFTEST_SHOWN = 5
"""Tasks that are named where something is not as expected."""
_CHUNK = 16
"""Tasks that a process takes at a time."""
_SELFTEST_WIDTH = 200
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

    def add(self, outcome: SelftestOutcome) -> None:
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
    for outcome in each(_selftest_of_tasks, outputs, ids, workers):
        rows.setdefault(outcome.name, _Row(outcome.passes)).add(outcome)
    _selftest_show(rows)
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


def _selftest_of_tasks(outputs: Path, ids: Iterable[str]) -> list[SelftestOutcome]:
    dataset, evaluator = opened(outputs)
    return [outcome for id in ids for outcome in selftest_outcomes(dataset, evaluator, dataset.tasks[id])]


@cache
def opened(outputs: Path) -> tuple[Dataset, Evaluator]:
    """A dataset and its evaluator; once in each process."""
    dataset = Dataset(outputs)
    return dataset, Evaluator(dataset, dataset, CheckSettings())


def _selftest_show(rows: dict[str, _Row]) -> None:
    width = max(map(len, [*rows, "variant"]))
    print(f"{'variant':{width}}  must  {'tasks':>6}  {'made':>6}  {'as expected':>11}  {'right class':>11}")
    for name, row in sorted(rows.items(), key=lambda item: (not item[1].passes, item[0])):
        must, named = ("pass", "") if row.passes else ("fail", str(row.counts["class"]))
        counts = f"{len(row.tasks):>6}  {row.counts['all']:>6}  {row.counts['right']:>11}  {named:>11}"
        print(f"{name:{width}}  {must}  {counts}".rstrip())
        for id, said in [*row.wrong.items(), *row.misnamed.items()][:_SELFTEST_SHOWN]:
            print(f"    {one_line(id)}: {one_line(said)[:_SELFTEST_WIDTH]}")


FILE = "held_out.json"
_HELD_OUT_SHOWN = 20
"""Survivors that are told; the file has all."""
_HELD_OUT_WIDTH = 200


def run_held_out(outputs: Path, *, tasks: Sequence[str] = (), limit: int | None = None, workers: int = 1) -> int:
    """Print a table of the second set and, of all tasks, write it to `evaluation/held_out.json`; 0 iff everything is
    as expected."""
    dataset = Dataset(outputs)
    ids = selected(dataset, tasks, limit)
    store = Store(outputs / "evaluation", "evaluation", option="--outputs-dir")
    store.prepare()
    found = held_out_report(dataset.digest, each(_held_out_of_tasks, outputs, ids, workers))
    _held_out_show(found)
    if len(ids) == len(dataset.tasks):
        store.write(FILE, found.model_dump_json(indent=2).encode() + b"\n")
    else:
        print(f"{FILE} is left as it is: it tells of all {len(dataset.tasks)} tasks")
    return 1 if found.survivors or not (found.mutants and found.equivalents) else 0


def _held_out_of_tasks(outputs: Path, ids: Iterable[str]) -> list[HeldOutVerdict]:
    dataset, evaluator = opened(outputs)
    return [word for id in ids for word in held_out_verdicts(dataset, evaluator, dataset.tasks[id])]


def _held_out_show(found: HeldOutReport) -> None:
    width = max(map(len, [*found.mutants, *found.equivalents, "variant"]))
    print(f"{'variant':{width}}  must  {'made':>6}  {'as expected':>11}")
    for must, sorts in (("pass", found.equivalents), ("fail", found.mutants)):
        for name, sort in sorts.items():
            print(f"{name:{width}}  {must}  {sort.made:>6}  {sort.right:>11}")
    for one in found.survivors[:_HELD_OUT_SHOWN]:
        print(one_line(f"{one.task}: {one.sort} must {one.must}: {one.what}; {one.why}")[:_HELD_OUT_WIDTH])
    print(f"{_rate('killed', found.mutants)}; {_rate('passed', found.equivalents)}; {found.tasks} tasks")


def _rate(word: str, sorts: dict[str, VariantCount]) -> str:
    made, right = (sum(getattr(sort, name) for sort in sorts.values()) for name in ("made", "right"))
    if not made:
        return f"none to be {word}"
    low, high = wilson(right, made)
    return f"{right} of {made} {word} ({right / made:.2%}, 95% {low:.2%} to {high:.2%})"
