"""Whole runs with the scripted agent and the scripted optimizer: what is learned, and that the bytes are the same."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rollout.folder import RolloutFolder
from skillweave.base.store import Store
from tests.commands import Done, ran
from tests.learn.skill.scripted import HARMFUL, RULES, ScriptedOptimizer

OWN = (".cache", "rollouts", "logs", "usage.json", "report.html")
"""Of a run, what may differ: what was done when, what it cost, and the page that shows it."""


def a_config(folder: Path, outputs: Path, **skill: Any) -> Path:
    """A configuration of a short run."""
    given: dict[str, Any] = {
        "model": "tests.learn.skill.scripted:ScriptedOptimizer/x",
        "items": {"train_size": 32},
        "train": {"num_epochs": 2, "batch_size": 8},
    }
    config = {
        "outputs_dir": str(outputs),
        "rollout": {"parts": {"backend": "tests.learn.skill.scripted:SkilledAgent"}},
        "skill": {**given, **skill},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "learn.yaml"
    path.write_text(json.dumps(config))
    return path


def trained(config: Path, out: Path, *more: str) -> Done:
    """Train a skill."""
    return ran("learn", "skill", "--config", str(config), "--out", str(out), *more)


def bytes_of(out: Path) -> dict[str, bytes]:
    """All files of a run that are the same whatever happened to it."""
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    paths = {str(path.relative_to(out)): path for path in files}
    return {name: path.read_bytes() for name, path in paths.items() if name.split("/")[0] not in OWN}


@pytest.fixture(scope="module")
def whole(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("whole")
    done = trained(a_config(folder, small), folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


def history_of(out: Path) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads((out / "history.json").read_text())
    return steps


def test_the_skill_does_better_on_tasks_that_were_never_seen(whole: Path) -> None:
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["test"]["initial"]["hard"] == 0
    assert summary["test"]["best"]["hard"] > 0
    assert summary["best_selection_hard"] > summary["baseline_selection_hard"]


def test_what_helps_is_kept_and_what_harms_is_rejected(whole: Path) -> None:
    best = (whole / "best_skill.md").read_text()
    assert RULES["do"] in best
    assert HARMFUL not in best
    steps = history_of(whole)
    made = {path.parent.name: path.read_text() for path in whole.glob("steps/*/ranked_edits.json")}
    harmful = [step for step in steps if HARMFUL in made.get(f"step_{step['step']:04}", "")]
    assert harmful
    assert {step["action"] for step in harmful} == {"reject"}
    accepted = [step for step in steps if step["action"].startswith("accept")]
    assert all(step["candidate_gate_score"] > step["previous_score"] for step in accepted)


def test_the_folder_has_the_usual_names(whole: Path) -> None:
    names = ["config.json", "history.json", "runtime_state.json", "best_skill.md", "summary.json", "report.html"]
    assert [name for name in names if not (whole / name).is_file()] == []
    assert (whole / "skills/skill_v0000.md").read_text() == "# Skill\n"
    assert json.loads((whole / "slow_update/epoch_02/slow_result.json").read_text())["action"] == "force_accept"
    assert json.loads((whole / "meta_skill/epoch_02/meta_skill_result.json").read_text())["action"] == "update"
    state = json.loads((whole / "runtime_state.json").read_text())
    assert state["last_completed_step"] == len(history_of(whole))
    assert state["finished"] is True


def test_rows_and_scores_of_validation_are_not_those_of_test(whole: Path, small: Path) -> None:
    splits = {
        task["id"]: task["split"]
        for path in (small / "queries").glob("*.jsonl")
        for task in map(json.loads, path.read_text().splitlines())
    }
    tested = [json.loads(line)["id"] for line in (whole / "test_eval/best/results.jsonl").read_text().splitlines()]
    rolled = [
        json.loads(line)["id"]
        for path in whole.glob("steps/*/rollout/results.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {splits[id] for id in tested} == {"test"}
    assert {splits[id] for id in rolled} == {"train"}


def test_four_workers_write_the_same_bytes_as_one(whole: Path, small: Path, tmp_path: Path) -> None:
    few = ("--set", "rollout.max_parallel_agents=1", "--set", "rollout.max_concurrency=1")
    assert trained(a_config(tmp_path, small), tmp_path / "out", *few).returncode == 0
    assert bytes_of(tmp_path / "out") == bytes_of(whole)


class Killed(BaseException):
    """Ends a run anywhere, as a kill does."""


KILLED = "^killed$|unhandled errors in a TaskGroup"
"""What a killed run ends with."""


@contextmanager
def killed_after(owner: type, method: str, count: int) -> Iterator[None]:
    """End the run in the call of a method, after so many that were made."""
    original, calls = getattr(owner, method), 0

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > count:
            raise Killed("killed")
        return original(self, *arguments)

    with patch.object(owner, method, counted):
        yield


KILLS = [(Store, "write", 9), (RolloutFolder, "append", 30), (Store, "write", 45), (ScriptedOptimizer, "complete", 7)]


def test_after_kills_at_any_step_the_bytes_are_the_same(whole: Path, small: Path, tmp_path: Path) -> None:
    config, out = a_config(tmp_path, small), tmp_path / "out"
    for owner, method, count in KILLS:
        with killed_after(owner, method, count), pytest.raises(BaseException) as ended:
            trained(config, out)
        assert "Killed" in repr(ended.value) or "did not" in str(ended.value).lower()
    asked = len(ScriptedOptimizer.asked)
    assert trained(config, out).returncode == 0
    assert bytes_of(out) == bytes_of(whole)
    conversations = [
        json.loads(line)["id"]
        for folder in (out / "rollouts").iterdir()
        for path in folder.glob("[!.]*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(ScriptedOptimizer.asked) > asked
    assert len(conversations) == sum(
        len(path.read_text().splitlines())
        for folder in (whole / "rollouts").iterdir()
        for path in folder.glob("[!.]*.jsonl")
    )


def test_a_finished_run_asks_for_nothing_again(whole: Path, small: Path, tmp_path: Path) -> None:
    before, asked = bytes_of(whole), len(ScriptedOptimizer.asked)
    done = trained(a_config(tmp_path, small), whole)
    assert done.returncode == 0
    assert len(ScriptedOptimizer.asked) == asked
    assert "conversations to do" not in done.stdout
    assert bytes_of(whole) == before


def test_another_run_is_refused_in_the_same_folder(whole: Path, small: Path, tmp_path: Path) -> None:
    done = trained(a_config(tmp_path, small, train={"num_epochs": 2, "batch_size": 4}), whole)
    assert done.returncode == 2
    assert "skill.train.batch_size is 8 there and 4 now" in done.stderr


def test_a_gain_that_may_be_chance_is_rejected_by_the_stricter_rule(small: Path, tmp_path: Path) -> None:
    strict = {"rule": "significant", "level": 0.0001, "eval_test": False}
    config = a_config(tmp_path, small, items={"train_size": 32, "val_size": 5}, evaluation=strict)
    assert trained(config, tmp_path / "out").returncode == 0
    reasons = [step["reason"] for step in history_of(tmp_path / "out") if step["action"] == "reject"]
    assert "chance" in reasons


def test_a_skill_is_scored_without_training(whole: Path, small: Path, tmp_path: Path) -> None:
    best = whole / "best_skill.md"
    done = trained(a_config(tmp_path, small), tmp_path / "out", "--eval-only", "--skill", str(best), "--split", "val")
    assert done.returncode == 0
    scores = json.loads((tmp_path / "out/eval_summary.json").read_text())["splits"]
    summary = json.loads((whole / "summary.json").read_text())
    assert scores["val"]["hard"] == summary["best_selection_hard"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--eval-only"], "--eval-only and --skill FILE belong together"),
        (["--set", "skill.model=offline/author"], "cannot reflect on conversations"),
        (["--set", "skill.items.tasks=[nowhere]"], "skill.items.tasks 'nowhere' matches none"),
        (["--set", "skill.optimizer.lr_scheduler=steep"], "skill.optimizer.lr_scheduler"),
        (["--set", "skill.optimiser={}"], "did you mean 'optimizer'?"),
        (["--set", "skill.skill_init=missing.md"], "name a Markdown file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(small: Path, tmp_path: Path, more: list[str], words: str) -> None:
    done = trained(a_config(tmp_path, small), tmp_path / "out", *more)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--split", "val"], "--split is for --eval-only"),
        (["--set", "rollout.skill=a.md"], "begin with it by skill.skill_init"),
    ],
)
def test_options_that_would_be_ignored_are_refused(small: Path, tmp_path: Path, more: list[str], words: str) -> None:
    done = trained(a_config(tmp_path, small), tmp_path / "out", *more)
    assert done.returncode == 2
    assert words in done.stderr


def test_agents_of_a_run_with_the_best_skill_read_what_was_scored(whole: Path, small: Path, tmp_path: Path) -> None:
    folder, skill = tmp_path / "rollouts", whole / "best_skill.md"
    config = a_config(tmp_path, small)
    choose = ("--set", f"rollout.skill={skill}", "--rollouts-dir", str(folder), "--split", "test", "--limit", "1")
    assert ran("rollout", "run", "--config", str(config), *choose).returncode == 0
    (path,) = folder.glob("[!.]*.jsonl")
    prompt = json.loads(path.read_text().splitlines()[0])["messages"][0]["content"]
    read = {file.read_text().strip() for file in (whole / "rollouts").glob("*/skill.md")}
    assert prompt.partition("has taught you\n\n")[2] in read
    assert "<!--" not in prompt.partition("has taught you\n\n")[2]


def test_a_folder_of_something_else_is_left_alone(small: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/queries").mkdir()
    done = trained(a_config(tmp_path, small), tmp_path / "out")
    assert done.returncode == 2
    assert "'queries', which no skill run writes" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["queries"]
