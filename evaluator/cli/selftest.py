"""`selftest`: whether the evaluator gives every variant of a dataset's tasks the verdict that it must give.

With `--held-out` the second set of variants is used, by which no task was kept or dropped.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
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
from skillweave.base.store import Store
from skillweave.plugins import load_plugins
from skillweave.schema.evaluation import HeldOutReport, VariantCount
from skillweave.selection import first_in_turns, matching_ids
from skillweave.workers import local_processes
from skillweave.world.dataset import Dataset

T = TypeVar("T")

FILE = "held_out.json"
_CHUNK = 16
"""Tasks that a process takes at a time."""
_WIDTH = 200
"""Characters of what is shown of a task."""
_MOST_WRONG = 5
"""Tasks that are named where a verdict is wrong."""
_MOST_SURVIVORS = 20
"""Survivors that are printed; the file has all."""


@dataclass
class _Row:
    """The outcomes of one sort of variant."""

    passes: bool
    tasks: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    """Task -> the verdict on a variant that should have passed and failed, or the reverse."""
    misnamed: dict[str, str] = field(default_factory=dict)
    """Task -> the verdict on a variant that failed for another reason."""

    def add(self, outcome: SelftestOutcome) -> None:
        self.tasks.add(outcome.task_id)
        self.counts.update(["all", *["right"] * outcome.is_right, *["class"] * outcome.has_right_class])
        if not outcome.has_right_class:
            wanted = "must pass" if outcome.passes else f"must be {' or '.join(sorted(outcome.classes))}"
            group = self.misnamed if outcome.is_right else self.wrong
            group.setdefault(outcome.task_id, f"{outcome.said}, and {wanted}")


def run_selftest(
    outputs: Path,
    *,
    tasks: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    plugins: Sequence[str] = (),
) -> int:
    """Print a table of all variants, and the verdicts that are not as expected.

    Args:
        outputs: The dataset's folder.
        tasks: Patterns of task ids; empty: all tasks.
        limit: At most so many tasks.
        workers: Processes.
        plugins: Modules that add checks or kinds of task.

    Returns:
        The exit status: 0 iff every verdict is as expected.
    """
    load_plugins(plugins)
    ids = _selected(Dataset(outputs), tasks, limit)
    rows: dict[str, _Row] = {}
    for outcome in _each(partial(_outcomes, outputs, tuple(plugins)), ids, workers):
        rows.setdefault(outcome.name, _Row(outcome.passes)).add(outcome)
    _print_outcomes(rows)
    made = sum(row.counts["all"] for row in rows.values())
    wrong = sum(row.counts["all"] - row.counts["class"] for row in rows.values())
    tried = len(set().union(*(row.tasks for row in rows.values())))
    print(f"{made} variants of {tried} tasks of {len(ids)}: {wrong or 'none'} not as expected")
    return 1 if wrong or not made else 0


def run_held_out(
    outputs: Path,
    *,
    tasks: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    plugins: Sequence[str] = (),
) -> int:
    """Print a table of the second set; of all tasks, write it to `evaluation/held_out.json` too.

    Arguments and exit status are those of `run_selftest`.
    """
    load_plugins(plugins)
    dataset = Dataset(outputs)
    ids = _selected(dataset, tasks, limit)
    store = Store(outputs / "evaluation", "evaluation", option="--outputs-dir")
    store.prepare()
    verdicts = _each(partial(_held_out_verdicts, outputs, tuple(plugins)), ids, workers)
    report = held_out_report(dataset.digest, verdicts)
    _print_held_out(report)
    if len(ids) == len(dataset.tasks):
        store.write(FILE, report.model_dump_json(indent=2).encode() + b"\n")
    else:
        print(f"{FILE} is left as it is: it tells of all {len(dataset.tasks)} tasks")
    return 1 if report.survivors or not (report.mutants and report.equivalents) else 0


def _selected(dataset: Dataset, globs: Sequence[str], limit: int | None) -> list[str]:
    """Ids of the tasks to try. Raises ConfigError where there are none."""
    return first_in_turns(matching_ids([*dataset.tasks], globs), limit, dataset.tasks)


def _each(work: Callable[[Sequence[str]], list[T]], ids: Sequence[str], workers: int) -> Iterator[T]:
    """The results of all tasks, in their order."""
    chunks = [ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)]
    if workers < 2:
        for chunk in chunks:
            yield from work(chunk)
        return
    with local_processes(workers) as pool:
        for results in pool.map(work, chunks):
            yield from results


def _outcomes(outputs: Path, plugins: tuple[str, ...], ids: Sequence[str]) -> list[SelftestOutcome]:
    dataset, evaluator = _opened(outputs, plugins)
    return [outcome for id in ids for outcome in selftest_outcomes(dataset, evaluator, dataset.tasks[id])]


def _held_out_verdicts(outputs: Path, plugins: tuple[str, ...], ids: Sequence[str]) -> list[HeldOutVerdict]:
    dataset, evaluator = _opened(outputs, plugins)
    return [verdict for id in ids for verdict in held_out_verdicts(dataset, evaluator, dataset.tasks[id])]


@cache
def _opened(outputs: Path, plugins: tuple[str, ...]) -> tuple[Dataset, Evaluator]:
    """A dataset and its evaluator; once in each process."""
    load_plugins(plugins)
    dataset = Dataset(outputs)
    return dataset, Evaluator(dataset, dataset, CheckSettings())


def _print_outcomes(rows: dict[str, _Row]) -> None:
    width = max(map(len, [*rows, "variant"]))
    print(f"{'variant':{width}}  must  {'tasks':>6}  {'made':>6}  {'as expected':>11}  {'right class':>11}")
    for name, row in sorted(rows.items(), key=lambda item: (not item[1].passes, item[0])):
        must, named = ("pass", "") if row.passes else ("fail", str(row.counts["class"]))
        counts = f"{len(row.tasks):>6}  {row.counts['all']:>6}  {row.counts['right']:>11}  {named:>11}"
        print(f"{name:{width}}  {must}  {counts}".rstrip())
        for id, verdict in [*row.wrong.items(), *row.misnamed.items()][:_MOST_WRONG]:
            print(f"    {one_line(id)}: {one_line(verdict)[:_WIDTH]}")


def _print_held_out(report: HeldOutReport) -> None:
    width = max(map(len, [*report.mutants, *report.equivalents, "variant"]))
    print(f"{'variant':{width}}  must  {'made':>6}  {'as expected':>11}")
    for must, sorts in (("pass", report.equivalents), ("fail", report.mutants)):
        for name, count in sorts.items():
            print(f"{name:{width}}  {must}  {count.made:>6}  {count.right:>11}")
    for survivor in report.survivors[:_MOST_SURVIVORS]:
        text = f"{survivor.task}: {survivor.sort} must {survivor.must}: {survivor.what}; {survivor.why}"
        print(one_line(text)[:_WIDTH])
    print(f"{_rate('killed', report.mutants)}; {_rate('passed', report.equivalents)}; {report.tasks} tasks")


def _rate(verb: str, sorts: dict[str, VariantCount]) -> str:
    made = sum(count.made for count in sorts.values())
    right = sum(count.right for count in sorts.values())
    if not made:
        return f"none to be {verb}"
    low, high = wilson(right, made)
    return f"{right} of {made} {verb} ({right / made:.2%}, 95% {low:.2%} to {high:.2%})"
