"""More clients than a server has open files for: each gets an answer, and the server says so in a line."""

import asyncio
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.interop.serve.servers import serving

FILES, CLIENTS = 128, 300
ASK = b"POST /create HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"


async def answer(port: int, is_held: asyncio.Event) -> bytes:
    """What a client is told that keeps its connection until all have been."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASK)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    body = await reader.readexactly(length)
    if head.split()[1] == b"200":
        await is_held.wait()
    writer.close()
    return head + body


async def crowd(port: int) -> list[bytes]:
    is_held = asyncio.Event()
    clients = [asyncio.create_task(answer(port, is_held)) for _ in range(CLIENTS)]
    async with asyncio.timeout(120):
        while sum(client.done() for client in clients) < CLIENTS - FILES:
            await asyncio.sleep(0.1)
        is_held.set()
        return await asyncio.gather(*clients)


@pytest.mark.parametrize("protocol", ["agentgym", "openenv"])
def test_everyone_gets_an_answer(small: Path, protocol: str, tmp_path: Path) -> None:
    complaints = tmp_path / "stderr"
    with serving(protocol, small, open_files=FILES, complaints=complaints) as server:
        assert "at most 64 sessions" in server.said[0]
        if protocol == "agentgym":
            answers = asyncio.run(crowd(urlsplit(server.url).port or 0))
            statuses = Counter(answer.split()[1] for answer in answers)
            assert statuses.keys() == {b"200", b"503"}
            assert statuses[b"200"] >= 64
            turned_away = next(answer for answer in answers if answer.split()[1] == b"503")
            assert b"retry-after: 2\r\n" in turned_away
            assert b'{"error": {"code": "capacity", "message": "' in turned_away
        else:
            where = server.url.replace("http", "ws") + "/ws"
            clients = [connect(where) for _ in range(64)]
            with pytest.raises(InvalidStatus, match="503") as refused:
                connect(where)
            assert refused.value.response.headers["Retry-After"] == "2"
            clients.pop().close()
            for client in clients:
                client.send('{"type": "state"}')
                assert '"state"' in str(client.recv(timeout=60))
                client.close()
    lines = complaints.read_text().splitlines()
    assert lines[0] == (
        "warning: 128 open files have room for 64 sessions, not for 4,096; others are answered with status 503; "
        "allow more with ulimit -n"
    )
    assert len(lines) <= 3
