"""A Prefect server that all tests share: starting one takes as long as many runs."""

import os
from collections.abc import Iterator

import pytest

from synth.engine.prefect_server import PREFECT_HOME, ApiServer, server_environment

GROUPS = {
    "tests/pipeline/test_joined": "joined",
    "tests/pipeline": "small",
    "tests/api": "small",
    "tests/authors": "authors",
}
"""Where tests share a dataset that takes a minute to make."""


def pytest_configure(config: pytest.Config) -> None:
    """Groups are for runs in several processes; without those the marker means nothing, and is no error."""
    config.addinivalue_line("markers", "xdist_group(name): tests that run in one process")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a file, and of all files of a group, run in one process. The longest groups begin first."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        group = next((group for start, group in GROUPS.items() if file.startswith(start)), file)
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: not item.nodeid.startswith("tests/pipeline"))


@pytest.fixture(scope="session")
def api_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that runs while the tests do."""
    folder = tmp_path_factory.mktemp("api")
    (folder / PREFECT_HOME).mkdir()
    server = ApiServer(server_environment(folder, {"PATH": "/usr/bin:/bin"}), folder / "server.log")
    try:
        if not server.wait():
            raise server.start_error()
        yield server.url
    finally:
        server.close()


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replies are kept apart from the user's own, by our processes and those that we start."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
