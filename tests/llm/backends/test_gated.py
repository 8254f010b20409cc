"""A slot is held by a request on the wire, and by nothing else."""

import asyncio
import time
from dataclasses import replace

import pytest

from skillweave.errors import ProviderError
from skillweave.llm.gate import Gate
from skillweave.llm.lane import Lane
from skillweave.llm.models import AuthorSpec, Provider, connect
from skillweave.llm.request import Request
from skillweave.schema.message import Message
from tests.llm.protocols import a_completion, a_message, chunks_of, events_of
from tests.llm.scripted import RESET, Act, Heard, ScriptedServer, fault, reply, stream

REQUEST = Request(messages=(Message(role="user", content="Hello?"),), model="m")


def answers(provider: Provider, *, streamed: bool, delay: float = 0.0) -> Act:
    if provider == "anthropic":
        act = stream(events_of(a_message()), named=True) if streamed else reply(a_message())
    else:
        act = stream(chunks_of(a_completion())) if streamed else reply(a_completion())
    return replace(act, delay=delay)


def spec(server: ScriptedServer, provider: Provider = "openai", **changes: object) -> AuthorSpec:
    return AuthorSpec(provider=provider, model="m", base_url=f"{server.url}/v1", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("streamed", [False, True])
def test_slots_limit_what_is_on_the_wire_and_come_back(provider: Provider, streamed: bool) -> None:
    def act(_: Heard) -> Act:
        return answers(provider, streamed=streamed, delay=0.05)

    async def run(server: ScriptedServer) -> float:
        backend = connect(spec(server, provider, stream=streamed), lane=Lane("test", Gate(3)))
        await backend.complete(REQUEST)
        begun = time.monotonic()
        replies = await asyncio.gather(*(backend.complete(REQUEST) for _ in range(12)))
        await backend.close()
        assert [one.text for one in replies] == ["Hi."] * 12
        return time.monotonic() - begun

    with ScriptedServer(*[act] * 13) as server:
        assert asyncio.run(run(server)) >= 4 * 0.05


@pytest.mark.parametrize("streamed", [False, True])
def test_a_pause_before_the_next_try_holds_no_slot(streamed: bool) -> None:
    ends: list[float] = []

    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server, stream=streamed), lane=Lane("test", Gate(1)))

        async def ask() -> None:
            await backend.complete(REQUEST)
            ends.append(time.monotonic())

        begun = time.monotonic()
        await asyncio.gather(ask(), ask())
        await backend.close()
        ends[:] = [end - begun for end in ends]

    whole = answers("openai", streamed=streamed)
    with ScriptedServer(fault(429, retry_after=1.0), whole, whole) as server:
        asyncio.run(run(server))
    assert ends[0] < 0.9 < ends[1]


@pytest.mark.parametrize("streamed", [False, True])
def test_failed_and_abandoned_requests_give_their_slot_back(streamed: bool) -> None:
    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server, stream=streamed, max_retries=0), lane=Lane("test", Gate(1)))
        with pytest.raises(ProviderError):
            await backend.complete(REQUEST)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(backend.complete(REQUEST), 0.2)
        assert (await asyncio.wait_for(backend.complete(REQUEST), 10)).text == "Hi."
        await backend.close()

    slow = reply(a_completion(), delay=5)
    with ScriptedServer(RESET, slow, answers("openai", streamed=streamed)) as server:
        asyncio.run(run(server))


def test_the_wait_for_a_slot_is_not_part_of_the_time_limit() -> None:
    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server, timeout=1.0, max_retries=0), lane=Lane("test", Gate(1)))
        replies = await asyncio.gather(*(backend.complete(REQUEST) for _ in range(8)))
        await backend.close()
        assert len(replies) == 8

    with ScriptedServer(*[reply(a_completion(), delay=0.3)] * 8) as server:
        asyncio.run(run(server))
