"""The small dataset, and a copy of it whose artifacts may be edited."""

import shutil
from pathlib import Path

import pytest

from tests.pipeline.downstream import Downstream
from tests.pipeline.small import small_dataset


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A finished dataset; not to be written to."""
    return small_dataset(tmp_path_factory, api_url)


@pytest.fixture
def line(small: Path, tmp_path: Path) -> Downstream:
    """Steps that can be run again on edited artifacts."""
    copied = tmp_path / "outputs"
    shutil.copytree(small, copied, ignore=shutil.ignore_patterns(".prefect", "logs"))
    return Downstream(copied)
