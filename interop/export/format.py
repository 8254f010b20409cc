"""What a format is: which examples it takes, and the rows that it makes of one.

A format knows nothing of folders, filters or files: the exporter selects examples, streams their rows in a fixed order,
and writes the layout that the format names.
"""

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
    shared: int
    """Number of first messages that both have."""


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
    load: str = 'from datasets import load_dataset\n\ndataset = load_dataset("{folder}")'
    """A few lines of Python that load it, for the card; `{folder}` is the folder."""
    use: str = ""
    """The command by which a trainer or its server takes it, in a shell. `{folder}`, `{file}` and `{outputs}` stand for
    the folder, the first file in it and the dataset, `{split}` for that file's split, `{interop}` for our own program;
    words in capitals are the user's to fill in. Empty: the card has all there is to say."""
    companions: Callable[[Sequence[str], Mapping[str, str]], Mapping[str, str]] | None = None
    """Further text files beside the data, such as a loader's own index: takes the splits written and what the card
    says by heading; gives name -> text."""


def ground_truth(example: TaskExample) -> str:
    """JSON text by which a reward can be computed: the task, and what it is scored against."""
    criteria = example.task.criteria.model_dump_json()
    return f'{{"task_id":"{example.task.id}","criteria":{criteria}}}'
