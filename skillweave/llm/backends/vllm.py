"""vLLM: its OpenAI-compatible endpoint, and a server that is started for one run.

Tools are sent as strict: only then does vLLM hold a call's arguments to their schema while it decodes them. The
server listens on the loopback only, and ends with us, however we end.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Self

from skillweave.base.errors import ConfigError
from skillweave.llm.backends import process_guard
from skillweave.llm.backends.backend import Request
from skillweave.llm.backends.errors import OptionalField
from skillweave.llm.backends.json_schema import guided_format
from skillweave.llm.backends.openai_chat import REASONING, ChatBackend, strict_tool
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message

HOST = "127.0.0.1"
POLL_S = 0.2
"""Seconds between two looks whether the server is ready."""
HEALTH_TIMEOUT_S = 5.0
PROGRESS_S = 10.0
"""Seconds between two messages about its start."""
LAST_LINES = 5
"""Lines of its log that an error shows."""
LONGEST_LINE = 200


class VllmBackend(ChatBackend):
    """A model behind a vLLM server."""

    provider = "vllm"
    home = "http://127.0.0.1:8000/v1"
    key_variable = None
    optional_fields = (*ChatBackend.optional_fields, OptionalField(("return_token_ids",), r"\breturn_token_ids\b"))

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        if self._settings.record_tokens:
            body["return_token_ids"] = True
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        wire = super()._message(message)
        if message.role == "assistant" and message.reasoning_content:
            # Which of the two a chat template, or a version of the server, reads differs.
            wire |= dict.fromkeys(REASONING, message.reasoning_content)
        return wire

    def _tools(self, tools: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
        return [strict_tool(tool) for tool in tools]

    def _format(self, schema: Mapping[str, Json]) -> dict[str, Json]:
        return guided_format(schema)


class VllmServer:
    """A vLLM server of our own: `async with VllmServer("org/model", log=...) as server:`, then `server.base_url`."""

    def __init__(
        self,
        model: str,
        *,
        log: Path,
        tool_parser: str = "hermes",
        reasoning_parser: str | None = None,
        arguments: Sequence[str] = (),
        command: Sequence[str] = ("vllm",),
        environment: Mapping[str, str] | None = None,
        port: int | None = None,
        start_limit_s: float = 900.0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is started yet.

        Args:
            model: The model to serve.
            log: The file that its output goes to.
            tool_parser: vLLM's parser of tool calls.
            reasoning_parser: vLLM's parser of reasoning; None for none, which leaves thoughts in the text.
            arguments: Further arguments of `vllm serve`.
            command: How vLLM is called, before `serve`.
            environment: Variables that are added to our own.
            port: None is any free one.
            start_limit_s: Seconds until it has to answer.
            progress: Gets a line about its start now and then.
        """
        self.model = model
        self.port = port or _free_port()
        reasoning = () if reasoning_parser is None else ("--reasoning-parser", reasoning_parser)
        listening = ("--host", HOST, "--port", str(self.port))
        tools = ("--enable-auto-tool-choice", "--tool-call-parser", tool_parser)
        self.command = (*command, "serve", model, *listening, *tools, *reasoning, *arguments)
        self._environment = environment or {}
        self._log = log
        self._limit = start_limit_s
        self._progress = progress or (lambda _: None)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    async def __aenter__(self) -> Self:
        """Start the server, and wait until it answers.

        Raises:
            ConfigError: It is not installed, ends early, or takes too long.
        """
        if shutil.which(self.command[0]) is None:
            raise ConfigError(
                f"there is no program {self.command[0]!r} to serve {self.model!r} with; install vLLM "
                "(pip install vllm), or give the base_url of a server that runs already"
            )
        self._process = self._start()
        try:
            await self._wait(self._process)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the server and all that it started. Closing twice is no error."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            await asyncio.shield(asyncio.to_thread(process.wait))

    def _start(self) -> "subprocess.Popen[bytes]":
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as stream:
            return subprocess.Popen(
                [sys.executable, "-I", process_guard.__file__, *self.command],
                env={**os.environ, **self._environment},
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                # A process group of its own: it ends as a whole, and no interrupt at the keyboard reaches it.
                start_new_session=True,
            )

    async def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        loop = asyncio.get_running_loop()
        began = reported = loop.time()
        while not await asyncio.to_thread(_is_healthy, self.port):
            status, waited = process.poll(), loop.time() - began
            if status is not None:
                raise self._error(f"ended with status {status} before it was ready")
            if waited > self._limit:
                raise self._error(f"was not ready within {self._limit:g} seconds")
            if loop.time() - reported >= PROGRESS_S:
                reported = loop.time()
                last = self._last_lines(1)
                self._progress(f"vllm: {self.model} is starting, {waited:.0f} s" + (f": {last}" if last else ""))
            await asyncio.sleep(POLL_S)
        self._progress(f"vllm: {self.model} is ready after {loop.time() - began:.0f} s at {self.base_url}")

    def _error(self, what: str) -> ConfigError:
        last = self._last_lines(LAST_LINES)
        output = f"; it last said: {last}" if last else ""
        return ConfigError(f"vLLM's server for {self.model!r} {what}; its log is {str(self._log)!r}{output}")

    def _last_lines(self, count: int) -> str:
        lines = [line.strip() for line in self._log.read_text("utf-8", "replace").splitlines() if line.strip()]
        return " | ".join(line[:LONGEST_LINE] for line in lines[-count:])


def _is_healthy(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port
