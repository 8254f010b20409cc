"""`skyrl`: Parquet for SkyRL, whose environment class `skillweave` is registered by `interop.frameworks.skyrl_gym`.

SkyRL hands all columns but `prompt` and `env_class` to the environment, which opens the task of `extra_info.task_id`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from interop.export.format import ExportFormat, Row, TaskExample, ground_truth
from interop.prompt import chat_prompt

if TYPE_CHECKING:
    import pyarrow as pa

ENV_CLASS = "skillweave"
_CONFIG = """\
# Settings of SkyRL for this data, to be merged into the trainer's own. Paths are relative to this folder.
data:
{files}
environment:
  env_class: {env_class}
"""


def rows(example: TaskExample) -> Iterator[Row]:
    """One row: the prompt, what the reward stands on, and where the task is found."""
    task = example.task
    yield {
        "data_source": f"skillweave/{task.world}",
        "prompt": chat_prompt(example.prompt, example.tools),
        "env_class": ENV_CLASS,
        "reward_spec": {"method": "rule", "ground_truth": ground_truth(example)},
        "extra_info": {
            "split": task.split,
            "index": example.index,
            "task_id": task.id,
            "world": task.world,
            "kind": task.kind,
            "level": task.difficulty.level,
        },
    }


def schema() -> "pa.Schema":
    """The schema of the rows."""
    import pyarrow as pa

    text, integer = pa.string(), pa.int64()
    info = [("split", text), ("index", integer), ("task_id", text), ("world", text), ("kind", text), ("level", integer)]
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", pa.list_(pa.struct([("role", text), ("content", text)]))),
            ("env_class", text),
            ("reward_spec", pa.struct([("method", text), ("ground_truth", text)])),
            ("extra_info", pa.struct(info)),
        ]
    )


def companions(splits: Sequence[str], _card: Mapping[str, str]) -> dict[str, str]:
    """The settings of the trainer."""
    names = {"train": "train_data", "validation": "val_data"}
    files = "\n".join(f'  {names[split]}: ["{split}.parquet"]' for split in splits if split in names)
    return {"skyrl.yaml": _CONFIG.format(files=files, env_class=ENV_CLASS)}


FORMAT = ExportFormat(
    about="SkyRL: prompts whose conversations the environment class `skillweave` holds",
    takes="tasks",
    rows=rows,
    layout="parquet",
    schema=schema,
    companions=companions,
)
