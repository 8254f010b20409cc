"""The kind of task that docs/extending.md shows, as it stands on the page: made, judged, rolled out and scored."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_extending import blocks
from tests.pipeline.small import OVERRIDES, ROOT, small_dataset

Record = dict[str, Any]
OWN = ("plugins=[compare]", "steps.s15_instance_combos_selection.per_clarification=2")


def run(folder: Path, *arguments: str) -> str:
    """A command that finds the plug-in in its folder."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def records(folder: Path, pattern: str) -> list[Record]:
    return [json.loads(line) for path in sorted(folder.glob(pattern)) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A folder with the page's plug-in, and a small dataset that was finished with it."""
    folder = tmp_path_factory.mktemp("own_kind")
    (folder / "compare.py").write_text(next(block for block in blocks("python") if "CompareRecipe" in block))
    small = small_dataset(tmp_path_factory, api_url)
    shutil.copytree(small, folder / "outputs", ignore=shutil.ignore_patterns(".prefect", "logs"))
    settings = [part for override in (*OVERRIDES, *OWN) for part in ("--set", override)]
    run(folder, "synth", "run", "--config", str(ROOT / "config.yaml"), "--outputs", "outputs", *settings)
    return folder


@pytest.fixture(scope="module")
def comparisons(folder: Path) -> list[Record]:
    return [task for task in records(folder, "outputs/queries/*.jsonl") if task["kind"] == "compare"]


def test_tasks_of_the_kind_pass_the_gates(comparisons: list[Record]) -> None:
    assert len(comparisons) > 3
    for task in comparisons:
        first, second = task["criteria"]["communicate"]
        assert first["values"] != second["values"]
        assert task["gates"]["golden"]


@pytest.mark.parametrize(("agent", "passes"), [("oracle", True), ("nothing", False)])
def test_it_is_rolled_out_and_scored(folder: Path, comparisons: list[Record], agent: str, passes: bool) -> None:
    chosen = [part for task in comparisons for part in ("--tasks", task["id"])]
    places = ["--outputs-dir", "outputs", "--rollouts-dir", agent]
    config = ["--config", str(ROOT / "config.yaml"), "--set", "plugins=[compare]"]
    run(folder, "rollout", "run", *config, *places, "--agent", f"offline/{agent}", *chosen)
    results = folder / agent / "scores" / "results.jsonl"
    run(folder, "evaluator", "run", *places, "--plugin", "compare", "--output", str(results))
    scores = [json.loads(line) for line in results.read_text().splitlines()]
    assert {score["kind"] for score in scores} == {"compare"}
    assert len(scores) == len(comparisons)
    assert all(score["passed"] is passes and score["error"] is None for score in scores)


def test_every_variant_is_judged_as_it_was_made(folder: Path, comparisons: list[Record]) -> None:
    chosen = [part for task in comparisons for part in ("--tasks", task["id"])]
    run(folder, "evaluator", "selftest", "--outputs-dir", "outputs", "--plugin", "compare", *chosen)
