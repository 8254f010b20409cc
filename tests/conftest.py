"""A Prefect server that all tests share: starting one takes as long as many runs."""

import os
from collections.abc import Iterator

import pytest

from synth.engine.api_server import ApiServer
from synth.engine.prefect_environment import HOME, server_environment


@pytest.fixture(scope="session")
def api_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that runs while the tests do."""
    folder = tmp_path_factory.mktemp("api")
    (folder / HOME).mkdir()
    server = ApiServer(server_environment(folder, {"PATH": "/usr/bin:/bin"}), folder / "server.log")
    try:
        if not server.wait():
            raise server.complaint()
        yield server.url
    finally:
        server.close()


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replies are kept apart from the user's own, by our processes and those that we start."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
