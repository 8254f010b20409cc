"""What a format is: which examples it takes, and the rows that it makes of one.

A format knows nothing of folders, filters or files: the exporter selects examples, streams their rows in a fixed order,
and writes the layout that the format names.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from skillweave.schema.record import Json
from skillweave.schema.result import Result
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message, TrajectoryRecord
from skillweave.world.world import World

Definition = dict[str, Json]
"""An OpenAI tool definition."""
Row = dict[str, Any]
"""One row of an exported file: JSON values, with the same columns and types in every row of a format."""
Layout = Literal["jsonl", "json", "parquet"]
"""JSON Lines, one JSON array, or Parquet."""


LOAD_FILES = """\
from datasets import load_dataset

dataset = load_dataset("{loader}", data_files={files})"""
"""Loads all splits. The files are named, since `load_dataset(".")` takes no folder for a dataset."""
LOAD_LINES = """\
import json

from datasets import load_dataset

lines = load_dataset("text", data_files={"{split}": "{folder}/{file}"})["{split}"]["text"]
rows = [json.loads(line) for line in lines]"""
"""Loads JSON Lines whose objects have different keys from row to row.

Arrow makes one structure of them all, in which each has the keys of all others as nulls, and `datasets` 3.6 refuses
values of different types under one key. So the rows are read as text.
"""


class LeftOut(Exception):
    """An example has no place in a format; the message says why. It is counted, and the card shows it."""


@dataclass(frozen=True)
class TaskExample:
    """A task as an agent meets it."""

    task: Task
    index: int
    """Position among all tasks of the dataset, whatever its split; servers take it as the number of a task."""
    prompt: list[Message]
    """The system prompt and the user's first message."""
    tools: list[Definition]
    """The tools that the task offers; of a trajectory, those that its agent had."""
    world: World
    """Opens sessions of the task."""


class TrajectoryExample(NamedTuple):
    """A trajectory that was selected, cut behind the agent's last message."""

    of: TaskExample
    record: TrajectoryRecord
    result: Result
    """What the evaluator says of it; the only source of rewards."""
    messages: list[Message]
    """The conversation: no nulls to speak of, arguments as JSON text, no marks of how the user leaves."""


class PairExample(NamedTuple):
    """A trajectory that passes and one that fails, of one task, equal up to a message of the agent."""

    of: TaskExample
    passing: TrajectoryExample
    failing: TrajectoryExample


@dataclass(frozen=True)
class ExportFormat:
    """A format: its examples, its rows, and how they are written."""

    about: str
    """One line on what loads it, for the help and the card."""
    takes: Literal["tasks", "trajectories", "pairs"]
    rows: Callable[[Any], Iterable[Row]]
    """The rows of one example, of the type that `takes` names. May raise LeftOut."""
    layout: Layout = "jsonl"
    under: str = ""
    """For JSON: the key of the object in which the array stands; empty: the file is the array."""
    file: str = "{split}"
    """The name of a split's file, without its ending."""
    schema: Callable[[], Any] | None = None
    """For Parquet: the pyarrow schema of the rows."""
    loss: str = ""
    """Where the loss mask is, in one sentence for the card; empty: the format has none."""
    load: str = LOAD_FILES
    """A few lines of Python that load it, for the card. They run with `datasets` 3.6 and newer, and lose nothing."""
    train: str = ""
    """The lines with which its target takes it, for the card; empty: `load` says it all."""
    use: str = ""
    """The command by which a trainer or its server takes it, in a shell. `{folder}`, `{file}` and `{outputs}` stand for
    the folder, the first file in it and the dataset, `{split}` for that file's split, `{interop}` for our own program;
    words in capitals are the user's to fill in. Empty: the card has all there is to say."""
    companions: Callable[[Sequence[str], Mapping[str, str]], Mapping[str, str]] | None = None
    """Further text files beside the data, such as a loader's own index: takes the splits written and what the card
    says by heading; gives name -> text."""


def filled(text: str, folder: str, files: Mapping[str, str]) -> str:
    """A format's `load`, `train` or `next` for an export.

    Args:
        text: `{folder}` stands for the folder, `{files}` for the files by split, `{loader}` for what loads them,
            `{split}` for the first split that was written, and `{file}` for its file.
        folder: The folder.
        files: Split -> name of its file, in their order.
    """
    split, file = next(iter(files.items()))
    paths = json.dumps({split: f"{folder}/{name}" for split, name in files.items()})
    loader = "parquet" if file.endswith(".parquet") else "json"
    values = {"folder": folder, "files": paths, "loader": loader, "split": split, "file": file}
    return re.sub(r"\{(folder|files|loader|split|file)\}", lambda found: values[found[1]], text)


def ground_truth(example: TaskExample) -> str:
    """JSON text by which a reward can be computed: the task, and what it is scored against."""
    criteria = example.task.criteria.model_dump_json()
    return f'{{"task_id":"{example.task.id}","criteria":{criteria}}}'
