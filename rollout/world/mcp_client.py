"""ClientTask: an MCP client with its server, in a task of its own.

The SDK's client has to be opened and closed by one task, and a conversation is begun by one and held by another.
"""

import asyncio
from typing import Any, TypeVar

import mcp_types as types
from mcp.client import Client

from rollout.world.mcp_process import ServerProcess
from skillweave.schema.record import Json

T = TypeVar("T")
_Asked = tuple[str, dict[str, Json], "asyncio.Future[types.CallToolResult]"]


class ClientTask:
    """Serves one conversation. What goes wrong is raised where it was asked for."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._asked: asyncio.Queue[_Asked | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> list[types.Tool]:
        """Start the server; its tools."""
        opened: asyncio.Future[list[types.Tool]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(opened))
        return await self._answer(opened)

    async def call(self, tool: str, arguments: dict[str, Json]) -> types.CallToolResult:
        """Call a tool."""
        called: asyncio.Future[types.CallToolResult] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((tool, arguments, called))
        return await self._answer(called)

    async def end(self) -> int | None:
        """Close the session and wait for the server's end: its exit status, None where it had to be killed."""
        if self._task is not None:
            self._asked.put_nowait(None)
            await asyncio.wait([self._task])
        return await self._process.end()

    async def give_up(self) -> None:
        """End it at once, whatever it is doing."""
        self._process.kill()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._process.end()

    async def _serve(self, opened: "asyncio.Future[list[types.Tool]]") -> None:
        try:
            async with Client(self._process.transport()) as client:
                opened.set_result((await client.list_tools()).tools)
                while (asked := await self._asked.get()) is not None:
                    tool, arguments, called = asked
                    try:
                        result = await client.call_tool(tool, arguments)
                    except Exception as error:
                        if not called.done():
                            called.set_exception(error)
                    else:
                        if not called.done():
                            called.set_result(result)
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)

    async def _answer(self, asked: "asyncio.Future[T]") -> T:
        """What comes of it; ConnectionError where the task ends before."""
        assert self._task is not None
        try:
            either: list[asyncio.Future[Any]] = [asked, self._task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ConnectionError("the connection is closed")
            return asked.result()
        finally:
            # An exception that nobody fetches would be logged once more.
            if not asked.cancel() and not asked.cancelled():
                asked.exception()
