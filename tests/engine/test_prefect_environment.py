"""The user's environment reaches neither our server nor our flow, but for where a server is."""

from pathlib import Path

import pytest

from skillweave.base.errors import ConfigError
from synth.engine.prefect_server import prefect_environment, require_answer, server_environment
from tests.engine.conftest import Toy, done

USERS = {
    "PATH": "/bin",
    "PREFECT_API_KEY": "k",
    "PREFECT_LOGGING_LEVEL": "garbage",
    "PREFECT_PROFILE": "mine",
    "http_proxy": "http://10.255.255.1:9",
    "no_proxy": "example.com",
    "PYTHONWARNINGS": "error",
}


def test_only_where_a_server_is_counts(tmp_path: Path) -> None:
    own, given = (
        prefect_environment(tmp_path, USERS),
        prefect_environment(tmp_path, USERS | {"PREFECT_API_URL": "http://x/api"}),
    )
    assert own["PREFECT_LOGGING_LEVEL"] == given["PREFECT_LOGGING_LEVEL"] == "CRITICAL"
    assert "PREFECT_PROFILE" not in own
    assert "PREFECT_API_KEY" not in own
    assert (given["PREFECT_API_KEY"], given["PREFECT_API_URL"]) == ("k", "http://x/api")
    server = server_environment(tmp_path, USERS | {"PREFECT_API_URL": "http://x/api"})
    assert {"PREFECT_API_URL", "PREFECT_API_KEY", "PYTHONWARNINGS"}.isdisjoint(server)


def test_no_proxy_stands_between_us_and_our_server(tmp_path: Path) -> None:
    found = prefect_environment(tmp_path, USERS)
    assert found["NO_PROXY"] == found["no_proxy"] == "example.com,127.0.0.1,::1,localhost"


@pytest.mark.parametrize("url", ["garbage", "http://", "http://127.0.0.1:99999/api", "http://127.0.0.1:1/api"])
def test_an_address_where_no_server_answers_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="PREFECT_API_URL"):
        require_answer(url, None)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("all_proxy", "socks5://127.0.0.1:9"),
        ("ALL_PROXY", "socks4://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9"),
        ("HTTPS_PROXY", "no proxy::"),
    ],
)
def test_a_run_reaches_its_server_whatever_proxies_there_are(
    toy: Toy, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    status, lines = toy.run("--until", "s01")
    assert (status, done(lines)) == (0, ["s01 words.json"])
