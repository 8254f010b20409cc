"""A session on a generated server: the server is a process of its own, and its tools are called over MCP.

At the end all calls are repeated on the contract, and each answer and the end state are compared. The score comes from
the contract. A server that differs from its contract is a defect of the world and is never scored.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import mcp_types as types

from rollout.task import Answer, Definition, RolloutError
from rollout.world.mcp_server import ClientTask, ServerProcess
from skillweave.base.command import command_line
from skillweave.base.errors import ArtifactError, WorldError
from skillweave.schema.contract import TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.dataset import Dataset
from skillweave.world.session import ContractSession
from skillweave.world.tools import name_of, result_text
from skillweave.world.world import World

T = TypeVar("T")

DEEPEST = 64
"""The deepest nesting of arguments that are sent to a server."""
_LEAVING_S = 1.0
"""Seconds to wait for the exit of a server whose pipe is closed."""
_TOO_DEEP = '{"error": {"code": "invalid_arguments", "message": "The arguments are nested too deeply.", "rule": null}}'


class McpOpener:
    """Opens sessions on a dataset's servers, with one process for each session."""

    def __init__(
        self, dataset: Dataset, *, call_timeout_s: float = 30.0, open_timeout_s: float = 120.0, at_work: int = 8
    ) -> None:
        """Create an opener.

        Args:
            dataset: The dataset with the servers.
            call_timeout_s: Seconds that a call may take.
            open_timeout_s: Seconds that the start of a server may take.
            at_work: The most servers that start, answer or end at once, since more would only compete for cores. A
                server that waits for its agent does not count, so no conversation waits for another one's end.
        """
        self._dataset = dataset
        self._call_timeout_s = call_timeout_s
        self._open_timeout_s = open_timeout_s
        self._at_work = asyncio.Semaphore(at_work)

    async def __call__(self, task: Task) -> "HeldServer":
        """Start the server and open the session of a task.

        Raises:
            WorldError: There is no server, or it offers other tools than the contract.
            RolloutError: The server does not start.
        """
        world = self._dataset.world(task)
        try:
            script = self._dataset.store.file(f"mcp_servers/{task.world}.py")
        except ArtifactError as error:
            raise WorldError(f"the world {task.world!r} has no server to run on: {error}") from error
        outputs = self._dataset.store.root
        server = HeldServer(task, world, script.resolve(), self._at_work, self._call_timeout_s, outputs)
        await server.open(self._open_timeout_s)
        return server

    async def check(self, tasks: Iterable[Task]) -> None:
        """Start the server of each world of these tasks once, and compare its tools with the contract's.

        A server that does not start is no matter of this check: it may be the machine's, and its conversations say so.

        Raises:
            WorldError: A world has no server, or it offers other tools than the contract.
        """

        async def try_out(task: Task) -> None:
            with suppress(RolloutError):
                await (await self(task)).close()

        firsts = {task.world: task for task in reversed([*tasks])}
        found = await asyncio.gather(*(try_out(firsts[world]) for world in sorted(firsts)), return_exceptions=True)
        for error in found:
            if error is not None:
                raise error


class _AnsweredCall(NamedTuple):
    """A call and the text of its answer."""

    tool: str
    arguments: dict[str, Json]
    answer: str


class HeldServer:
    """A server's session. It is closed or finished exactly once."""

    def __init__(
        self, task: Task, world: World, script: Path, at_work: asyncio.Semaphore, call_timeout_s: float, outputs: Path
    ) -> None:
        self.tools: list[Definition] = []
        self._task = task
        self._world = world
        self._outputs = outputs
        self._at_work = at_work
        self._call_timeout_s = call_timeout_s
        self._folder = Path(tempfile.mkdtemp(prefix="skillweave-mcp-"))
        self._dump = self._folder / "end.sqlite"
        arguments = ["--task", task.id, "--dump", str(self._dump)]
        self._process = ServerProcess(script, arguments, self._folder)
        self._client = ClientTask(self._process)
        self._calls: list[_AnsweredCall] = []

    async def open(self, timeout_s: float) -> None:
        """Start the server and read its tools.

        Args:
            timeout_s: Seconds that the start may take.

        Raises:
            WorldError: The server offers other tools than the contract.
            RolloutError: The server does not start.
        """
        try:
            async with self._at_work:
                offered = await self._within(timeout_s, self._client.open(), "did not start")
            self.tools = self._checked(offered)
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool on the server.

        Raises:
            RolloutError: The server broke down, took too long, or answered in a wrong form.
        """
        sent = _as_sent(arguments)
        if sent is None:
            return Answer(_TOO_DEEP, ok=False)
        async with self._at_work:
            called = f"did not answer a call of {tool!r}"
            result = await self._within(self._call_timeout_s, self._client.call(tool, sent), called)
        text = _text_of(result)
        if text is None:
            raise self._broken(f"answered a call of {tool!r} with anything but one text")
        self._calls.append(_AnsweredCall(tool, sent, text))
        return Answer(text, not result.is_error, "transfer" if tool == TRANSFER and not result.is_error else None)

    async def finish(self) -> ContractSession:
        """End the server, repeat all calls on the contract and compare; the contract's session.

        Raises:
            WorldError: The server's answers or its end state differ from the contract's.
            RolloutError: The server did not end properly.
        """
        try:
            async with self._at_work:
                status = await self._client.end()
            if status != 0:
                raise self._broken("did not end by itself" if status is None else f"ended with status {status}")
            session = self._world.session(self._task)
            try:
                self._compare(session)
            except BaseException:
                session.close()
                raise
            return session
        finally:
            await self.close()

    async def close(self) -> None:
        """Kill the server and remove its files."""
        try:
            await self._client.give_up()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _within(self, timeout_s: float, done: Awaitable[T], what: str) -> T:
        """Wait for the server's answer.

        Raises:
            RolloutError: There was no answer in time, or the server broke down.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await done
        except TimeoutError:
            raise self._broken(f"{what} within {timeout_s:g} seconds") from None
        except Exception as error:
            # The SDK may raise anything if a broken server sends nonsense.
            status = await self._process.end(_LEAVING_S)
            message = " ".join((str(error) or type(error).__name__).split())[:200]
            ended = message if status is None else f"it exited with status {status}"
            raise self._broken(f"{what}: {self._process.fault or ended}") from error

    def _broken(self, what: str) -> RolloutError:
        last_words = self._process.last_words
        return RolloutError(
            "infrastructure",
            f"the server of {self._task.world!r} {what}"
            + (f"; the last that it said: {last_words}" if last_words else ""),
        )

    def _checked(self, offered: Sequence[types.Tool]) -> list[Definition]:
        """Compare the offered tools with the contract; the contract's definitions.

        Raises:
            WorldError: They differ.
        """
        with self._world.session(self._task) as session:
            expected = session.tools
        by_server = {tool.name: _parameters(tool.input_schema) for tool in offered}
        by_contract = {name_of(tool): _parameters(_function(tool).get("parameters")) for tool in expected}
        for name in sorted({*by_server} | {*by_contract}):
            if by_server.get(name) != by_contract.get(name):
                raise WorldError(
                    f"the server of {self._task.world!r} does not offer {name!r} as its contract does; make the "
                    f"server again with: {command_line('synth', 'run', '--outputs-dir', self._outputs)}"
                )
        return expected

    def _compare(self, session: ContractSession) -> None:
        """Repeat the calls on the contract.

        Raises:
            WorldError: An answer or the end state differs.
        """
        for number, call in enumerate(self._calls, start=1):
            expected = result_text(session.call(call.tool, call.arguments))
            if expected != call.answer:
                raise WorldError(
                    f"the server of {self._task.world!r} differs from its contract: call {number}, {call.tool!r}, "
                    f"was answered {call.answer[:200]!r}, and should be {expected[:200]!r}"
                )
        try:
            end = database.load(self._dump, self._world.blueprint)
        except ArtifactError as error:
            raise WorldError(f"the server of {self._task.world!r} left no end state: {error}") from error
        try:
            if database.digest(end, self._world.blueprint) != session.digest():
                raise WorldError(
                    f"the server of {self._task.world!r} differs from its contract: {len(self._calls)} calls were "
                    "answered alike, and the end states are not the same"
                )
        finally:
            end.close()


def _as_sent(arguments: Mapping[str, Json]) -> dict[str, Json] | None:
    """The arguments as JSON can carry them, without NaN and lone surrogates; None if they are nested too deeply."""
    if _depth(arguments) > DEEPEST:
        return None
    text = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    sent: dict[str, Json] = json.loads(text, parse_constant=lambda _: None)
    return sent


def _depth(value: object) -> int:
    """Levels of nested lists and objects, counted up to one more than `DEEPEST`."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        parts = [part.values() if isinstance(part, Mapping) else part for part in level]
        level = [child for part in parts if isinstance(part, Iterable) and not isinstance(part, str) for child in part]
    return depth


def _text_of(result: types.CallToolResult) -> str | None:
    texts = [part.text for part in result.content if isinstance(part, types.TextContent)]
    return texts[0] if len(texts) == 1 == len(result.content) else None


def _parameters(schema: Json) -> object:
    """What a schema of arguments says of each parameter that changes what may be called: type, enum, required.

    Servers of older datasets list null for optional parameters and `additionalProperties`. Agents are told the
    contract's form of either, and a server accepts the same calls.
    """
    schema = schema if isinstance(schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    return {
        name: (_without_null(said.get("type")), _without_null(said.get("enum")), name in _listed(required))
        for name, said in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(said, dict)
    }


def _without_null(value: Json) -> set[str]:
    return {json.dumps(one) for one in _listed(value) if one not in (None, "null")}


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _function(tool: Definition) -> Mapping[str, Json]:
    function = tool["function"]
    return function if isinstance(function, dict) else {}
