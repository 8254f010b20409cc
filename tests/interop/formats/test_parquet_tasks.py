"""Tasks as Parquet: the same types in every row, and nothing lost."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from interop.export.format import ExportFormat
from interop.export.formats import hub, skyrl, verl
from rollout.react.agent import described
from skillweave.schema.task import Task
from skillweave.schema.task_row import task_columns
from tests.interop.formats.examples import task_examples


def table(format: ExportFormat, outputs: Path) -> pa.Table:
    assert format.schema is not None
    rows = [row for example in task_examples(outputs) for row in format.rows(example)]
    assert all([*row] == format.schema().names for row in rows)
    return pa.Table.from_pylist(rows, schema=format.schema())


def test_hub_loses_nothing_of_a_task(small: Path) -> None:
    examples = list(task_examples(small))
    rows = table(hub.FORMAT, small).to_pylist()
    assert [Task.model_validate_json(row["task"]) for row in rows] == [example.task for example in examples]
    for row, example in zip(rows, examples, strict=True):
        assert json.loads(row["tools"]) == example.tools
        assert [message["content"] for message in row["prompt"]] == [message.content for message in example.prompt]
        assert json.loads(row["golden"]) == [call.model_dump(mode="json") for call in example.task.golden]
        assert row["index"] == example.index


def test_columns_of_tasks_hold_the_records_own_values(small: Path) -> None:
    names = [column.name for column in task_columns()]
    assert len({*names}) == len(names)
    for row, example in zip(table(hub.FORMAT, small).to_pylist(), task_examples(small), strict=True):
        task = example.task
        assert (row["id"], row["split"], row["level"]) == (task.id, task.split, task.difficulty.level)
        assert row["forms"] == [form.name for form in task.forms]
        assert json.loads(row["noise"]) == (task.noise.model_dump(mode="json") if task.noise else None)
        assert (small / row["tools_file"]).is_file()
        assert (small / row["policy_file"]).is_file()


@pytest.mark.parametrize("format", [verl.FORMAT, skyrl.FORMAT], ids=["verl", "skyrl"])
def test_trainers_get_the_tools_in_the_system_prompt_and_the_task_by_its_id(format: ExportFormat, small: Path) -> None:
    for row, example in zip(table(format, small).to_pylist(), task_examples(small), strict=True):
        system, user = row["prompt"]
        assert (system["role"], user["role"]) == ("system", "user")
        assert described(example.tools) in system["content"]
        assert user["content"] == example.task.messages[0].content
        info, task = row["extra_info"], example.task
        assert (info["task_id"], info["index"], info["split"]) == (task.id, example.index, task.split)
        truth = json.loads((row.get("reward_model") or row.get("reward_spec"))["ground_truth"])
        assert truth == {"task_id": task.id, "criteria": task.criteria.model_dump(mode="json")}


def test_verl_rows_name_our_agent_loop_and_their_tools_arguments(small: Path) -> None:
    for row in table(verl.FORMAT, small).to_pylist():
        assert (row["agent_name"], row["ability"]) == ("skillweave", "tool_use")
        [(tool, of)] = row["extra_info"]["tools_kwargs"].items()
        assert (tool, of["create_kwargs"]["task_id"]) == ("skillweave", row["extra_info"]["task_id"])


def test_trainers_settings_name_the_files_that_were_written() -> None:
    found = verl.companions(["train", "validation", "test"], {})
    assert yaml.safe_load(found["verl.yaml"])["data"]["train_files"] == "train.parquet"
    assert yaml.safe_load(found["verl.yaml"])["data"]["val_files"] == "validation.parquet"
    assert [loop["name"] for loop in yaml.safe_load(found["agent_loops.yaml"])] == ["skillweave"]
    data = yaml.safe_load(skyrl.companions(["train"], {})["skyrl.yaml"])["data"]
    assert data == {"train_data": ["train.parquet"]}
