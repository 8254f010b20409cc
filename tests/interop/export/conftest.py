"""Trajectories that all exports share: an agent that passes, and one that often fails."""

from pathlib import Path

import pytest

from tests.commands import ran
from tests.interop.export.exports import Record, records_in, write_records


@pytest.fixture(scope="session")
def trajectories(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one trajectory of each of twenty tasks by the oracle, and two by the careless agent."""
    records: list[Record] = []
    for agent, trials in (("offline/oracle", "1"), ("offline/careless", "2")):
        folder = tmp_path_factory.mktemp("rollouts")
        places = ["--config", "config.yaml", "--outputs-dir", str(small), "--rollouts-dir", str(folder)]
        done = ran("rollout", "run", *places, "--limit", "20", "--agent", agent, "--trials", trials)
        assert done.returncode == 0, done.stderr
        records += records_in(folder)
    return write_records(tmp_path_factory.mktemp("both"), records)
