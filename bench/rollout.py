"""Measures how close rollouts come to the limit of their endpoint, and the cost of a conversation.

Run it from the repository's root: `python -m bench.rollout`. The endpoint is a process on the loopback that answers
each request after one second and refuses more than 256 at once. Conversations are held in the small clinic of the
tests, through the official SDK. The benchmark prints one JSON document; README.md beside this file explains it.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from rollout.dispatcher import AgentRunner, PipelinedDispatcher, Width
from rollout.task import Answer, Definition, Response, RolloutOutcome, RolloutTask, Runtime
from rollout.trajectory import RolloutSettings
from rollout.world.source import HeldContract
from skillweave.llm.backends.backend import Request
from skillweave.llm.ledger import Ledger
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import SharedSemaphore
from skillweave.llm.models import AuthorSpec, connect
from skillweave.schema.record import Json
from skillweave.schema.trajectory import Message, RolloutScore, TrajectoryRecord
from skillweave.world.world import World
from tests.world.clinic import a_world

SLOTS = 256
"""The most requests at once."""
MOST_TURNS = 6
"""The most questions of a user."""


class ClinicRuntime:
    """A session, and a user who asks a given number of questions."""

    def __init__(self, world: World, turns: int) -> None:
        self._held = HeldContract(world.session(caller="PAT-0001"))
        self._turns = turns

    @property
    def tools(self) -> list[Definition]:
        """The clinic's tools."""
        return self._held.tools

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Call a tool in this process."""
        return await self._held.call(tool, arguments)

    async def respond(self, messages: Sequence[Message]) -> Response:
        """The user's next question, or the end."""
        self._turns -= 1
        text = "And the week after?" if self._turns else "Thank you, that is all. ###STOP###"
        return Response(Message(role="user", content=text), None if self._turns else "user_stop")

    async def close(self) -> None:
        """Close the session."""
        await self._held.close()


class ClinicTask(RolloutTask):
    """A conversation of one to six questions, each of which takes three requests."""

    def __init__(self, world: World, number: int) -> None:
        self.id = f"clinic-{number}"
        self._world = world
        self._turns = Random(number).randint(1, MOST_TURNS)

    async def initialize_runtime(self) -> ClinicRuntime:
        """Open a fresh session."""
        return ClinicRuntime(self._world, self._turns)

    def get_instruction(self, runtime: Runtime) -> list[Message]:
        """A system prompt of usual length, and a question."""
        system = "You are the assistant of a clinic. Follow the policy.\n\n" + "Rules are rules. " * 400
        return [Message(role="system", content=system), Message(role="user", content="When can I come?")]

    async def evaluate_result(self, outcome: RolloutOutcome) -> RolloutScore:
        """Pass if the user ended the conversation."""
        passed = outcome.stop_reason == "user_stop"
        return RolloutScore(passed=passed, reward=float(passed))


@dataclass
class RolloutMonitor:
    """Records when conversations end, and the number of requests until then."""

    total: int
    ledger: Ledger
    left: int = 0
    few_left_at: float | None = None
    requests_then: int = 0
    stops: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = self.total
        self.begun = time.perf_counter()

    def ended(self, record: TrajectoryRecord) -> None:
        """Count a finished conversation."""
        self.left -= 1
        self.stops[record.stop_reason] = self.stops.get(record.stop_reason, 0) + 1
        # The first request was made before the clock was started.
        if self.left < SLOTS and self.few_left_at is None:
            self.few_left_at = time.perf_counter() - self.begun
            self.requests_then = self.ledger.total().requests - 1


@contextmanager
def endpoint(latency: float) -> Iterator[int]:
    """Run an endpoint; its port."""
    command = [sys.executable, "-m", "bench._endpoint", str(latency), str(SLOTS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(timeout=20)


async def held(world: World, port: int, conversations: int, ledger: Ledger) -> RolloutMonitor:
    """Hold conversations against the endpoint; the monitor that watched them."""
    spec = AuthorSpec(provider="openai", model="bench", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0)
    backend = connect(spec, ledger=ledger, limiter=EndpointLimiter("test", SharedSemaphore(SLOTS)))
    # Connect first, because the SDK takes a second to load.
    await backend.complete(Request(messages=(Message(role="user", content="Hello."),)))
    dispatcher = PipelinedDispatcher(Width(8, conversations, 8))
    runner = AgentRunner(RolloutSettings(backend=backend), dispatcher)
    watch = RolloutMonitor(conversations, ledger)
    await runner.stream(((ClinicTask(world, number), 0) for number in range(conversations)), watch.ended)
    await backend.close()
    return watch


def measured(latency: float, conversations: int) -> dict[str, object]:
    """Hold conversations against an endpoint of a latency in seconds; the figures."""
    world, ledger = a_world(), Ledger()
    with endpoint(latency) as port:
        cpu, begun = time.process_time(), time.perf_counter()
        watch = asyncio.run(held(world, port, conversations, ledger))
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=10) as answer:
            stats = json.load(answer)
    requests = ledger.total().requests - 1
    figures: dict[str, object] = {
        "conversations": conversations,
        "latency_s": latency,
        "slots": SLOTS,
        "requests": requests,
        "most_requests_at_once": stats["peak"],
        "refused_by_endpoint": stats["refused"],
        "ended_by": watch.stops,
        "makespan_s": round(seconds, 2),
        "cpu_ms_per_request": round(1000 * cpu / requests, 3),
        "conversations_per_s": round(conversations / seconds, 1),
    }
    if latency and watch.few_left_at:
        ideal = watch.requests_then * latency / SLOTS
        figures["seconds_until_fewer_left_than_slots"] = round(watch.few_left_at, 2)
        figures["share_of_ideal_until_then"] = round(ideal / watch.few_left_at, 4)
        figures["share_of_ideal_over_all"] = round(requests * latency / SLOTS / seconds, 4)
    return figures


def main() -> None:
    """Measure with a latency of one second and without latency, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=1000)
    options = parser.parse_args()
    results = {
        "with_latency": measured(1.0, options.conversations),
        "without_latency": measured(0.0, options.conversations),
    }
    report = {"benchmark": "rollout", "python": platform.python_version(), "cores": os.cpu_count(), "results": results}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
