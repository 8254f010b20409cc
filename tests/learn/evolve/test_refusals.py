"""What cannot work is refused in one line that says what to do, before anything is trained."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import ran
from tests.learn.evolve.runs import TRAINER, configured, evolved

NO_DATA = [TRAINER[0], "{model}"]


@pytest.mark.parametrize(
    ("evolve", "words"),
    [
        ({"held_out": {"split": "train", "limit": 2}}, "evolve.held_out and evolve.seed_tasks share 2 tasks"),
        ({"explore": {"limit": 500}}, "evolve.held_out and evolve.explore share"),
        ({"explore": {"worlds": ["CityHotl"]}}, "did you mean 'CityHotel'?"),
        ({"held_out": {"share": [0, 1e-9]}}, "evolve.held_out chooses none of the"),
        ({"trainer": {"command": NO_DATA}}, "evolve.trainer.command has no {data}"),
        ({"trainer": {"command": ["no-such-trainer", "{data}", "{model}"]}}, "there is no program 'no-such-trainer'"),
        ({"trainer": {"python": "no-such-python"}}, "evolve.trainer.python: there is no program"),
        ({"agent": {"model": "vllm/{model}"}}, "set evolve.agent.serve={}"),
        ({"agent": {"model": "vllm/{model}", "serve": {"command": ["no-such"]}}}, "evolve.agent.serve.command"),
        ({"agent": {"model": "openai/{model}", "serve": {}}}, "evolve.agent.serve starts a server in vLLM's manner"),
        ({"agent": {"model": "tests.learn.evolve.agent:Nobody/{model}"}}, "cannot be loaded"),
        ({"agent": {"model": "openai/gpt-5"}}, "should have a model with {model} in it"),
        ({"first": "no/such/folder"}, "no/such/folder"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(
    small: Path, tmp_path: Path, evolve: dict[str, Any], words: str
) -> None:
    done = evolved(configured(tmp_path, small, **evolve))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert not (tmp_path / "run" / "iterations").exists()


def test_another_configuration_in_the_folder_is_refused_with_its_key_and_more_iterations_are_not(
    small: Path, tmp_path: Path
) -> None:
    config = configured(tmp_path, small, iterations=1, trainer={"command": [*TRAINER, "{iteration}"]})
    command = ["--set", "evolve.trainer.environment={TRAINER: fails}"]
    assert evolved(config, *command).returncode == 1
    done = evolved(config, *command, "--set", "evolve.per_task=3")
    assert done.returncode == 2
    assert "evolve.per_task is 2 there and 3 now; give another folder with --folder" in done.stderr
    done = evolved(config, *command, "--set", "seed=8")
    assert (done.returncode, "seed is 7 there and 8 now" in done.stderr) == (2, True)
    # Nothing forbids this; the trainer fails again.
    assert evolved(config, *command, "--set", "evolve.iterations=4", "--set", "execution.workers=2").returncode == 1


def test_a_folder_with_something_else_is_left_alone(small: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, small)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    done = evolved(config)
    assert done.returncode == 2
    assert "holds 'thesis.tex' and no config.json" in done.stderr


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("fails", "the trainer ended with exit status 3; its log is"),
        ("empty", "the trainer left nothing in {model}, the folder to write; its log is"),
    ],
)
def test_a_trainer_without_a_model_stops_the_run_with_its_last_line(
    small: Path, tmp_path: Path, what: str, words: str
) -> None:
    config = configured(tmp_path, small, trainer={"command": TRAINER, "environment": {"TRAINER": what}})
    done = evolved(config)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    last = {"fails": "out of memory", "empty": "training with seed 7"}[what]
    assert done.stderr.endswith(f"it last said: {last}\n")
    folder = tmp_path / "run" / "iterations" / "00"
    assert not (folder / "model").exists()
    assert json.loads((folder / "training" / "record.json").read_text())["exit"] == (3 if what == "fails" else 0)


def test_a_first_set_without_reward_is_refused(small: Path, tmp_path: Path) -> None:
    options = ["--agent", "offline/nothing", "--rollouts-dir", str(tmp_path / "nothing"), "--limit", "2"]
    assert ran("rollout", "run", "--config", "config.yaml", "--outputs-dir", str(small), *options).returncode == 0
    done = evolved(configured(tmp_path, small, first=str(tmp_path / "nothing")))
    assert done.returncode == 2
    assert "no trajectory of the first set has reward 1" in done.stderr


def test_no_key_is_written_to_the_folder(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "sk-never-written")
    config = configured(tmp_path, small, trainer={"command": TRAINER, "environment": {"TRAINER": "fails"}})
    settings = yaml.safe_load(config.read_text())
    settings["evolve"]["agent"]["api_key_env"] = "SECRET"
    config.write_text(yaml.safe_dump(settings))
    assert evolved(config).returncode == 1
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-never-written" in path.read_bytes()]


def test_a_dry_run_says_what_would_be_held_and_leaves_nothing(small: Path, tmp_path: Path) -> None:
    config = configured(tmp_path, small, iterations=2)
    done = evolved(config, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.rpartition("  ")[0]: line for line in done.stdout.splitlines()}
    assert any(
        "explore with each iteration's model" in line and line.split()[5:8] == ["24", "6", "144"] for line in lines
    )
    assert any(
        "evaluate each model on what is held out" in line and line.split()[8:11] == ["8", "5", "40"] for line in lines
    )
    assert "in all at most 184 conversations, about " in done.stdout
    assert "nothing was written" in done.stdout
    assert not (tmp_path / "run").exists()


def test_a_dry_run_needs_no_pytorch_and_says_that_the_run_does(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("learn.evolve.settings._has_torch", lambda python: False)
    config = configured(tmp_path, small, trainer={}, agent={"model": "vllm/{model}"})
    done = evolved(config)
    assert (done.returncode, "has no PyTorch" in done.stderr) == (2, True)
    done = evolved(config, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "before the run: " in done.stdout
    assert "has no PyTorch, which the built-in small model needs" in done.stdout
    assert "nothing was written; next: python -m learn evolve " in done.stdout
