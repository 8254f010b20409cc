"""Group `environments`: steps of episodes over each protocol that `interop serve` speaks, and in process.

A step is a call of a tool that reads a small table. Beside them stands the echo environment of OpenEnv on its own
server, where `make test-interop` has installed one: the same messages from the same client, a tool that does nothing.
"""

import asyncio
import json
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from bench.practice import practice
from bench.suite import ROUNDS, Extent, Sample
from bench.visits import visits, write_dataset
from interop.in_process import Environment
from tests.interop.serve.servers import serving
from tests.interop_targets.environments import OPENENV, OPENENV_CORE, TargetEnvironment, unavailable
from tests.waiting import wait_until

SEED = 7
STEPS = 40
"""Steps of a session in a round; an episode may make 60 calls."""
AT_ONCE = 8
TOOL = "list_fees"
"""Anyone who is signed in may call it; in the first task the user is."""
FAULT = '"error"'
"""Stands in results of calls that failed."""
ECHO = '''
import sys

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Observation, State


class EchoEnvironment(MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        server = FastMCP("echo")

        @server.tool
        def echo_message(message: str) -> str:
            """Echo a message."""
            return message

        super().__init__(server)

    def reset(self, seed=None, episode_id=None, **given):
        return Observation(done=False, reward=0.0)

    def _step_impl(self, action, timeout_s=None, **given):
        return Observation(done=False, reward=0.0)

    @property
    def state(self):
        return State(episode_id="echo", step_count=0)


app = create_app(EchoEnvironment, CallToolAction, CallToolObservation, env_name="echo", max_concurrent_envs=64)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
'''
"""OpenEnv's echo environment, on the base class for tools that its package has."""
ECHOES = {"openenv_echo": OPENENV, "openenv_core_echo": OPENENV_CORE}

Stepper = Callable[[], Awaitable[None]]
"""Takes a step, and fails where it is none."""
Opener = Callable[[], AbstractAsyncContextManager[Stepper]]
"""Opens a session."""


def steps(extent: Extent) -> Iterator[Sample]:
    """Measure seconds a step, with one session and with several at once. The servers take turns."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        world, outputs = practice(SEED), Path(folder) / "outputs"
        write_dataset(world, visits(world, SEED), outputs)
        openers: dict[str, Opener] = {"in_process": lambda: _in_process(outputs)}
        for name, opener in {"agentgym": _agentgym, "openenv": _openenv, "mcp": _mcp}.items():
            url = stack.enter_context(serving(name, outputs)).url
            openers[name] = _bound(opener, url)
        for name, environment in ECHOES.items():
            if why := unavailable(environment):
                yield Sample(name, [], why)
                continue
            openers[name] = _bound(_echo, stack.enter_context(_echo_server(environment, Path(folder))))
        yield from asyncio.run(_rounds(openers))


def _bound(opener: Callable[[str], AbstractAsyncContextManager[Stepper]], url: str) -> Opener:
    return lambda: opener(url)


async def _rounds(openers: dict[str, Opener]) -> list[Sample]:
    runs: dict[str, list[float]] = {}
    for round in range(ROUNDS + 1):
        for name, opener in openers.items():
            for sessions, label in ((1, name), (AT_ONCE, f"{name}_{AT_ONCE}")):
                if sessions > 1 and name == "in_process":
                    continue
                seconds = await _taken(opener, sessions)
                if round:  # The first opens worlds and connections.
                    runs.setdefault(label, []).append(seconds)
    return [Sample(name, taken) for name, taken in runs.items()]


async def _taken(opener: Opener, sessions: int) -> float:
    """Seconds a step."""
    async with AsyncExitStack() as stack:
        steppers: Sequence[Stepper] = [await stack.enter_async_context(opener()) for _ in range(sessions)]
        begun = time.perf_counter()
        await asyncio.gather(*map(_many, steppers))
        return (time.perf_counter() - begun) / (STEPS * sessions)


async def _many(step: Stepper) -> None:
    for _ in range(STEPS):
        await step()


@asynccontextmanager
async def _in_process(outputs: Path) -> AsyncIterator[Stepper]:
    environment = Environment(outputs)
    environment.reset(0)

    async def step() -> None:
        result = environment.step({"name": TOOL, "arguments": {}}).observation[0].content
        assert result is not None
        assert FAULT not in result, result

    yield step
    environment.close()


@asynccontextmanager
async def _agentgym(url: str) -> AsyncIterator[Stepper]:
    async with aiohttp.ClientSession(url) as http:
        async with http.post("/create", json={"data_idx": 0}) as answer:
            session = (await answer.json())["id"]

        async def step() -> None:
            async with http.post(
                "/step", json={"id": session, "action": f"Action: {TOOL}\nAction Input: {{}}"}
            ) as told:
                result = (await told.json())["observation"]
                assert FAULT not in result, result

        yield step


@asynccontextmanager
async def _openenv(url: str, tool: str = TOOL, **arguments: str) -> AsyncIterator[Stepper]:
    async with aiohttp.ClientSession(url) as http, http.ws_connect("/ws", max_msg_size=2**24) as client:

        async def ask(message: Any) -> Any:
            await client.send_str(json.dumps(message))
            answer = await client.receive_json()
            assert answer["type"] == "observation", answer
            return answer["data"]

        async def step() -> None:
            action = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
            answer = await ask({"type": "step", "data": action})
            assert not answer["done"]
            assert not answer["observation"]["result"]["is_error"], answer

        await ask({"type": "reset", "data": {"data_idx": 0}})
        yield step


def _echo(url: str) -> AbstractAsyncContextManager[Stepper]:
    return _openenv(url, "echo_message", message="What are the fees?")


@asynccontextmanager
async def _mcp(url: str) -> AsyncIterator[Stepper]:
    from mcp.client.client import Client

    async with Client(f"{url}/mcp/0") as client:

        async def step() -> None:
            assert not (await client.call_tool(TOOL, {})).is_error

        yield step


@contextmanager
def _echo_server(environment: TargetEnvironment, folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = folder / "echo.py"
    script.write_text(ECHO, "utf-8")
    with subprocess.Popen([str(environment.python), str(script), str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), "the echo environment does not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
