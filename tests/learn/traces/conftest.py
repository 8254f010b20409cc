"""Trajectories of scripted agents on the same tasks: one that passes, one that often fails, one that does nothing."""

from pathlib import Path

import pytest

from tests.commands import ran


@pytest.fixture(scope="session")
def agents(small: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Agent -> a rollouts folder with one trajectory of each of sixteen tasks."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("oracle", "careless", "nothing")}
    for name, folder in folders.items():
        places = ["--config", "config.yaml", "--outputs-dir", str(small), "--rollouts-dir", str(folder)]
        done = ran("rollout", "run", *places, "--limit", "30", "--agent", f"offline/{name}", "--trials", "1")
        assert done.returncode == 0, done.stderr
    return folders
