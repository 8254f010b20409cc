"""The page's own check, run as the page says: it is in the results, and it counts where a task says so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator import score
from evaluator.checks import CHECKS
from evaluator.scoring.selftest import trajectory_line, variants_of
from skillweave.base.errors import ConfigError
from skillweave.schema.task import Task
from skillweave.schema.trajectory import Message
from tests.docs.test_extending import blocks
from tests.evaluator.variants.clinic import every_task
from tests.rollout.offline_agents.clinic import WORLD, a_dataset
from tests.waiting import HANG

ROOT = Path(__file__).parents[2]


def counted(task: Task) -> Task:
    """The task with a reward that counts the check."""
    basis = [*task.criteria.reward_basis, "brevity"]
    return task.model_copy(update={"criteria": task.criteria.model_copy(update={"reward_basis": basis})})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset in whose first task the check counts, a trajectory of each task, and the page's module."""
    first, *rest = [task for task in every_task() if task.kind == "do"][:3]
    a_dataset(tmp_path / "outputs", [counted(first), *rest])
    (tmp_path / "rollouts").mkdir()
    lines = [trajectory_line(task, 0, next(variants_of(WORLD, task))) for task in (first, *rest)]
    record = json.loads(lines[0])
    record["messages"][-2]["content"] += " word" * 100
    (tmp_path / "rollouts" / "SmallClinic.jsonl").write_bytes(b"\n".join([json.dumps(record).encode(), *lines[1:]]))
    source = next(block for block in blocks("python") if "CHECKS.register" in block)
    (tmp_path / "brevity.py").write_text(source)
    return tmp_path


def evaluated(folder: Path, *more: str) -> list[dict[str, Any]]:
    """The results of `evaluator run`, by task."""
    command = [sys.executable, "-m", "evaluator", "run", "--rollouts-dir", "rollouts", "--outputs-dir", "outputs"]
    done = subprocess.run(
        [*command, *more], cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "outputs" / "evaluation" / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_pages_check_is_in_every_result_and_counts_where_a_task_says_so(folder: Path) -> None:
    (folder / "config.yaml").write_text(next(block for block in blocks("yaml") if "brevity" in block))
    results = {result["checks"]["own"]["brevity"]["score"]: result for result in evaluated(folder)}
    assert set(results) == {0.0, 1.0}
    assert results[0.0]["reward"] == 0.0
    assert '"brevity"' not in str(results[0.0]["failure"]["class"])
    assert "brevity" in results[0.0]["failure"]["first_divergence"]["got"]
    assert results[1.0]["passed"]
    summary = json.loads((folder / "outputs" / "evaluation" / "summary.json").read_text())
    assert 0 < summary["by_agent"][0]["checks"]["brevity"]["mean"] < 1
    assert "brevity" in (folder / "outputs" / "evaluation" / "report.html").read_text()


def test_the_option_loads_it_too_and_earlier_results_are_made_again(folder: Path) -> None:
    (folder / "config.yaml").write_text("seed: 7\n")
    queries = folder / "outputs" / "queries" / "SmallClinic.jsonl"
    queries.write_text(queries.read_text().replace(', "brevity"', "").replace(',"brevity"', ""))
    assert all("own" not in result["checks"] for result in evaluated(folder))
    assert all("brevity" in result["checks"]["own"] for result in evaluated(folder, "--plugin", "brevity"))


def test_a_check_that_nobody_knows_is_one_clear_error() -> None:
    task = counted(next(task for task in every_task() if task.kind == "do"))
    with WORLD.session(task) as session, pytest.raises(ConfigError, match="counts 'brevity'; it may count state"):
        score(task, session, task.messages)


def test_a_kind_that_nobody_knows_is_one_clear_error() -> None:
    task = every_task()[0].model_copy(update={"kind": "compare"})
    with WORLD.session(task) as session, pytest.raises(ConfigError, match="unknown kind of task 'compare'"):
        score(task, session, [Message(role="user", content="Hello")])


def test_the_built_in_checks_are_registered() -> None:
    assert [name for name, check in CHECKS.items() if check.needs_judge] == ["rubric", "subjective"]
