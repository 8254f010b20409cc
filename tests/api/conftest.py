"""The small dataset of the pipeline's tests, for Python."""

from pathlib import Path

import pytest

from tests.pipeline.small import small_dataset


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, api_url: str) -> Path:
    """A finished dataset; not to be written to."""
    return small_dataset(tmp_path_factory, api_url)
