"""The small datasets, and a copy of one whose artifacts may be edited."""

import shutil
from pathlib import Path

import pytest

from tests.pipeline.downstream import Downstream
from tests.pipeline.small import JOINED, small_dataset


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A finished dataset; not to be written to."""
    return small_dataset(tmp_path_factory, api_url)


@pytest.fixture(scope="session")
def joined(tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A finished dataset of two domains and their fused world; not to be written to."""
    return small_dataset(tmp_path_factory, api_url, JOINED)


@pytest.fixture
def line(small: Path, tmp_path: Path) -> Downstream:
    """Steps that can be run again on edited artifacts."""
    copied = tmp_path / "outputs"
    shutil.copytree(small, copied, ignore=shutil.ignore_patterns(".prefect", "logs"))
    return Downstream(copied)
