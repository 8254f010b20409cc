"""A server as a process, spoken to without an MCP client: what no client would send is sent too."""

import json
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import HANG, wait_until

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)


@contextmanager
def listening(server: Path, *options: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(server), "--transport", "streamable-http", "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: process.poll() is not None or _listens(port))
        yield process, port
    finally:
        process.kill()
        process.communicate(timeout=HANG)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def conversation(
    server: Path, *options: str
) -> Iterator[tuple["subprocess.Popen[str]", Callable[[str], dict[str, Any]]]]:
    """A server over stdio, and what it answers to a line."""
    process = subprocess.Popen(
        [sys.executable, str(server), *options],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    writing, reading = process.stdin, process.stdout

    def ask(line: str) -> dict[str, Any]:
        writing.write(line + "\n")
        writing.flush()
        assert select.select([reading], [], [], HANG)[0], "no answer"
        answer: dict[str, Any] = json.loads(reading.readline())
        return answer

    try:
        yield process, ask
    finally:
        process.kill()
        if not writing.closed:
            process.communicate(timeout=HANG)
