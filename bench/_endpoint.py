"""Instruments of the benchmarks: an endpoint of fixed latency on the loopback, and the memory of processes."""

import asyncio
import json
import sys
from pathlib import Path


def held(process: int) -> int:
    """Bytes of memory of a process and all its descendants. Shared pages are divided among their users (PSS)."""
    return sum(_held(member) for member in family(process))


def family(process: int) -> list[int]:
    """Ids of a process and all its descendants; only the process itself if there is no `/proc`."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may contain anything; state and parent follow it.
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        parents.setdefault(parent, []).append(int(path.parent.name))
    members = [process]
    for member in members:
        members += parents.get(member, [])
    return members


def megabytes(size: int) -> int | None:
    """A size in mebibytes; None for 0, which means that nothing was measured."""
    return round(size / 2**20) if size else None


def _held(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


WORDS = "I have looked into it, and it is as you say. Is there anything else that I can do for you?"
HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class BenchEndpoint:
    """Answers requests and counts them."""

    def __init__(self, latency: float, cap: int) -> None:
        self.latency, self.cap = latency, cap
        self.requests = self.under_way = self.peak = self.refused = 0

    def reply(self, body: bytes) -> bytes:
        """The reply to a request. Every third reply is words, the others are calls."""
        messages = json.loads(body)["messages"]
        replies = sum(message["role"] == "assistant" for message in messages)
        call = {"id": f"c{replies}", "type": "function", "function": {"name": "find_slots", "arguments": "{}"}}
        message = (
            {"role": "assistant", "content": WORDS}
            if replies % 3 == 2
            else {"role": "assistant", "content": None, "tool_calls": [call]}
        )
        choice = {"index": 0, "message": message, "finish_reason": "stop" if replies % 3 == 2 else "tool_calls"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        return json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "bench",
                "choices": [choice],
                "usage": usage,
            }
        ).encode()


class Connection(asyncio.Protocol):
    """The connection of one client: HTTP/1.1 with content lengths, one request after the other."""

    def __init__(self, endpoint: BenchEndpoint) -> None:
        self._endpoint = endpoint
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the replies."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each complete request in the buffer."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                ),
                0,
            )
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        endpoint = self._endpoint
        if head.startswith(b"GET"):
            seen = {"requests": endpoint.requests, "peak": endpoint.peak, "refused": endpoint.refused}
            self._write(200, json.dumps(seen).encode())
            return
        endpoint.requests += 1
        endpoint.under_way += 1
        endpoint.peak = max(endpoint.peak, endpoint.under_way)
        if endpoint.under_way > endpoint.cap:
            endpoint.refused += 1
            endpoint.under_way -= 1
            self._write(503, b"{}")
            return
        asyncio.get_running_loop().call_later(endpoint.latency, self._end, endpoint.reply(body))

    def _end(self, reply: bytes) -> None:
        self._endpoint.under_way -= 1
        self._write(200, reply)

    def _write(self, status: int, body: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(HEAD % (status, len(body)) + body)


async def serve(latency: float, cap: int) -> None:
    """Print the port and answer requests until standard input is closed.

    Args:
        latency: Seconds before each answer.
        cap: The most requests at once; further ones are refused with status 503.
    """
    endpoint = BenchEndpoint(latency, cap)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(endpoint), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2])))
