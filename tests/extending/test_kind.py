"""The kind of task that docs/extending.md shows, as it stands on the page: made, judged, rolled out and scored."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.authors.conftest import Direct
from tests.authors.runs import WORLD
from tests.docs.test_extending import blocks
from tests.pipeline.small import SMALLEST
from tests.shared import ROOT, copied
from tests.waiting import HANG

Record = dict[str, Any]
CONFIG = ("--config", str(ROOT / "config.yaml"), "--set", "plugins=[compare]")


def command(folder: Path, *arguments: str, **variables: str) -> None:
    """A command in a folder that holds the plug-in."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    words = [sys.executable, "-m", *arguments]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def the_plugin() -> str:
    return next(block for block in blocks("python") if "CompareRecipe" in block)


@pytest.fixture(scope="module")
def folder(direct: Direct, tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A folder with the page's plug-in, and a small dataset that was gone on with by it."""
    folder = tmp_path_factory.mktemp("own_kind")
    (folder / "compare.py").write_text(the_plugin())
    copied(direct.outputs, folder / "outputs")
    settings = [part for setting in SMALLEST for part in ("--set", setting)]
    command(folder, "synth", "run", *CONFIG, "--outputs", "outputs", *settings, PREFECT_API_URL=api_url)
    return folder


@pytest.fixture(scope="module")
def comparisons(folder: Path) -> list[Record]:
    lines = (folder / "outputs" / "queries" / f"{WORLD}.jsonl").read_text().splitlines()
    return [task for task in map(json.loads, lines) if task["kind"] == "compare"]


def only(tasks: list[Record]) -> list[str]:
    return [part for task in tasks for part in ("--tasks", task["id"])]


def test_a_kind_is_one_module_of_the_users_own() -> None:
    assert len(the_plugin().splitlines()) < 70


def test_tasks_of_the_kind_come_out_and_have_passed_the_gates(comparisons: list[Record]) -> None:
    assert comparisons
    for task in comparisons:
        first, second = task["criteria"]["communicate"]
        assert first["values"] != second["values"]
        assert all(task["gates"][name] for name in ("golden", "grounded", "planner"))


@pytest.mark.parametrize(("agent", "passes"), [("oracle", True), ("nothing", False)])
def test_they_are_rolled_out_and_scored(folder: Path, comparisons: list[Record], agent: str, passes: bool) -> None:
    places = ["--outputs-dir", "outputs", "--rollouts-dir", agent]
    command(folder, "rollout", "run", *CONFIG, *places, "--agent", f"offline/{agent}", *only(comparisons))
    results = folder / "scores" / agent / "results.jsonl"
    command(folder, "evaluator", "run", *places, "--plugin", "compare", "--output", str(results))
    scores = [json.loads(line) for line in results.read_text().splitlines()]
    assert {score["kind"] for score in scores} == {"compare"}
    assert len(scores) == len(comparisons)
    assert all(score["passed"] is passes and score["error"] is None for score in scores)


def test_every_variant_is_judged_as_it_was_made(folder: Path, comparisons: list[Record]) -> None:
    command(folder, "evaluator", "selftest", "--outputs-dir", "outputs", "--plugin", "compare", *only(comparisons))


def test_the_dataset_is_verified_with_the_plugin(folder: Path) -> None:
    command(folder, "synth", "verify", "outputs", "--quick", *CONFIG)
