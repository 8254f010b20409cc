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
"""The most bytes of one message."""
MOST_LINES = 1000
"""The most messages that a server may send for one that it received."""
LARGEST_FILE = 64 * 2**20
"""The most bytes that a server may write to a file, such as its dump or its standard error."""
GRACE_S = 10.0
"""Seconds for a server to write the dump and exit after its input is closed."""
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
"""The program that becomes the server. On Linux the kernel kills it when our process dies (PR_SET_PDEATHSIG, SIGKILL);
elsewhere the server ends when its input is closed."""


class ServerProcess:
    """The process of one server. It does not outlive `end`."""

    def __init__(self, script: Path, arguments: list[str], folder: Path) -> None:
        """Create the process object; `transport` starts the process.

        Args:
            script: The server's script.
            arguments: The script's arguments.
            folder: The folder in which the server runs and may write. Its standard error is kept there.
        """
        self.fault = ""
        """How the server broke the protocol; empty if it did not."""
        self._command = [str(script), *arguments]
        self._folder = folder
        self._stderr = folder / "stderr.txt"
        self._process: asyncio.subprocess.Process | None = None
        self._lines = 0
        self._is_heard = False
        """Whether the client reads the server's output."""

    @property
    def last_words(self) -> str:
        """The last line of the server's standard error; empty if there is none."""
        try:
            with self._stderr.open("rb") as stream:
                stream.seek(max(0, self._stderr.stat().st_size - 2000))
                lines = stream.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[TransportStreams]:
        """Start the server and connect a client to its pipes. On leaving, the server's input is closed."""
        await self._start()
        from_server, client_input = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        client_output, to_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as pipes, from_server, client_input, client_output, to_server:
            pipes.start_soon(self._read, from_server)
            pipes.start_soon(self._write, to_server)
            try:
                yield client_input, client_output
            finally:
                self._close_input()
                pipes.cancel_scope.cancel()

    async def end(self, grace_s: float = GRACE_S) -> int | None:
        """Close the server's input and wait for its exit, at most `grace_s` seconds; then kill it.

        Returns:
            The exit status; None if the server had to be killed or was never started.
        """
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
        """Kill the server and all processes that it started."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _start(self) -> None:
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment |= {"HOME": str(self._folder), "TMPDIR": str(self._folder)}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
        child = ["-I", "-S", "-c", _CHILD, str(os.getpid()), str(LARGEST_FILE)]
        with self._stderr.open("wb") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *child,
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
                limit=LONGEST_LINE,
            )

    async def _exited(self, process: asyncio.subprocess.Process) -> None:
        """Wait for the exit. Drain output that the client does not read, since a full pipe would block the server."""
        assert process.stdout is not None
        while not self._is_heard and await process.stdout.read(2**16):
            pass
        await process.wait()

    async def _read(self, messages: "anyio.abc.ObjectSendStream[SessionMessage | Exception]") -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._is_heard = True
        try:
            async with messages:
                while not self.fault:
                    line = await self._process.stdout.readline()
                    message = self._parsed(line) if line else None
                    if message is not None:
                        await messages.send(message)
                    elif not line:
                        return
        except ValueError:
            self._give_up(f"it wrote a line of more than {LONGEST_LINE} bytes")
        finally:
            self._is_heard = False

    async def _write(self, messages: "anyio.abc.ObjectReceiveStream[SessionMessage]") -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        async with messages:
            async for message in messages:
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
_Request = tuple[str, dict[str, Json], "asyncio.Future[types.CallToolResult]"]
"""Tool, arguments, and the future that gets the result."""


class ClientTask:
    """The task that owns the MCP client of one conversation. The caller of a method gets the error of its request.

    The SDK's client must be opened, used and closed in the same task.
    """

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._requests: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> list[types.Tool]:
        """Start the server; the tools that it offers."""
        opened: asyncio.Future[list[types.Tool]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._serve(opened))
        return await self._answer(opened)

    async def call(self, tool: str, arguments: dict[str, Json]) -> types.CallToolResult:
        """Call a tool.

        Raises:
            ConnectionError: The server has ended.
        """
        result: asyncio.Future[types.CallToolResult] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait((tool, arguments, result))
        return await self._answer(result)

    async def end(self) -> int | None:
        """Close the session and wait for the server's exit: its status, None if it had to be killed."""
        if self._task is not None:
            self._requests.put_nowait(None)
            await asyncio.wait([self._task])
        return await self._process.end()

    async def give_up(self) -> None:
        """Kill the server and end the task at once."""
        self._process.kill()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._process.end()

    async def _serve(self, opened: "asyncio.Future[list[types.Tool]]") -> None:
        try:
            async with Client(self._process.transport()) as client:
                opened.set_result((await client.list_tools()).tools)
                while (request := await self._requests.get()) is not None:
                    tool, arguments, answer = request
                    try:
                        result = await client.call_tool(tool, arguments)
                    except Exception as error:
                        if not answer.done():
                            answer.set_exception(error)
                    else:
                        if not answer.done():
                            answer.set_result(result)
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)

    async def _answer(self, answer: "asyncio.Future[T]") -> T:
        """Wait for an answer.

        Raises:
            ConnectionError: The task ended before.
        """
        assert self._task is not None
        try:
            either: list[asyncio.Future[Any]] = [answer, self._task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionError("the connection is closed")
            return answer.result()
        finally:
            # asyncio would log an exception that nobody retrieves.
            if not answer.cancel() and not answer.cancelled():
                answer.exception()
