"""A gate of one's own: one module, named in the configuration. A run keeps to it, and `verify` repeats it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.gates import GATES
from tests.authors.conftest import Direct
from tests.pipeline.small import SMALLEST
from tests.shared import ROOT, copied

MODULE = '''
"""A gate of one's own: no task takes more than four calls."""

from synth.gates import GATES
from synth.gates.gate import Figures, JudgedTask, TaskGate
from synth.tasks.replay import Rejected

MOST_CALLS = 4


def check(judged: JudgedTask) -> Figures:
    calls = len(judged.combination.golden)
    if calls > MOST_CALLS:
        raise Rejected("too many calls", f"{calls} calls")
    return {"short": {"calls": calls}}


GATES.register(
    "short",
    TaskGate(
        name="short",
        proves="A task takes few calls.",
        runs="Nothing: the golden calls are counted.",
        figures={"short.calls": "golden calls"},
        reasons=("too many calls",),
        check=check,
    ),
)
'''
SETTINGS = ("plugins=[short_tasks]", *SMALLEST)


@pytest.fixture(scope="module")
def folder(direct: Direct, tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """The folder of the user's module; beside it lie the outputs of a run that went on with it."""
    folder = tmp_path_factory.mktemp("own_gate")
    (folder / "short_tasks.py").write_text(MODULE)
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    places = ["--config", "config.yaml", "--outputs", str(copied(direct.outputs, folder / "outputs"))]
    done = synth(folder, "run", *places, *settings, PREFECT_API_URL=api_url)
    assert done.returncode == 0, done.stdout[-3000:]
    return folder


def synth(folder: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The command, with the folder's modules within reach."""
    variables = {**os.environ, "PYTHONPATH": str(folder), **variables}
    command = [sys.executable, "-m", "synth", *words]
    return subprocess.run(
        command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def verify(folder: Path, *settings: str) -> "subprocess.CompletedProcess[str]":
    """Prove the run's tasks again, with the settings of the run by default."""
    return synth(folder, "verify", str(folder / "outputs"), "--quick", *settings)


def tasks_in(folder: Path) -> list[dict[str, dict[str, dict[str, dict[str, int]]]]]:
    (file,) = (folder / "outputs" / "queries").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_gate_of_ones_own_rejects_and_its_figures_stand_on_the_tasks(folder: Path) -> None:
    calls = [task["gates"]["own"]["short"]["calls"] for task in tasks_in(folder)]
    assert calls
    assert max(calls) <= 4
    manifest = json.loads((folder / "outputs" / "manifest.json").read_text())
    rejected = [item.get("rejected", {}) for item in manifest["items"] if item["step"] == "s16_task_filtering"]
    assert sum(reasons.get("too many calls", 0) for reasons in rejected) > 0


def test_verify_repeats_it(folder: Path) -> None:
    done = verify(folder)
    assert done.returncode == 0, done.stdout
    without = verify(folder, "--set", "plugins=[]")
    assert without.returncode == 1
    assert "the gate 'short' is not known here" in without.stdout


def test_verify_finds_a_forged_figure(folder: Path) -> None:
    (file,) = (folder / "outputs" / "queries").glob("*.jsonl")
    content = file.read_bytes()
    task = json.loads(content.splitlines()[0])
    task["gates"]["own"]["short"]["calls"] -= 1
    file.write_text("\n".join([json.dumps(task), *content.decode().splitlines()[1:]]) + "\n")
    done = verify(folder)
    file.write_bytes(content)
    assert "gates.short.calls is" in done.stdout


def test_gates_say_what_they_prove_and_name_their_figures_by_field() -> None:
    for name, gate in GATES.items():
        assert gate.name == name
        assert gate.proves.endswith("."), name
        assert gate.runs.endswith("."), name
        assert gate.reasons, name
        assert all(figure.count(".") == 1 for figure in gate.figures), name
