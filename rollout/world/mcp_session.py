"""The generated server's session, as a conversation holds it: a process of its own, spoken to over MCP.

What was done is done again on the contract at the end, and each answer and the end state compared: the score rests on
the contract, and a server that differs from it is a defect of the world, never a score.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import mcp_types as types

from rollout.task import Answer, Definition, RolloutError
from rollout.world.mcp_server import ClientTask, ServerProcess
from skillweave.base.errors import ArtifactError, WorldError
from skillweave.schema.call import TRANSFER
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.dataset import Dataset
from skillweave.world.session import ContractSession
from skillweave.world.tools import result_text
from skillweave.world.world import World

T = TypeVar("T")

DEEPEST = 64
"""Levels of nested arguments that are sent on."""
_LEAVING_S = 1.0
"""Time in which a server whose pipe is closed is seen to have exited."""
_TOO_DEEP = '{"error": {"code": "invalid_arguments", "message": "The arguments are nested too deeply.", "rule": null}}'


class McpOpener:
    """Opens sessions on the servers of a dataset, one process each."""

    def __init__(
        self, dataset: Dataset, *, call_timeout_s: float = 30.0, open_timeout_s: float = 120.0, at_work: int = 8
    ) -> None:
        """`at_work` is how many servers may start, answer or end at once: more would only fight for cores. A server
        that waits for its agent counts for none, so that no conversation waits for another's end."""
        self._dataset = dataset
        self._call_timeout_s = call_timeout_s
        self._open_timeout_s = open_timeout_s
        self._at_work = asyncio.Semaphore(at_work)

    async def __call__(self, task: Task) -> "HeldServer":
        """The session of a task. WorldError where there is no server, or it offers other tools than the contract;
        RolloutError where it does not start."""
        world = self._dataset.world(task)
        try:
            script = self._dataset.store.file(f"mcp_servers/{task.world}.py")
        except ArtifactError as error:
            raise WorldError(f"the world {task.world!r} has no server to run on: {error}") from error
        held = HeldServer(task, world, script.resolve(), self._at_work, self._call_timeout_s)
        await held.open(self._open_timeout_s)
        return held


class _AnsweredCall(NamedTuple):
    """A call, and the text that it was answered with."""

    tool: str
    arguments: dict[str, Json]
    answer: str


class HeldServer:
    """A server's session. It is given up, or finished, exactly once."""

    def __init__(
        self, task: Task, world: World, script: Path, at_work: asyncio.Semaphore, call_timeout_s: float
    ) -> None:
        self.tools: list[Definition] = []
        self._task = task
        self._world = world
        self._at_work = at_work
        self._call_timeout_s = call_timeout_s
        self._folder = Path(tempfile.mkdtemp(prefix="skillweave-mcp-"))
        self._dump = self._folder / "end.sqlite"
        arguments = ["--task", task.id, "--dump", str(self._dump)]
        self._process = ServerProcess(script, arguments, self._folder)
        self._client = ClientTask(self._process)
        self._made: list[_AnsweredCall] = []

    async def open(self, timeout_s: float) -> None:
        """Start it and take its tools."""
        try:
            async with self._at_work:
                offered = await self._within(timeout_s, self._client.open(), "did not start")
            self.tools = self._checked(offered)
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool."""
        sent = _as_sent(arguments)
        if sent is None:
            return Answer(_TOO_DEEP, ok=False)
        async with self._at_work:
            called = f"did not answer a call of {tool!r}"
            result = await self._within(self._call_timeout_s, self._client.call(tool, sent), called)
        text = _text_of(result)
        if text is None:
            raise self._broken(f"answered a call of {tool!r} with something else than one text")
        self._made.append(_AnsweredCall(tool, sent, text))
        return Answer(text, not result.is_error, "transfer" if tool == TRANSFER and not result.is_error else None)

    async def finish(self) -> ContractSession:
        """What was done, on the contract, once the server is seen to have done the same."""
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
        """End the server and remove what it wrote."""
        try:
            await self._client.give_up()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _within(self, timeout_s: float, done: Awaitable[T], what: str) -> T:
        """What comes of it; RolloutError where nothing does, in time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await done
        except TimeoutError:
            raise self._broken(f"{what} within {timeout_s:g} seconds") from None
        except Exception as error:
            # Whatever the SDK makes of what a broken server says.
            status = await self._process.end(_LEAVING_S)
            said = " ".join((str(error) or type(error).__name__).split())[:200]
            ended = said if status is None else f"it exited with status {status}"
            raise self._broken(f"{what}: {self._process.fault or ended}") from error

    def _broken(self, what: str) -> RolloutError:
        words = self._process.last_words
        return RolloutError(
            "infrastructure",
            f"the server of {self._task.world!r} {what}" + (f"; the last that it said: {words}" if words else ""),
        )

    def _checked(self, offered: Sequence[types.Tool]) -> list[Definition]:
        """The contract's definitions, once the server is seen to offer the same."""
        with self._world.session(self._task) as session:
            expected = session.tools
        found = {tool.name: _definition(tool) for tool in offered}
        wanted = {str(_function(tool).get("name")): tool for tool in expected}
        for name in sorted({*found} | {*wanted}):
            if found.get(name) != wanted.get(name):
                raise WorldError(
                    f"the server of {self._task.world!r} does not offer {name!r} as its contract does; "
                    "make the server again with `python -m synth run`"
                )
        return expected

    def _compare(self, session: ContractSession) -> None:
        """WorldError where the contract answers or changes otherwise."""
        for number, made in enumerate(self._made, start=1):
            expected = result_text(session.call(made.tool, made.arguments))
            if expected != made.answer:
                raise WorldError(
                    f"the server of {self._task.world!r} differs from its contract: call {number}, {made.tool!r}, "
                    f"was answered {made.answer[:200]!r}, and should be {expected[:200]!r}"
                )
        try:
            end = database.load(self._dump, self._world.blueprint)
        except ArtifactError as error:
            raise WorldError(f"the server of {self._task.world!r} left no end state: {error}") from error
        try:
            if database.digest(end, self._world.blueprint) != session.digest():
                raise WorldError(
                    f"the server of {self._task.world!r} differs from its contract: {len(self._made)} calls were "
                    "answered alike, and the end states are not the same"
                )
        finally:
            end.close()


def _as_sent(arguments: Mapping[str, Json]) -> dict[str, Json] | None:
    """The arguments as JSON carries them: no NaN, no half characters. None where they are nested too deeply."""
    if _depth(arguments) > DEEPEST:
        return None
    text = json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    sent: dict[str, Json] = json.loads(text, parse_constant=lambda _: None)
    return sent


def _depth(value: object) -> int:
    """Levels of lists and objects, counted no further than needed."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        parts = [part.values() if isinstance(part, Mapping) else part for part in level]
        level = [one for part in parts if isinstance(part, Iterable) and not isinstance(part, str) for one in part]
    return depth


def _text_of(result: types.CallToolResult) -> str | None:
    texts = [part.text for part in result.content if isinstance(part, types.TextContent)]
    return texts[0] if len(texts) == 1 == len(result.content) else None


def _definition(tool: types.Tool) -> Definition:
    function: dict[str, Json] = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def _function(tool: Definition) -> Mapping[str, Json]:
    function = tool["function"]
    return function if isinstance(function, dict) else {}
