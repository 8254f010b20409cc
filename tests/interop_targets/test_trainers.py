"""Trainers' own loaders and preprocessors take what is exported for them, and lose nothing of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.export.exports import rows_in
from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import LIGHT, TORCH
from tests.interop_targets.target import in_target

pytestmark = pytest.mark.interop


def lines(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def calls(messages: list[dict[str, Any]]) -> list[Any]:
    """The calls of a conversation in OpenAI's form."""
    return [call["function"] for message in messages for call in message.get("tool_calls") or ()]


@pytest.mark.parametrize("format", ["trl-sft", "dpo"])
def test_trl_sees_conversations_as_they_were_written(exports: Exports, format: str) -> None:
    loaded = in_target(LIGHT, "trl_data.py", exports(format), format)
    assert loaded["conversational"]
    assert loaded["rows"] == lines(exports(format) / "train.jsonl")


@pytest.mark.parametrize("format", ["sharegpt", "agenttraj"])
def test_trl_takes_turns_from_somebody_for_conversations(exports: Exports, format: str) -> None:
    loaded = in_target(LIGHT, "trl_data.py", exports(format), format)
    assert loaded["from_value"]
    [first, *_] = json.loads((exports(format) / "train.json").read_text("utf-8"))
    turns = [(turn["from"], turn["value"]) for turn in first["conversations"]]
    assert [(message["role"], message["content"]) for message in loaded["chatml"]["messages"]] == turns


def test_skyrl_keeps_every_prompt_and_what_the_environment_needs(exports: Exports) -> None:
    prompts = in_target(LIGHT, "skyrl_prompts.py", exports("skyrl") / "train.parquet")
    assert len(prompts) > 0
    for prompt in prompts:
        assert [message["role"] for message in prompt["prompt"]] == ["system", "user"]
        assert prompt["env_class"] == "skillweave"
        told = prompt["env_extras"]
        assert json.loads(told["reward_spec"]["ground_truth"])["task_id"] == told["extra_info"]["task_id"]


def test_llama_factory_converts_every_row_of_every_split(exports: Exports) -> None:
    converted = in_target(TORCH, "llamafactory_rows.py", exports("sharegpt"))
    rows = [row for split in converted.values() for row in split]
    written = rows_in(exports("sharegpt"))
    assert len(rows) == len(written)
    for row, of in zip(rows, written, strict=True):
        turns = row["_prompt"] + row["_response"]
        assert [turn["content"] for turn in turns] == [turn["value"] for turn in of["conversations"]]
        assert (row["_system"], row["_tools"]) == (of["system"], of["tools"])


def test_ms_swift_preprocesses_every_row(exports: Exports) -> None:
    file = exports("ms-swift") / "train.jsonl"
    rows = in_target(TORCH, "swift_rows.py", file)
    assert len(rows) == len(lines(file))
    for row, of in zip(rows, lines(file), strict=True):
        assert [message["content"] for message in row["messages"]] == [message["content"] for message in of["messages"]]


def test_verl_reads_prompts_and_tools(exports: Exports, tiny: Path) -> None:
    loaded = in_target(TORCH, "verl_rows.py", exports("verl"), exports("hub"), tiny)
    assert len(loaded["rows"]) > 0
    for row in loaded["rows"]:
        assert row["agent_name"] == "skillweave"
        assert json.loads(row["reward_model"]["ground_truth"])["task_id"] == row["extra_info"]["task_id"]
    assert len(loaded["tools"]) > 0
    assert loaded["unknown"] == []
