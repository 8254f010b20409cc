"""A generated MCP server as a process of its own, and the client that calls its tools."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client import Client
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from skillweave.schema.record import Json

LONGEST_LINE = 16 * 2**20
"""Bytes of one message."""
MOST_LINES = 1000
"""Messages that a server may send for one that it got."""
LARGEST_FILE = 64 * 2**20
"""Bytes that it may write to a file: its dump, or what it complains about."""
GRACE_S = 10.0
"""Time to write the dump and exit once its input is closed."""
_INHERITED = ("PATH", "LD_LIBRARY_PATH")
_CHILD = """
import ctypes, os, resource, sys
parent, largest, *command = sys.argv[1:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(parent):
    os._exit(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), int(largest)))
os.execv(sys.executable, [sys.executable, *command])
"""
"""Asks Linux for its death with ours (PR_SET_PDEATHSIG, SIGKILL) and becomes the server; elsewhere the server ends
when its input does."""


class ServerProcess:
    """One server. It is not to outlive `end`."""

    def __init__(self, script: Path, arguments: list[str], folder: Path) -> None:
        """`folder` is where it runs and may write; what it complains about is kept there."""
        self.fault = ""
        """What it did that no server does."""
        self._command = [str(script), *arguments]
        self._folder = folder
        self._complaints = folder / "stderr.txt"
        self._process: asyncio.subprocess.Process | None = None
        self._lines = 0
        self._is_heard = False
        """Whether the client reads what it says."""

    @property
    def last_words(self) -> str:
        """The last line that it complained with."""
        try:
            with self._complaints.open("rb") as stream:
                stream.seek(max(0, self._complaints.stat().st_size - 2000))
                lines = stream.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[TransportStreams]:
        """Start it and speak to it; on leaving its input is closed."""
        await self._start()
        said, hears = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        tells, asked = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as pipes, said, hears, tells, asked:
            pipes.start_soon(self._read, said)
            pipes.start_soon(self._write, asked)
            try:
                yield hears, tells
            finally:
                self._close_input()
                pipes.cancel_scope.cancel()

    async def end(self, grace_s: float = GRACE_S) -> int | None:
        """Wait for its exit: its status, None where it had to be killed or was never started."""
        process = self._process
        if process is None:
            return None
        self._close_input()
        try:
            async with asyncio.timeout(grace_s):
                await self._exited(process)
        except TimeoutError:
            return None
        finally:
            self.kill()
        return process.returncode

    def kill(self) -> None:
        """End it and what it started, at once."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _start(self) -> None:
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment |= {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
        child = ["-I", "-S", "-c", _CHILD, str(os.getpid()), str(LARGEST_FILE)]
        with self._complaints.open("wb") as complaints:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *child,
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=complaints,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
                limit=LONGEST_LINE,
            )

    async def _exited(self, process: asyncio.subprocess.Process) -> None:
        """Read on where the client does not, so that no full pipe keeps it from its end."""
        assert process.stdout is not None
        while not self._is_heard and await process.stdout.read(2**16):
            pass
        await process.wait()

    async def _read(self, said: "anyio.abc.ObjectSendStream[SessionMessage | Exception]") -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._is_heard = True
        try:
            async with said:
                while not self.fault:
                    line = await self._process.stdout.readline()
                    message = self._parsed(line) if line else None
                    if message is not None:
                        await said.send(message)
                    elif not line:
                        return
        except ValueError:
            self._give_up(f"it wrote a line of more than {LONGEST_LINE} bytes")
        finally:
            self._is_heard = False

    async def _write(self, asked: "anyio.abc.ObjectReceiveStream[SessionMessage]") -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        async with asked:
            async for message in asked:
                self._lines = 0
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(ConnectionError):
                    self._process.stdin.write(text.encode() + b"\n")
                    await self._process.stdin.drain()

    def _parsed(self, line: bytes) -> SessionMessage | None:
        self._lines += 1
        if self._lines > MOST_LINES:
            self._give_up(f"it sent more than {MOST_LINES} messages for one")
            return None
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._give_up(f"it wrote {line[:80].decode('utf-8', 'replace')!r}, which is no message")
            return None

    def _give_up(self, fault: str) -> None:
        self.fault = self.fault or fault
        self.kill()

    def _close_input(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


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
