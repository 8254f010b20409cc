"""Group `servers`: calls of a world's MCP server, by turns with calls of an empty tool on the bare SDK."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from bench.suite import ROUNDS, Extent, Sample, cpu_time, family
from tests.servers.served import serve_from
from tests.servers.wire import listening
from tests.world.clinic import a_world

CALLS = 20
"""Calls of each server in a run."""
EMPTY = """
import sys
from mcp.server import MCPServer

server = MCPServer("empty", log_level="WARNING")


@server.tool()
def find_slots() -> dict:
    return {}


if "--port" in sys.argv:
    server.run("streamable-http", port=int(sys.argv[sys.argv.index("--port") + 1]))
else:
    server.run("stdio")
"""
"""A server with one tool, which does nothing. It ignores other options."""


def servers(extent: Extent) -> Iterator[Sample]:
    """Measure both transports."""
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, "utf-8")
        scripts = (serve_from(Path(folder) / "outputs", a_world()), empty)
        for transport in ("stdio", "http"):
            try:
                own, floor = asyncio.run(_by_turns(transport, scripts))
            except OSError as error:
                yield Sample(transport, [], f"this system does not tell the CPU time of a process: {error}")
            else:
                yield Sample(transport, own)
                yield Sample(f"{transport}_floor", floor)


async def _by_turns(transport: str, scripts: tuple[Path, Path]) -> tuple[list[float], ...]:
    """CPU seconds of a call of each server, on both sides, in each run; one run before them warms up."""
    async with AsyncExitStack() as stack:
        pairs = [await stack.enter_async_context(_connected(transport, script)) for script in scripts]
        runs = []
        for _ in range(ROUNDS + 1):
            spent = [-cpu_time(process) for _, process in pairs]
            for _ in range(CALLS):
                for place, (client, _) in enumerate(pairs):
                    begun = time.process_time()
                    result = await client.call_tool("find_slots", {})
                    spent[place] += time.process_time() - begun
                    assert not result.is_error, result
            runs.append([spent[place] + cpu_time(process) for place, (_, process) in enumerate(pairs)])
    return tuple([seconds / CALLS for seconds in sides] for sides in zip(*runs[1:], strict=True))


@asynccontextmanager
async def _connected(transport: str, script: Path) -> AsyncIterator[tuple[Client, int]]:
    """A client of a new server, and the server's process id."""
    before, options = family(os.getpid()), ["--caller", "PAT-0001"]
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            command = StdioServerParameters(command=sys.executable, args=[str(script), *options])
            client = Client(stdio_client(command))
        else:
            _, port = stack.enter_context(listening(script, *options))
            client = Client(f"http://127.0.0.1:{port}/mcp")
        await stack.enter_async_context(client)
        (process,) = set(family(os.getpid())) - set(before)
        yield client, process
