"""A slot is held by a request on the wire, and by nothing else."""

import asyncio
import time
from dataclasses import replace

import pytest

from skillweave.base.errors import OutageError, ProviderError, UnreachedError
from skillweave.llm import wrappers as retry
from skillweave.llm.backends.backend import WIRE_COUNT, Request, WireCount
from skillweave.llm.limits import circuit_breaker as circuit
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import RateLimiter, SharedSemaphore
from skillweave.llm.models import AuthorSpec, Provider, connect
from skillweave.schema.trajectory import Message
from tests.llm.protocols import a_completion, a_message, chunks_of, events_of
from tests.llm.scripted import RESET, Act, Heard, ScriptedServer, fault, reply, stream
from tests.waiting import HANG

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
        backend = connect(spec(server, provider, stream=streamed), limiter=EndpointLimiter("test", SharedSemaphore(3)))
        await backend.complete(REQUEST)
        begun = time.monotonic()
        replies = await asyncio.gather(*(backend.complete(REQUEST) for _ in range(12)))
        await backend.close()
        assert [one.text for one in replies] == ["Hi."] * 12
        return time.monotonic() - begun

    with ScriptedServer(*[act] * 13) as server:
        assert asyncio.run(run(server)) >= 4 * 0.05


@pytest.mark.parametrize("streamed", [False, True])
def test_a_pause_before_the_next_try_holds_no_slot(streamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_delay", lambda _: 0.3)

    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server, stream=streamed), limiter=EndpointLimiter("test", SharedSemaphore(1)))
        asked = [replace(REQUEST, messages=(Message(role="user", content=word),)) for word in ("first", "second")]
        await asyncio.gather(*map(backend.complete, asked))
        await backend.close()

    whole = answers("openai", streamed=streamed)
    with ScriptedServer(fault(500), whole, whole) as server:
        asyncio.run(run(server))
        assert [one.body["messages"][-1]["content"] for one in server.heard] == ["first", "second", "first"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_whole_endpoint_is_left_alone_for_as_long_as_it_asks(provider: Provider) -> None:
    heard: list[float] = []
    acts = [fault(429, retry_after=0.4), *[answers(provider, streamed=False)] * 4]

    def act(_: Heard) -> Act:
        heard.append(time.monotonic())
        return acts[len(heard) - 1]

    async def run(server: ScriptedServer) -> None:
        limiter = EndpointLimiter("test", SharedSemaphore(1))
        backends = [connect(spec(server, provider), limiter=limiter) for _ in range(4)]
        await asyncio.gather(*(backend.complete(REQUEST) for backend in backends))
        for backend in backends:
            await backend.close()

    with ScriptedServer(act) as server:
        asyncio.run(run(server))
    assert len(heard) == 5
    assert heard[1] - heard[0] >= 0.39


def test_a_pause_that_is_too_long_ends_the_run_in_order() -> None:
    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server), limiter=EndpointLimiter("test", outage_s=5.0))
        with pytest.raises(OutageError, match=r"wants no request for (3600|3599) seconds"):
            await backend.complete(REQUEST)
        await backend.close()

    with ScriptedServer(fault(429, retry_after=3600)) as server:
        asyncio.run(run(server))
        assert len(server.heard) == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("trouble", "streamed"),
    [(RESET, False), (fault(500), True), (stream([], end="closed"), True)],
    ids=["reset", "status", "half"],
)
def test_an_outage_is_outlived_by_all_and_costs_them_no_retries(
    provider: Provider, trouble: Act, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit, "FIRST_INTERVAL", 0.01)
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.01)
    tally = WireCount()

    async def run(server: ScriptedServer) -> list[str]:
        backend = connect(
            spec(server, provider, stream=streamed, max_retries=2), limiter=EndpointLimiter("test", SharedSemaphore(2))
        )
        WIRE_COUNT.set(tally)
        asked = [replace(REQUEST, messages=(Message(role="user", content=f"{one}?"),)) for one in range(8)]
        replies = await asyncio.gather(*(backend.complete(request) for request in asked))
        await backend.close()
        return [one.text for one in replies]

    with ScriptedServer(*[trouble] * 9, answers(provider, streamed=streamed)) as server:
        assert asyncio.run(run(server)) == ["Hi."] * 8
        assert len(server.heard) == 9 + 8
    assert tally == WireCount(sent=17, declined=9 if trouble.status == 500 else 0)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_an_endpoint_that_stays_down_is_an_outage_for_all_who_wait(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit, "FIRST_INTERVAL", 0.02)
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.01)
    nobody = AuthorSpec(provider=provider, model="m", base_url="http://127.0.0.1:9/v1")

    async def run() -> None:
        limiter = EndpointLimiter("http://127.0.0.1:9/v1", SharedSemaphore(4), outage_s=0.3)
        backend = connect(nobody, limiter=limiter)
        errors = await asyncio.gather(*(backend.complete(REQUEST) for _ in range(8)), return_exceptions=True)
        await backend.close()
        assert [type(error) for error in errors] == [UnreachedError] * 8
        assert str(errors[0]).startswith(
            "http://127.0.0.1:9/v1: not reached: 127.0.0.1:9: Connection refused; it never"
        )

    asyncio.run(run())


def test_one_request_that_an_endpoint_cannot_stand_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.01)

    def act(heard: Heard) -> Act:
        return fault(500) if "poison" in str(heard.body) else answers("openai", streamed=False)

    async def run(server: ScriptedServer) -> None:
        limiter = EndpointLimiter("test", SharedSemaphore(4))
        backend = connect(spec(server, max_retries=5), limiter=limiter)
        poison = replace(REQUEST, messages=(Message(role="user", content="poison"),))
        with pytest.raises(ProviderError, match=r"status 500.*gave up after 5 retries"):
            await backend.complete(poison)
        assert not limiter.is_down
        assert (await backend.complete(REQUEST)).text == "Hi."
        await backend.close()

    with ScriptedServer(act) as server:
        asyncio.run(run(server))
        assert len(server.heard) == 7


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_request_that_is_wrong_is_sent_once_and_no_outage(status: int) -> None:
    async def run(server: ScriptedServer) -> None:
        limiter = EndpointLimiter("test", SharedSemaphore(4))
        backend = connect(spec(server), limiter=limiter)
        for _ in range(4):
            with pytest.raises(ProviderError, match=f"status {status}"):
                await backend.complete(REQUEST)
        assert not limiter.is_down
        await backend.close()

    with ScriptedServer(fault(status)) as server:
        asyncio.run(run(server))
        assert len(server.heard) == 4


def test_tokens_a_minute_are_corrected_by_what_the_endpoint_counted() -> None:
    async def run(server: ScriptedServer) -> float:
        pace = RateLimiter(tokens_per_minute=1300)
        backend = connect(spec(server), limiter=EndpointLimiter("test", rate=pace))
        # An answer is taken to have a thousand tokens; uncorrected, the second would wait for a minute.
        for _ in range(3):
            await asyncio.wait_for(backend.complete(REQUEST), HANG)
        await backend.close()
        return pace.wait(1)

    with ScriptedServer(answers("openai", streamed=False)) as server:
        assert asyncio.run(run(server)) < 1


@pytest.mark.parametrize("streamed", [False, True])
def test_failed_and_abandoned_requests_give_their_slot_back(streamed: bool) -> None:
    async def run(server: ScriptedServer) -> None:
        backend = connect(
            spec(server, stream=streamed, max_retries=0), limiter=EndpointLimiter("test", SharedSemaphore(1))
        )
        with pytest.raises(ProviderError):
            await backend.complete(REQUEST)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(backend.complete(REQUEST), 0.2)
        assert (await asyncio.wait_for(backend.complete(REQUEST), HANG)).text == "Hi."
        await backend.close()

    slow = reply(a_completion(), delay=5)
    with ScriptedServer(RESET, slow, answers("openai", streamed=streamed)) as server:
        asyncio.run(run(server))


def test_the_wait_for_a_slot_is_not_part_of_the_time_limit() -> None:
    async def run(server: ScriptedServer) -> None:
        backend = connect(spec(server, timeout=2.0, max_retries=0), limiter=EndpointLimiter("test", SharedSemaphore(1)))
        replies = await asyncio.gather(*(backend.complete(REQUEST) for _ in range(8)))
        await backend.close()
        assert len(replies) == 8

    with ScriptedServer(*[reply(a_completion(), delay=0.4)] * 8) as server:
        asyncio.run(run(server))
