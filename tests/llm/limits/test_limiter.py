"""A limiter: who may send when, over threads and event loops. The endpoint's part is played by telling the limiter."""

import asyncio
import logging
import re
import threading
import time

import pytest

from skillweave.base.errors import OutageError
from skillweave.base.progress import waits
from skillweave.llm.limits import circuit_breaker as circuit
from skillweave.llm.limits.circuit_breaker import EndpointFailure
from skillweave.llm.limits.limiter import EndpointLimiter
from skillweave.llm.limits.rate_limit import RateLimiter, SharedSemaphore
from tests.waiting import HANG

DEAD = EndpointFailure("not reached", 1, is_certain=True)


@pytest.fixture
def fast_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit, "FIRST_INTERVAL", 0.02)


def go_down(limiter: EndpointLimiter) -> None:
    for _ in range(circuit.FAILURES):
        limiter.failed(DEAD)


class Traffic:
    """Requests that take a moment; how many were under way at most, and in which order they went."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.went: list[int] = []
        self._lock = threading.Lock()

    async def send(self, limiter: EndpointLimiter, number: int = 0, *, seconds: float = 0.01) -> None:
        given = await limiter.acquire(100)
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.went.append(number)
        await asyncio.sleep(seconds)
        with self._lock:
            self.now -= 1
        limiter.release(given)

    async def send_all(self, limiter: EndpointLimiter, count: int) -> None:
        await asyncio.gather(*(self.send(limiter, number) for number in range(count)))


def test_an_endpoint_has_slots_of_its_own_beside_the_common_ones() -> None:
    async def scenario() -> None:
        gate, first, second = SharedSemaphore(5), Traffic(), Traffic()
        narrow, wide = EndpointLimiter("narrow", gate, max_concurrency=2), EndpointLimiter("wide", gate)
        # Who waits for a slot of the one limiter leaves the common ones to the other.
        await asyncio.gather(first.send_all(narrow, 6), second.send_all(wide, 12))
        assert (first.most, len(first.went)) == (2, 6)
        assert second.most in (3, 4, 5)

    asyncio.run(scenario())


def test_slots_are_shared_by_event_loops_of_other_threads() -> None:
    limiter, traffic = EndpointLimiter("there", SharedSemaphore(3), max_concurrency=2), Traffic()
    threads = [threading.Thread(target=asyncio.run, args=(traffic.send_all(limiter, 5),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert (traffic.most, len(traffic.went)) == (2, 20)


def test_a_limited_rate_is_kept_in_the_order_of_asking_and_holds_no_slot_meanwhile() -> None:
    async def scenario() -> None:
        gate, slow, other = SharedSemaphore(1), Traffic(), Traffic()
        now = [1000.0]
        limiter = EndpointLimiter("slow", gate, rate=RateLimiter(requests_per_minute=200, clock=lambda: now[0]))
        limited = asyncio.gather(*(slow.send(limiter, number, seconds=0) for number in range(12)))
        while len(slow.went) < 10:
            await asyncio.sleep(0)
        # All that may go at once is gone: the others wait, and the only slot is free.
        await asyncio.wait_for(other.send(EndpointLimiter("other", gate), seconds=0), HANG)
        assert len(slow.went) == 10
        now[0] += 60
        await limited
        assert slow.went == list(range(12))

    asyncio.run(scenario())


def test_tokens_are_estimated_from_the_bytes_and_corrected_when_they_are_known() -> None:
    now = [1000.0]

    async def scenario() -> None:
        pace = RateLimiter(tokens_per_minute=60_000, clock=lambda: now[0])
        limiter = EndpointLimiter("there", rate=pace)
        limiter.release(await limiter.acquire(400_000))
        assert pace.wait(1) > 60
        limiter.record_tokens(8, 2)
        assert pace.wait(1) == 0
        # Answers are expected to be shorter now.
        assert pace.estimate(400) == 100 + 922

    asyncio.run(scenario())


def test_nobody_sends_while_an_endpoint_wants_to_be_left_alone() -> None:
    async def scenario() -> None:
        limiter, traffic = EndpointLimiter("there", SharedSemaphore(1)), Traffic()
        busy = await limiter.acquire(1)
        queued = asyncio.create_task(traffic.send(limiter))
        await asyncio.sleep(0)
        limiter.read_retry_after(429, {"retry-after-ms": "100"})
        begun = time.monotonic()
        limiter.release(busy)
        await asyncio.gather(queued, traffic.send_all(limiter, 3))
        assert time.monotonic() - begun >= 0.1
        assert len(traffic.went) == 4

    asyncio.run(scenario())


@pytest.mark.usefixtures("fast_probes")
def test_an_endpoint_that_is_down_is_probed_by_one_and_answers_to_all_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        limiter, traffic = EndpointLimiter("there", SharedSemaphore(8)), Traffic()
        go_down(limiter)
        assert limiter.is_down
        probe = await limiter.acquire(1)
        waiting = asyncio.create_task(traffic.send_all(limiter, 20))
        await asyncio.sleep(0.1)
        assert (probe.is_probe, traffic.went) == (True, [])
        limiter.answered()
        limiter.release(probe)
        await waiting
        assert (len(traffic.went), limiter.is_down) == (20, False)

    asyncio.run(scenario())
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said == [
        "there is down (not reached); it is tried again and again for up to 600 seconds (llm.outage_s)",
        "there answers again",
    ]


@pytest.mark.usefixtures("fast_probes")
def test_all_who_wait_on_any_loop_are_told_when_an_outage_is_too_long() -> None:
    limiter, errors = EndpointLimiter("there", SharedSemaphore(8), outage_s=0.2), list[OutageError]()
    go_down(limiter)

    async def ask() -> None:
        while True:
            try:
                given = await limiter.acquire(1)
            except OutageError as error:
                errors.append(error)
                return
            limiter.failed(DEAD)
            limiter.release(given)

    async def ask_often() -> None:
        await asyncio.gather(*(ask() for _ in range(10)))

    begun = time.monotonic()
    threads = [threading.Thread(target=asyncio.run, args=(ask_often(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert len(errors) == 20
    assert time.monotonic() - begun > 0.15


def test_who_has_somebody_else_to_ask_does_not_wait_for_an_outage() -> None:
    async def scenario() -> None:
        limiter = EndpointLimiter("there", SharedSemaphore(8))
        go_down(limiter)
        with pytest.raises(OutageError, match="another author is at hand"):
            await limiter.impatient().acquire(1)

    asyncio.run(scenario())


def test_who_waits_for_a_slot_when_the_outage_begins_does_not_send() -> None:
    async def scenario() -> None:
        limiter, traffic = EndpointLimiter("there", SharedSemaphore(1)), Traffic()
        busy = await limiter.acquire(1)
        queued = asyncio.create_task(traffic.send(limiter.impatient()))
        await asyncio.sleep(0)
        go_down(limiter)
        limiter.release(busy)
        with pytest.raises(OutageError):
            await queued
        limiter.answered()
        await asyncio.wait_for(traffic.send(limiter), HANG)

    asyncio.run(scenario())


@pytest.mark.usefixtures("fast_probes")
def test_a_probe_that_is_given_up_is_followed_by_the_next_and_leaks_no_slot() -> None:
    async def scenario() -> None:
        limiter, traffic = EndpointLimiter("there", SharedSemaphore(2), max_concurrency=1), Traffic()
        busy = await limiter.acquire(1)
        go_down(limiter)
        await asyncio.sleep(0.03)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(limiter.acquire(1), 0.01)
        limiter.release(busy)
        await asyncio.wait_for(traffic.send(limiter), HANG)
        limiter.answered()
        await asyncio.wait_for(traffic.send_all(limiter, 5), HANG)
        assert traffic.most == 1

    asyncio.run(scenario())


def test_displays_say_what_is_waited_for_and_how_long_at_most() -> None:
    async def run() -> str:
        limiter = EndpointLimiter("there")
        go_down(limiter)
        waiting = [asyncio.create_task(limiter.acquire(1)) for _ in range(2)]
        await asyncio.sleep(0.05)
        words = waits()
        limiter.answered()
        await asyncio.gather(*waiting)
        return words

    words = asyncio.run(run())
    assert re.fullmatch(r"waits for there, down since \d\d:\d\d:\d\d \(not reached\), at most 10 min", words)
    assert waits() == ""
