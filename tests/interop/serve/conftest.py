"""A server of each protocol, for the tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillweave.world.dataset import Dataset
from tests.interop.serve.servers import serving


@pytest.fixture(scope="module")
def dataset(small: Path) -> Dataset:
    return Dataset(small)


@pytest.fixture(scope="module")
def agentgym(small: Path) -> Iterator[str]:
    with serving("agentgym", small) as server:
        yield server.url


@pytest.fixture(scope="module")
def openenv(small: Path) -> Iterator[str]:
    with serving("openenv", small) as server:
        yield server.url
