"""Examples of tasks, read from a dataset as the exporter reads them."""

from collections.abc import Iterator
from pathlib import Path

from interop.export.examples import ExampleReader, ReaderSettings
from interop.export.format import TaskExample
from skillweave.world.dataset import Dataset


def task_examples(outputs: Path) -> Iterator[TaskExample]:
    """Every task of a dataset, as an agent meets it."""
    reader = ExampleReader(ReaderSettings(outputs))
    for index, id in enumerate(Dataset(outputs).tasks):
        yield reader.task(id, index)
