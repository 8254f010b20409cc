"""The table of tasks: a file of flat rows for each split, which `datasets.load_dataset` reads by the dataset's card.

The records under `queries/` are nested, and differ in their structure from task to task; table readers want the same
columns of the same types in every row. The card names the files and the types, and `verify` makes the rows anew.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar, get_args

from pydantic import ValidationError

from skillweave.base.command import command_line
from skillweave.base.errors import ArtifactError
from skillweave.schema.task import Split, Task
from skillweave.schema.task_row import RowType, TaskRow, task_columns, task_row
from skillweave.world.dataset import Dataset
from synth.artifacts import QUERIES, TASK_ROWS
from synth.engine.context import Context
from synth.engine.step import Params
from synth.reports.diversity import write_diversity

P = TypeVar("P", bound=Params)

FEATURES: dict[RowType, str] = {"text": "dtype: string", "texts": "sequence: string", "integer": "dtype: int64"}
"""Type of a column -> how a card's `dataset_info` names it."""


def rows_by_split(tasks: Iterable[Task]) -> dict[Split, list[TaskRow]]:
    """The rows of each split that has tasks, in the tasks' order."""
    rows: dict[Split, list[TaskRow]] = {split: [] for split in get_args(Split)}
    for task in tasks:
        rows[task.split].append(task_row(task))
    return {split: own for split, own in rows.items() if own}


async def write_shared(ctx: Context[P], keys: list[str]) -> None:
    """Write what tells of the tasks of all worlds: their diversity, and the table of tasks.

    A split without tasks has no file: no reader takes an empty one.
    """
    await write_diversity(ctx, keys)
    tasks = (task for key in sorted(keys) for task in ctx.read(QUERIES, key))
    for split, rows in rows_by_split(tasks).items():
        ctx.write(TASK_ROWS, split, rows)


def table_files(dataset: Dataset) -> dict[str, str]:
    """Split -> its file, for the files that are there."""
    paths = {split: TASK_ROWS.path(split) for split in get_args(Split)}
    return {split: path for split, path in paths.items() if dataset.store.exists(path)}


def table_front(dataset: Dataset) -> Iterator[str]:
    """The lines of the card's metadata by which readers find the table: files by split, and types of columns."""
    files = table_files(dataset)
    if not files:
        return
    yield from ("configs:", "- config_name: default", "  data_files:")
    for split, path in files.items():
        yield from (f"  - split: {split}", f"    path: {path}")
    yield from ("dataset_info:", "- config_name: default", "  features:")
    for column in task_columns():
        yield from (f"  - name: {column.name}", f"    {FEATURES[column.type]}")


def table_faults(dataset: Dataset) -> list[str]:
    """Where the table is not what the tasks give; nothing of a dataset that has none."""
    files = table_files(dataset)
    if not files:
        return []
    try:
        again = rows_by_split(task for world in dataset.tasks.worlds for task in dataset.tasks.of(world))
    except ArtifactError as error:
        return [f"{TASK_ROWS.pattern}: {error}"]
    missing = [f"{TASK_ROWS.path(split)}: is missing" for split in again if split not in files]
    return missing + [
        f"{path}: is not what the tasks give; make it anew with: {command_line('synth', 'run', '--fresh', 's17')}"
        for split, path in files.items()
        if _read(dataset, path) != next((rows for name, rows in again.items() if name == split), [])
    ]


def _read(dataset: Dataset, path: str) -> list[TaskRow] | None:
    """The rows of a file; None if it is damaged."""
    try:
        return [TaskRow.model_validate_json(line) for line in dataset.store.read(path).splitlines()]
    except (ArtifactError, ValidationError):
        return None
