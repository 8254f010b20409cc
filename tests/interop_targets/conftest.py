"""What the tests of all targets load: one export of each format."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.interop.export.conftest import trajectories  # noqa: F401
from tests.interop.export.exports import export
from tests.interop_targets.environments import ROOT, TORCH
from tests.interop_targets.target import command_in

OF_TASKS = frozenset({"agenteval", "steps", "verl", "skyrl", "fleet", "hub"})
Exports = Callable[[str], Path]


@pytest.fixture(scope="session")
def exports(small: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exports:
    """Gives the folder of an export of the small dataset, by the name of its format."""

    @cache
    def folder(format: str) -> Path:
        to = tmp_path_factory.mktemp(format)
        rollouts: Path | None = None if format in OF_TASKS else request.getfixturevalue("trajectories")
        done = export(format, small, to, rollouts=rollouts)
        assert done.returncode == 0, done.stdout + done.stderr
        return to

    return folder


@pytest.fixture(scope="session")
def tiny(exports: Exports, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    command_in(TORCH, ROOT / "recipes" / "tiny_model.py", folder, exports("trl-sft") / "train.jsonl")
    return folder
