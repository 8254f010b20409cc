"""The command `serve`: what it refuses, what it prints, tokens, and how it ends."""

import base64
import os
import signal
import socket
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.commands import ran
from tests.interop.serve.servers import serving

TOKEN = "s3cret-ünïcode"


def refused(*arguments: str) -> str:
    """The one line with which the command refuses to start."""
    done = ran("interop", "serve", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_wrong_options_are_refused_in_a_line(small: Path, tmp_path: Path) -> None:
    outputs = ("--outputs", str(small))
    assert "unknown protocol 'smtp'; there are agentgym, openenv, mcp" in refused("smtp", *outputs)
    assert "nobody" in refused("agentgym", *outputs, "--user", "offline/nobody")
    assert "did you mean 'max_turns'?" in refused("agentgym", *outputs, "--set", "rollout.max_turn=3")
    assert str(tmp_path / "none") in refused("agentgym", "--outputs", str(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"--port {port}" in refused("agentgym", *outputs, "--port", port)


def test_other_than_loopback_needs_a_token(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = ("--outputs", str(small))
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.test"):
        assert "--token-env" in refused("agentgym", *outputs, "--host", host)
    monkeypatch.delenv("NO_TOKEN", raising=False)
    assert "NO_TOKEN" in refused("agentgym", *outputs, "--token-env", "NO_TOKEN")
    monkeypatch.setenv("NO_TOKEN", "  ")
    assert "NO_TOKEN" in refused("agentgym", *outputs, "--host", "0.0.0.0", "--token-env", "NO_TOKEN")


def test_without_the_token_nothing_is_answered(small: Path) -> None:
    environment = {**os.environ, "GYM_TOKEN": TOKEN}
    with serving("openenv", small, "--token-env", "GYM_TOKEN", environment=environment) as server:
        assert TOKEN not in "".join(server.said)
        bearer = b"Bearer " + TOKEN.encode()
        basic = b"Basic " + base64.b64encode(b"any:" + TOKEN.encode())
        wrong: list[bytes] = [
            b"",
            b"Bearer",
            b"Bearer x",
            b"bearer " + TOKEN.encode() + b"x",
            b"Basic x",
            b"Basic eDp5",
        ]
        for given in wrong:
            answer = httpx.get(f"{server.url}/health", headers={b"Authorization": given})
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        for given in (bearer, basic):
            assert httpx.get(f"{server.url}/health", headers={b"Authorization": given}).status_code == 200
        where = server.url.replace("http", "ws") + "/ws"
        with pytest.raises(InvalidStatus):
            connect(where)
        with connect(where, additional_headers={"Authorization": basic.decode()}) as client:
            client.send('{"type": "state"}')
            assert '"state"' in client.recv(timeout=60)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_while_clients_are_there(small: Path, number: signal.Signals, status: int) -> None:
    with serving("openenv", small) as server, connect(server.url.replace("http", "ws") + "/ws") as client:
        client.send('{"type": "reset", "data": {"seed": 1}}')
        client.recv(timeout=60)
        server.process.send_signal(number)
        assert server.process.wait(60) == status


def test_it_says_where_it_is_and_how_to_connect(small: Path) -> None:
    with serving("agentgym", small, "--split", "validation", "--max-sessions", "3") as server:
        assert server.said[0].startswith("serving agentgym at http://127.0.0.1:")
        assert "at most 3 sessions" in server.said[0]
        assert server.said[1].startswith("connect: ")
        with httpx.Client(base_url=server.url) as http:
            session = http.post("/create").json()["id"]
            listed = [http.post("/reset", json={"id": session, "data_idx": number}) for number in range(30)]
            assert {answer.status_code for answer in listed} == {200, 404}
            assert all("split" in answer.text for answer in listed if answer.status_code == 404)
