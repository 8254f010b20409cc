"""The recipes run to the first step on a CPU, with a tiny model of random weights."""

import json
import re
from pathlib import Path

import pytest

from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import ROOT, TORCH
from tests.interop_targets.target import command_in

pytestmark = pytest.mark.interop
RECIPES = ROOT / "recipes"


@pytest.fixture(scope="module")
def tiny(exports: Exports, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    command_in(TORCH, RECIPES / "tiny_model.py", folder, exports("trl-sft") / "train.jsonl")
    return folder


def test_sft_with_trl_takes_a_step(exports: Exports, tiny: Path, tmp_path: Path) -> None:
    told = command_in(
        TORCH,
        *(RECIPES / "sft" / "train.py", "--data", exports("trl-sft"), "--model", tiny, "--to", tmp_path),
        *("--max-steps", "1", "--cpu"),
    )
    [loss] = re.findall(r"'train_loss': '?([\d.]+)", told)
    assert float(loss) > 0
    assert json.loads((tmp_path / "config.json").read_text("utf-8"))["model_type"] == "qwen2"


def test_grpo_with_trl_takes_a_step_in_the_worlds(small: Path, tiny: Path, tmp_path: Path) -> None:
    told = command_in(
        TORCH,
        *(RECIPES / "grpo" / "train.py", "--outputs", small, "--model", tiny, "--to", tmp_path),
        *("--max-steps", "1", "--cpu"),
    )
    assert "'train_runtime'" in told
    assert re.search(r"'rewards/\w+/mean': '?0", told)
    assert (tmp_path / "model.safetensors").exists()
