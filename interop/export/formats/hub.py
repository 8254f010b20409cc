"""`hub`: tasks as Parquet, for `datasets.load_dataset` and dataset hubs.

Columns have the same types in every row: what is nested is JSON text, and `task` holds the whole record of the task, so
that nothing is lost. The database of a task is in the dataset's folder, which the columns name.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from interop.export.format import ExportFormat, Row, TaskExample
from skillweave.schema.task_row import RowType, json_text, task_columns, task_row

if TYPE_CHECKING:
    import pyarrow as pa


def rows(example: TaskExample) -> Iterator[Row]:
    """One row: the columns of the table of tasks, the prompt with the tools, and the whole record."""
    yield {
        **task_row(example.task).model_dump(mode="json"),
        "index": example.index,
        "prompt": [{"role": message.role, "content": message.content or ""} for message in example.prompt],
        "tools": json_text(example.tools),
        "user_system_prompt": example.task.user_system_prompt,
        "task": example.task.model_dump_json(),
    }


def schema() -> "pa.Schema":
    """The schema of the rows."""
    import pyarrow as pa

    types: dict[RowType, pa.DataType] = {"text": pa.string(), "texts": pa.list_(pa.string()), "integer": pa.int64()}
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    return pa.schema(
        [
            *((column.name, types[column.type]) for column in task_columns()),
            ("index", pa.int64()),
            ("prompt", pa.list_(message)),
            ("tools", pa.string()),
            ("user_system_prompt", pa.string()),
            ("task", pa.string()),
        ]
    )


FORMAT = ExportFormat(
    about="`datasets.load_dataset` and dataset hubs: a task a row, with prompt and tools; nested columns are JSON text",
    takes="tasks",
    rows=rows,
    layout="parquet",
    file="{split}",
    schema=schema,
)
