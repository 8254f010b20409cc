"""`selftest --held-out`: the evaluator's word on the second set of variants, by which no task was kept or dropped."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from evaluator.cli.selftest import each, opened, selected
from evaluator.statistics import wilson
from evaluator.variants.held_out.trial import Word, report, words
from skillweave.command import one_line
from skillweave.dataset import Dataset
from skillweave.schema.held_out import HeldOutReport, Sort
from skillweave.store import Store

FILE = "held_out.json"
_SHOWN = 20
"""Survivors that are told; the file has all."""
_WIDTH = 200


def run_held_out(outputs: Path, *, tasks: Sequence[str] = (), limit: int | None = None, workers: int = 1) -> int:
    """Print a table of the second set and, of all tasks, write it to `evaluation/held_out.json`; 0 iff everything is
    as expected."""
    dataset = Dataset(outputs)
    ids = selected(dataset, tasks, limit)
    store = Store(outputs / "evaluation", "evaluation", option="--outputs-dir")
    store.prepare()
    found = report(dataset.digest, each(_of_tasks, outputs, ids, workers))
    _show(found)
    if len(ids) == len(dataset.tasks):
        store.write(FILE, found.model_dump_json(indent=2).encode() + b"\n")
    else:
        print(f"{FILE} is left as it is: it tells of all {len(dataset.tasks)} tasks")
    return 1 if found.survivors or not (found.mutants and found.equivalents) else 0


def _of_tasks(outputs: Path, ids: Iterable[str]) -> list[Word]:
    dataset, evaluator = opened(outputs)
    return [word for id in ids for word in words(dataset, evaluator, dataset.tasks[id])]


def _show(found: HeldOutReport) -> None:
    width = max(map(len, [*found.mutants, *found.equivalents, "variant"]))
    print(f"{'variant':{width}}  must  {'made':>6}  {'as expected':>11}")
    for must, sorts in (("pass", found.equivalents), ("fail", found.mutants)):
        for name, sort in sorts.items():
            print(f"{name:{width}}  {must}  {sort.made:>6}  {sort.right:>11}")
    for one in found.survivors[:_SHOWN]:
        print(one_line(f"{one.task}: {one.sort} must {one.must}: {one.what}; {one.why}")[:_WIDTH])
    print(f"{_rate('killed', found.mutants)}; {_rate('passed', found.equivalents)}; {found.tasks} tasks")


def _rate(word: str, sorts: dict[str, Sort]) -> str:
    made, right = (sum(getattr(sort, name) for sort in sorts.values()) for name in ("made", "right"))
    if not made:
        return f"none to be {word}"
    low, high = wilson(right, made)
    return f"{right} of {made} {word} ({right / made:.2%}, 95% {low:.2%} to {high:.2%})"
