"""A scripted server on the loopback: a list of what it does, one a request, whatever protocol the client speaks.

It runs on an event loop of its own in a thread, so that a test may block, or run loops of its own.
"""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

End = Literal["whole", "closed", "reset", "hang"]


@dataclass(frozen=True)
class Heard:
    """A request."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any


@dataclass(frozen=True)
class Act:
    """What the server does with one request: wait, send, and end the answer or not."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] | None = None
    """Sent one by one in place of the body, as a chunked answer."""
    raw: bytes | None = None
    """Sent in place of any HTTP."""
    end: End = "whole"
    """`closed`: in the middle of the answer; `reset`: by an RST; `hang`: never."""
    delay: float = 0.0
    """Seconds before anything is sent."""


Script = Callable[[Heard], Act]


def reply(body: object, *, delay: float = 0.0) -> Act:
    """A whole JSON answer."""
    return Act(json.dumps(body).encode(), headers={"Content-Type": "application/json"}, delay=delay)


def stream(events: Sequence[object], *, end: End = "whole", named: bool = False) -> Act:
    """Server-sent events, one piece each: JSON, or a text such as `[DONE]`. `named` as Anthropic does it, by `type`."""
    return Act(
        headers={"Content-Type": "text/event-stream"}, pieces=[_event(event, named) for event in events], end=end
    )


def fault(status: int, message: str = "no", *, retry_after: float | None = None, **details: object) -> Act:
    """An error in JSON; `details` stand beside its message."""
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"
    return Act(json.dumps({"error": {"message": message, **details}}).encode(), status=status, headers=headers)


def soon(act: Act) -> Act:
    """The same fault, to be tried again at once."""
    return Act(act.body, act.status, {**act.headers, "retry-after-ms": "5"})


HANG = Act(end="hang")
RESET = Act(end="reset")
CLOSED = Act(end="closed")
TRUNCATED = Act(b'{"id": "c1", "choices": [{"mess', end="closed", headers={"Content-Type": "application/json"})
GARBAGE = Act(raw=b"\x00\xffthis is no HTTP\r\n\r\n")


class ScriptedServer:
    """`script`: acts in order, the last one again and again; or a function of the request."""

    def __init__(self, *script: Act | Script) -> None:
        self._script = script
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.heard: list[Heard] = []
        """The requests so far."""
        self.url = ""
        """Without a path."""
        self._answers: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2048, limit=1 << 26), self._loop
        ).result(10)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for answer in self._answers:
            answer.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._answers.add(task)
        try:
            while (heard := await _hear(reader)) is not None:
                act = self._next(heard)
                await asyncio.sleep(act.delay)
                if not await _play(act, writer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._answers.discard(task)
            writer.close()

    def _next(self, heard: Heard) -> Act:
        act = self._script[min(len(self.heard), len(self._script) - 1)]
        self.heard.append(heard)
        return act if isinstance(act, Act) else act(heard)


def _event(event: object, named: bool) -> bytes:
    name = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
    return f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


async def _hear(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Heard(head[0].split()[1], headers, json.loads(body) if body else None)


async def _play(act: Act, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection can be used again."""
    if act.raw is not None:
        writer.write(act.raw)
        await writer.drain()
        return False
    if act.body or act.pieces is not None or act.end == "whole":
        await _send(act, writer)
    if act.end == "hang":
        await asyncio.Event().wait()
    if act.end == "reset":
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    return act.end == "whole"


async def _send(act: Act, writer: asyncio.StreamWriter) -> None:
    is_whole = act.end == "whole"
    missing = 0 if is_whole else 100
    length = "Transfer-Encoding: chunked" if act.pieces is not None else f"Content-Length: {len(act.body) + missing}"
    lines = [f"HTTP/1.1 {act.status} Said", length, *(f"{name}: {value}" for name, value in act.headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    writer.write(act.body)
    for piece in act.pieces or ():
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    if act.pieces is not None and is_whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
