"""The command that each command proposes last can be given as it stands, whatever the names of folders are."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.base import command
from skillweave.base.command import advise_as, command_line, repeat_line, rollout_line, run_command, shell_word
from synth.cli.app import main as synth_main
from synth.offline.services import built_in
from tests.commands import Done, ran
from tests.rollout.offline_agents.clinic import a_dataset
from tests.rollout.world.servers import a_served_dataset
from tests.shared import ROOT

AWKWARD = 'it\'s a "folder" of $HOME/*'
"""A folder of such a name in another one of such a name."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a blank, quotes and a glob in its path, with a configuration in it."""
    folder = tmp_path / AWKWARD
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("seed: 3\n")
    return folder


def shell(line: str) -> str:
    """What a command prints that is given to a shell; it has to succeed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def following(shown: str | Done) -> str:
    """The command that the last line proposes."""
    text = shown if isinstance(shown, str) else shown.stdout + shown.stderr
    _, found, line = text.splitlines()[-1].rpartition("next: ")
    assert found, text
    return line


def test_each_next_command_works_in_any_folder(place: Path) -> None:
    dataset = a_dataset(place / "out puts")
    outputs, rollouts, config = str(dataset.store.root), str(place / "roll 'outs'"), str(place / "config.yaml")
    at = ["--outputs-dir", outputs, "--config", config]
    careless = ["--agent", "offline/careless", "--rollouts-dir", rollouts]
    evaluate = following(ran("rollout", "run", *at, *careless))
    assert evaluate.startswith("python -m evaluator run ")
    show = following(shell(evaluate))
    assert show.startswith("python -m evaluator show ")
    assert "golden" in shell(show).lower()
    results = next(Path(outputs, "evaluation").glob("*/results.jsonl"))
    teach = following(ran("evaluator", "teach", str(results)))
    shell(teach)
    oracle = str(place / "-oracle")
    scored = following(ran("rollout", "run", *at, "--rollouts-dir", oracle))
    shell(scored)
    better = next(path for path in Path(outputs, "evaluation").glob("*/results.jsonl") if path != results)
    flipped = following(ran("evaluator", "compare", str(results), str(better)))
    assert flipped.startswith(("python -m evaluator show ", "python -m evaluator teach "))
    shell(flipped)
    exported = ran(
        "interop", "export", "openai", "--outputs", outputs, "--rollouts", oracle, "--to", str(place / "ex port")
    )
    assert "Format" in shell(following(exported))
    shell(following(ran("rollout", "ladder", *at)))
    pruned = following(ran("evaluator", "run", "--mode", "prune", "--rollouts-dir", rollouts, *at))
    shell(pruned)


def test_who_owes_conversations_is_told_to_give_the_command_again(place: Path) -> None:
    dataset = a_dataset(place / "outputs")
    given = ["run", "--outputs-dir", str(dataset.store.root), "--config", str(place / "config.yaml")]
    given += ["--rollouts-dir", str(place / "rollouts"), "--agent", "openai/m", "--user", "offline/user"]
    given += ["--set", "rollout.agent.base_url=http://127.0.0.1:9/v1", "--set", "llm.max_retries=0"]
    done = ran("rollout", *given, "--set", "llm.outage_s=1")
    assert done.returncode == 1
    line = following(done)
    assert shlex.split(line)[3:] == [*given, "--set", "llm.outage_s=1"]
    assert "0 kept" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["a b", "it's", '"x"', "$HOME", "*", "-x", "~", "a  b", "li\nne", "\x1b[2J", "ä\udc80"]
)
def test_a_path_reaches_a_program_as_it_is(name: str, tmp_path: Path) -> None:
    line = f"cd {shell_word(tmp_path)}; touch {shell_word(Path(name))}"
    assert "\n" not in line
    assert line.isprintable()
    subprocess.run(["bash", "-c", line], check=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_one_place_says_how_programs_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_launcher", "python -m")
    advise_as("skillweave")
    assert command_line("synth", "run", "--outputs-dir", Path("-o")) == "skillweave synth run --outputs-dir ./-o"
    run_command(lambda: None, "rollout", ["run", "--tasks", "A b*"])
    assert repeat_line() == "skillweave rollout run --tasks 'A b*'"


def test_no_module_writes_a_command_of_its_own() -> None:
    wrong = []
    for program in ("synth", "rollout", "evaluator", "interop", "learn", "skillweave"):
        for path in sorted((ROOT / program).rglob("*.py")):
            lines = path.read_text("utf-8").splitlines()
            wrong += [f"{path.name}: {line.strip()}" for line in lines if "next: python" in line]
    assert wrong == []


def synth(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the program `synth` prints."""
    with pytest.raises(SystemExit) as ended:
        synth_main(None, [*words])
    assert ended.value.code in (0, None)
    return capsys.readouterr().out


def test_a_new_configuration_is_run_as_proposed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = following(synth(capsys, "init-config", str(place / "my config.yaml")))
    assert "nothing was written; next: " in shell(f"{run} --outputs-dir {shell_word(place / 'out')} --dry-run")
    service = shlex.split(following(synth(capsys, "list-services")))[-1]
    assert built_in().services_for(service)


def test_rollouts_go_to_a_folder_that_nobody_has(place: Path) -> None:
    outputs, rollouts, config = a_dataset(place / "data").store.root, place / "rollouts", place / "new.yaml"
    rollouts.mkdir()
    config.write_text("seed: 3\n", "utf-8")
    line = rollout_line(outputs, rollouts, "--limit", "1", config=config)
    score = following(shell(line))
    assert (place / "rollouts-2" / "run.json").is_file()
    assert not [*rollouts.iterdir()]
    assert shlex.split(score)[-2:] == ["--config", str(config)]


def without_packages(*words: str) -> subprocess.CompletedProcess[str]:
    """A command of a Python that has no packages, as where the environment is not active."""
    return subprocess.run([sys.executable, "-S", *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("program", [*command.PROGRAMS, "skillweave", "evaluator.run_evaluation"])
def test_who_has_not_activated_the_environment_is_told_so(program: str) -> None:
    done = without_packages("-m", program, "run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: the module '")
    assert "activate it with `. .venv/bin/activate`, or install it with `pip install .`" in done.stderr


def test_a_server_without_its_environment_says_so(tmp_path: Path) -> None:
    dataset = a_served_dataset(tmp_path / "outputs")
    done = without_packages(str(dataset.store.root / "mcp_servers/SmallClinic.py"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the module 'anyio' is not installed" in done.stderr


def test_advice_names_the_interpreter_where_it_is_not_the_shell_s(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent)
    given = ["-m", "synth", "init-config", "new.yaml"]
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    for python, advised in ((".venv/bin/python", ".venv/bin/python"), (sys.executable, sys.executable)):
        (tmp_path / "new.yaml").unlink(missing_ok=True)
        shown = subprocess.run(
            [tmp_path / python, *given], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert f"next: {advised} -m synth run" in shown.stdout
