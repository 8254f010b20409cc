"""The kind of task that docs/extending.md shows, as it stands on the page: made, judged, rolled out and scored."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_extending import blocks
from tests.shared import ROOT, SharedFolder, copied
from tests.waiting import HANG

Record = dict[str, Any]
CONFIG = ("--config", str(ROOT / "config.yaml"), "--set", "plugins=[compare]")
SMALL = (
    "domains.seeds=[dental clinic]",
    "steps.s01_domain_expansion.target_domains=1",
    "steps.s06_database_generation.histories=1",
    "steps.s06_database_generation.visits=400",
    "steps.s15_instance_combos_selection.per_template=2",
    "steps.s15_instance_combos_selection.per_refusal=0",
    "steps.s15_instance_combos_selection.per_unavailable=0",
)


def run(folder: Path, *arguments: str, **variables: str) -> None:
    """A command in a folder that holds the plug-in."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def the_plugin() -> str:
    return next(block for block in blocks("python") if "CompareRecipe" in block)


@pytest.fixture(scope="module")
def folder(shared: SharedFolder, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder with the page's plug-in, and a small dataset that was made with it."""

    def make(folder: Path) -> None:
        (folder / "compare.py").write_text(the_plugin())
        settings = [part for setting in SMALL for part in ("--set", setting)]
        url = request.getfixturevalue("api_url")
        run(folder, "synth", "run", *CONFIG, "--outputs", "outputs", *settings, PREFECT_API_URL=url)

    return copied(shared.made("own_kind", (*SMALL, the_plugin()), make), tmp_path_factory.mktemp("own_kind") / "copy")


@pytest.fixture(scope="module")
def comparisons(folder: Path) -> list[Record]:
    lines = (folder / "outputs" / "queries" / "DentalClinic.jsonl").read_text().splitlines()
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
    run(folder, "rollout", "run", *CONFIG, *places, "--agent", f"offline/{agent}", *only(comparisons))
    results = folder / "scores" / agent / "results.jsonl"
    run(folder, "evaluator", "run", *places, "--plugin", "compare", "--output", str(results))
    scores = [json.loads(line) for line in results.read_text().splitlines()]
    assert {score["kind"] for score in scores} == {"compare"}
    assert len(scores) == len(comparisons)
    assert all(score["passed"] is passes and score["error"] is None for score in scores)


def test_every_variant_is_judged_as_it_was_made(folder: Path, comparisons: list[Record]) -> None:
    run(folder, "evaluator", "selftest", "--outputs-dir", "outputs", "--plugin", "compare", *only(comparisons))


def test_the_dataset_is_verified_with_the_plugin(folder: Path) -> None:
    run(folder, "synth", "verify", "outputs", "--quick", *CONFIG)
