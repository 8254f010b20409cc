"""What all tests share: a Prefect server and finished datasets. To make one takes as long as many tests."""

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from skillweave.base import code
from skillweave.base.errors import ConfigError
from synth.engine.prefect_server import PREFECT_HOME, ApiServer, require_answer, server_environment
from tests.authors.conftest import Direct, direct, run  # noqa: F401
from tests.pipeline.small import JOINED, OVERRIDES, make_dataset
from tests.shared import SharedFolder, code_digest, copied
from tests.waiting import wait_until

API_URL = "SKILLWEAVE_TESTS_API_URL"
"""Names the server that the first process has begun for the others."""
GROUPS = {f"tests/authors/test_{name}": "faulty" for name in ("faults", "keys", "cassette")}
"""Files that share what only one process can hold. Of each other file, the tests run in one process."""
DATASETS = ("tests/pipeline/test_joined.py", "tests/authors/test_cassette.py", "tests/pipeline/test_edits.py")
"""What needs a dataset that nobody has made: the first two each another one; the third goes on with the second's."""
LONGEST = (*DATASETS, "tests/pipeline", "tests/authors", "tests/extending", "tests/engine", "tests/rollout")
"""What begins first, so that no process is left alone with it in the end."""
# How fast the machine is decides nothing.
settings.register_profile("tests", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    """Groups are for runs in several processes; without those the marker means nothing, and is no error."""
    # Commands advise `python` where a shell takes that for the interpreter that runs them.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    config.addinivalue_line("markers", "xdist_group(name): tests that run in one process")
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(prefix="skillweave-tests-")
        config.add_cleanup(folder.cleanup)
        server = _begin_server(Path(folder.name))
        config.add_cleanup(server.close)
        os.environ[API_URL] = server.url


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its group, before the groups are read, and put the longest first."""

    def place(item: pytest.Item) -> int:
        return next((place for place, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    for item in items:
        file = item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(GROUPS.get(file.removesuffix(".py"), file)))
    items.sort(key=place)


def _begin_server(folder: Path) -> ApiServer:
    (folder / PREFECT_HOME).mkdir()
    return ApiServer(server_environment(folder, {"PATH": "/usr/bin:/bin"}), folder / "server.log")


def _answers(url: str) -> bool:
    try:
        require_answer(url, None)
    except ConfigError:
        return False
    return True


@pytest.fixture(scope="session")
def api_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect server that runs while the tests do."""
    if API_URL in os.environ:
        wait_until(lambda: _answers(os.environ[API_URL]), "Prefect's server does not start")
        yield os.environ[API_URL]
        return
    server = _begin_server(tmp_path_factory.mktemp("api"))
    try:
        if not server.wait():
            raise server.start_error()
        yield server.url
    finally:
        server.close()


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """Where datasets are kept for all processes, and for later runs of the same code if pytest has a cache."""
    cache: pytest.Cache | None = getattr(request.config, "cache", None)
    return SharedFolder(cache.mkdir("shared") if cache else tmp_path_factory.mktemp("shared"), code_digest())


@pytest.fixture(scope="session")
def small(shared: SharedFolder, request: pytest.FixtureRequest) -> Path:
    """A finished dataset of two domains; not to be written to."""

    def make(folder: Path) -> None:
        first: Direct = request.getfixturevalue("direct")
        copied(first.outputs, folder / "outputs")
        make_dataset(folder / "outputs", OVERRIDES, request.getfixturevalue("api_url"))

    return shared.made("small", OVERRIDES, make) / "outputs"


@pytest.fixture(scope="session")
def joined(shared: SharedFolder, request: pytest.FixtureRequest) -> Path:
    """A finished dataset of two domains and their fused world; not to be written to."""

    def make(folder: Path) -> None:
        make_dataset(folder / "outputs", JOINED, request.getfixturevalue("api_url"))

    return shared.made("joined", JOINED, make) / "outputs"


@pytest.fixture(autouse=True, scope="session")
def parsed_once() -> Iterator[None]:
    """Each source file of the product is parsed once for all runs in this process, not once for each of them."""
    with patch.object(code, "parse_source", cache(code.parse_source)):
        yield


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replies are kept apart from the user's own, by our processes and those that we start."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
