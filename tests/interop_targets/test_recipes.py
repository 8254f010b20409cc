"""The recipes run to the first step on a CPU, with a tiny model of random weights."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from skillweave.world.dataset import Dataset
from tests.interop.export.exports import export
from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import LIGHT, ROOT, TORCH
from tests.interop_targets.target import command_in, in_target

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


def test_verl_composes_the_settings_and_knows_them_all() -> None:
    told = in_target(TORCH, "verl_settings.py", RECIPES / "grpo" / "verl.yaml")
    assert told == {"unknown": [], "estimator": "grpo", "loop": "skillweave", "epochs_of_verl": 1}


def test_skyrl_has_all_settings(exports: Exports, tmp_path: Path) -> None:
    for file in (RECIPES / "grpo" / "skyrl.yaml", exports("skyrl") / "skyrl.yaml"):
        assert in_target(LIGHT, "skyrl_settings.py", file)["unknown"] == []
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("generator: {max_turn: 3}\ntrainer: {policy: {model: {paht: x}}}\n", encoding="utf-8")
    told = in_target(LIGHT, "skyrl_settings.py", wrong)
    assert told["unknown"] == ["generator.max_turn", "trainer.policy.model.paht"]


def test_worlds_of_held_out_domains_are_left_out_and_marked(small: Path, tmp_path: Path) -> None:
    world, *_ = Dataset(small).worlds
    python = [sys.executable, str(RECIPES / "grpo" / "held_out.py")]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run([*python, str(small), world], env=variables, capture_output=True, text=True, check=True)
    assert f"world!={world}" in told.stdout
    refused = subprocess.run([*python, str(small), "Nowhere"], env=variables, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "Nowhere" in refused.stderr
    done = export("hub", small, tmp_path / "hub", *shlex.split(told.stdout))
    assert done.returncode == 0, done.stderr
    domains = {domain for row in read_worlds(tmp_path / "hub") for domain in row["world"].split("__")}
    assert domains
    assert world not in domains


def read_worlds(folder: Path) -> list[dict[str, str]]:
    """The worlds of an export of Parquet."""
    tables = [parquet.read_table(file, columns=["world"]) for file in folder.glob("*.parquet")]
    return [row for table in tables for row in table.to_pylist()]
