"""Plug-ins are loaded wherever items run, and make stale only the steps that use what they add."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillweave.plugins import load_plugins, loaded_plugins
from skillweave.workers import ProcessPool
from tests.engine.conftest import Toy

ROOT = Path(__file__).parents[2]
VOICE = 'from tests.engine.toy.voices import VOICES\n\nVOICES.register("deep", "an octave lower")\n'


def run_with(toy: Toy, *plugins: str) -> tuple[int, list[str]]:
    """The toy's run in a process of its own: a plug-in is loaded once a process, and stays."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.engine.toy", *toy.arguments("--set", f"plugins=[{', '.join(plugins)}]")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(toy.folder)])},
        capture_output=True,
        text=True,
    )
    return ended.returncode, [*ended.stdout.splitlines(), *ended.stderr.splitlines()]


def redone(lines: list[str]) -> list[str]:
    return sorted(line.partition(":")[0] for line in lines if ": redo, " in line)


def test_a_plug_in_makes_stale_the_steps_that_use_its_registry_and_no_others(toy: Toy) -> None:
    (toy.folder / "deep_voice.py").write_text(VOICE)
    (toy.folder / "silent.py").write_text("")
    assert run_with(toy)[0] == 0
    code, lines = run_with(toy, "silent")
    assert (code, redone(lines)) == (0, [])
    code, lines = run_with(toy, "silent", "deep_voice")
    assert code == 0
    assert redone(lines) == [f"s02 lengths.json[{word}]" for word in ("alpha", "beta", "gamma")]
    (toy.folder / "deep_voice.py").write_text(VOICE.replace("octave", "whole octave"))
    _, lines = run_with(toy, "deep_voice")
    assert "s02 lengths.json[beta]: redo, code of deep_voice changed" in lines


def test_a_plug_in_that_cannot_be_loaded_is_wrong_configuration(toy: Toy) -> None:
    (toy.folder / "torn.py").write_text("raise RuntimeError('torn')")
    for name, why in [("torn", "RuntimeError: torn"), ("nowhere", "No module named 'nowhere'")]:
        code, lines = run_with(toy, name)
        assert (code, len(lines)) == (2, 1)
        assert lines[0].startswith(f"error: plugins: {name!r} cannot be loaded: ")
        assert why in lines[0]


def test_the_processes_of_the_pool_know_the_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "harmless_plugin.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("skillweave.plugins._loaded", {})
    load_plugins(["harmless_plugin"])
    pool = ProcessPool(1, tmp_path / "temporary")
    try:
        assert "harmless_plugin" in asyncio.run(pool.call(loaded_plugins))
    finally:
        pool.close()
