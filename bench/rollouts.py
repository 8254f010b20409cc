"""Groups `conversations` and `slots`: rollouts of the practice's tasks with a model that answers after a fixed time.

The model is a server on the loopback, in a process of its own (`python -m bench.rollouts SECONDS`). It plays the agent,
who makes two calls and then speaks, and the user, who leaves after one to four messages: ten requests on average.
"""

import asyncio
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web
from openai import AsyncOpenAI, DefaultAioHttpClient

from bench.practice import practice
from bench.suite import ROUNDS, Extent, Sample
from bench.visits import visits, write_dataset
from rollout.dispatcher import AgentRunner, PipelinedDispatcher, Width
from rollout.folder import RolloutFolder
from rollout.trajectory import RolloutSettings
from rollout.world.source import ContractOpener, WorldTasks
from skillweave.base.errors import SkillweaveError
from skillweave.llm.backends.backend import Request, Sampling
from skillweave.llm.ledger import Ledger
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import SharedSemaphore
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.trajectory import Message, TrajectoryRecord
from skillweave.world.dataset import Dataset

SEED = 7
SLOTS = 256
"""The most requests at once; the model refuses more."""
LATENCY_S = 1.0
MANY = 1000
"""Conversations of the group `slots`."""
FEW = 40
"""Conversations of a run of the group `conversations`."""


class BenchModel:
    """The model."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.under_way = 0

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request after the latency."""
        self.under_way += 1
        try:
            if self.under_way > SLOTS:
                return web.json_response({"error": {"message": "too many requests at once"}}, status=400)
            asked = await request.json()
            await asyncio.sleep(self.latency)
            return web.json_response(_completion(_agent(asked) if asked.get("tools") else _user(asked)))
        finally:
            self.under_way -= 1


def _agent(asked: dict[str, Any]) -> dict[str, Any]:
    replies = sum(message["role"] == "assistant" for message in asked["messages"])
    if replies % 3 == 2:
        return {"role": "assistant", "content": "I have looked into it, and it is as you say. What else?"}
    tool = "find_slots" if replies % 3 else "list_fees"
    call = {"id": f"c{replies}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _user(asked: dict[str, Any]) -> dict[str, Any]:
    system, *talk = asked["messages"]
    most = zlib.crc32(system["content"].encode()) % 4 + 1
    done = sum(message["role"] == "user" for message in talk) >= most
    text = "Thank you." if done else "I see. And then?"
    turn = {"text": text, "agrees": None, "wants_human": False, "later": False, "done": done}
    return {"role": "assistant", "content": json.dumps(turn)}


def _completion(message: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "bench", "choices": choices, "usage": usage}


async def serve(latency: float) -> None:
    """Print the port, and answer requests until standard input is closed."""
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", BenchModel(latency).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


@contextmanager
def _model(latency: float) -> Iterator[str]:
    """Run the model; its base URL."""
    command = [sys.executable, "-m", "bench.rollouts", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"


def conversations(extent: Extent) -> Iterator[Sample]:
    """Measure conversations with a model that answers at once, and bare requests of the SDK."""
    with TemporaryDirectory() as folder, _model(0.0) as url:
        yield from asyncio.run(_with_floor(Path(folder), url))


def slots(extent: Extent) -> Iterator[Sample]:
    """Measure how well the slots are used."""
    with TemporaryDirectory() as folder, _model(LATENCY_S) as url:
        yield from asyncio.run(_at_full_width(Path(folder), url))


async def _with_floor(folder: Path, url: str) -> list[Sample]:
    held = _Rollout(folder, url)
    await held.hold(FEW)
    talks = [list(_bodies(record)) for record in held.records]
    named: dict[str, list[float]] = {"conversation": [], "request": [], "request_floor": []}
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=DefaultAioHttpClient()) as client:
        for _ in range(ROUNDS + 1):
            begun, requests = time.process_time(), held.requests
            await held.hold(FEW)
            held_by = time.process_time()
            await asyncio.gather(*(_bare(client, talk) for talk in talks))
            named["conversation"].append((held_by - begun) / FEW)
            named["request"].append((held_by - begun) / (held.requests - requests))
            named["request_floor"].append((time.process_time() - held_by) / sum(map(len, talks)))
    await held.backend.close()
    # The first run opens connections.
    return [Sample(name, runs[1:]) for name, runs in named.items()]


def _bodies(record: TrajectoryRecord) -> Iterator[bytes]:
    """The bodies of the requests that a conversation took, the agent's and the user's."""
    messages = [message.model_dump(mode="json", exclude_none=True) for message in record.messages]
    texts = [{"role": message["role"], "content": message.get("content") or "-"} for message in messages]
    for place, message in enumerate(messages[2:], start=2):
        if message["role"] == "assistant":
            yield json.dumps({"model": "bench", "messages": messages[:place], "tools": record.tools}).encode()
        elif message["role"] == "user":
            heard = [text for text in texts[:place] if text["role"] != "tool"]
            yield json.dumps({"model": "bench", "messages": heard}).encode()


async def _bare(client: AsyncOpenAI, talk: list[bytes]) -> None:
    options: Any = {"headers": {"Content-Type": "application/json"}}
    for body in talk:
        await client.post("/chat/completions", cast_to=bytes, content=body, options=options)


async def _at_full_width(folder: Path, url: str) -> list[Sample]:
    held = _Rollout(folder, url)
    # The SDK takes a second to load.
    await held.backend.complete(Request(messages=(Message(role="user", content="Hello."),)))
    begun, requests = time.perf_counter(), held.requests
    shares: list[float] = []

    def ended() -> None:
        seconds = time.perf_counter() - begun
        shares.append((held.requests - requests) * LATENCY_S / SLOTS / seconds)

    await held.hold(MANY, ended)
    await held.backend.close()
    return [Sample("until_few_left", [shares[MANY - SLOTS]]), Sample("over_all", [shares[-1]])]


class _Rollout:
    """The practice's dataset, and all that holds conversations about its tasks."""

    def __init__(self, folder: Path, url: str) -> None:
        world = practice(SEED)
        write_dataset(world, visits(world, SEED), folder / "outputs")
        self.records: list[TrajectoryRecord] = []
        self._folder = RolloutFolder(folder / "rollouts")
        self._folder.store.prepare()
        self._ledger = Ledger()
        spec = AuthorSpec(provider="openai", model="bench", base_url=url, max_retries=0)
        self.backend = connect(spec, ledger=self._ledger, limiter=EndpointLimiter("bench", SharedSemaphore(SLOTS)))
        dataset = Dataset(folder / "outputs")
        opener = ContractOpener(dataset)
        self._source = WorldTasks(dataset, opener=opener, user=self.backend, sampling=Sampling(), seed=SEED, personas=1)

    @property
    def requests(self) -> int:
        """How many requests were made."""
        return self._ledger.total().requests

    async def hold(self, conversations: int, ended: Callable[[], None] = lambda: None) -> None:
        """Hold conversations, score and write them. Raises SkillweaveError if one does not end as it should."""
        ids = self._source.ids()
        batch = ((self._source.task(ids[at % len(ids)], at // len(ids)), at // len(ids)) for at in range(conversations))

        def written(record: TrajectoryRecord) -> None:
            if record.stop_reason != "user_stop" or record.score is None:
                raise SkillweaveError(f"a conversation ended by {record.stop_reason}: {record.error}")
            self._folder.append(record)
            self.records.append(record)
            ended()

        runner = AgentRunner(RolloutSettings(backend=self.backend), PipelinedDispatcher(Width(8, conversations, 8)))
        await runner.stream(batch, written)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
