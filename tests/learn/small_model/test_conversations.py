"""Files and requests of any content get an error in one line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from learn.small_model.conversations import load_conversations, messages_fault, tools_fault
from skillweave.base.errors import ArtifactError, ConfigError
from tests.learn.small_model.conversations import TOOLS, a_conversation, call, write_conversations


def test_conversations_are_read(tmp_path: Path) -> None:
    assert len(load_conversations(write_conversations(tmp_path / "a.jsonl", 5))) == 5


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = write_conversations(tmp_path / "a.jsonl", 2)
    path.write_text(path.read_text("utf-8") + '{"messages": 5}\n', "utf-8")
    with pytest.raises(ArtifactError, match=r"line 3: messages should be a list"):
        load_conversations(path)
    path.write_text("{torn", "utf-8")
    with pytest.raises(ArtifactError, match="line 1: not JSON"):
        load_conversations(path)


def test_no_file_and_nothing_to_learn_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file"):
        load_conversations(tmp_path / "none.jsonl")
    path = tmp_path / "users.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Hello"}]}), "utf-8")
    with pytest.raises(ConfigError, match="no message of an assistant"):
        load_conversations(path)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (5, "should be an object"),
        ({"role": "nobody"}, "has the role 'nobody'"),
        ({"role": "user", "content": 5}, "should have a content"),
        ({"role": "assistant", "tool_calls": 5}, "should have tool_calls"),
        ({"role": "assistant", "tool_calls": [5]}, "without a function's name"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[]"}}]}, "arguments are not"),
    ],
)
def test_faults_of_messages_are_told(message: Any, fault: str) -> None:
    assert messages_fault([*a_conversation()["messages"], call("find_rooms"), message]) is not None
    assert fault in str(messages_fault([message]))


@pytest.mark.parametrize(
    "parameters", [5, {"properties": 5}, {"properties": {"a": 5}}, {"required": ["a"]}, {"required": 5}]
)
def test_faults_of_tools_are_told(parameters: Any) -> None:
    assert tools_fault([*TOOLS, {"function": {"name": "f", "parameters": parameters}}]) is not None
    assert tools_fault(TOOLS) is None


def test_without_torch_one_line_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none here')", "utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from learn.small_model.command import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "serve", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "PyTorch is missing; install it with pip install torch" in done.stderr
