import asyncio
import threading

import pytest

from skillweave.llm.limits.rate_limit import SharedSemaphore
from tests.waiting import HANG


class Busy:
    """Work that takes a moment, and remembers how much of it went on at once."""

    def __init__(self, gate: SharedSemaphore) -> None:
        self.gate = gate
        self.now = self.most = self.done = 0
        self._lock = threading.Lock()

    async def work(self) -> None:
        async with self.gate:
            with self._lock:
                self.now += 1
                self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            with self._lock:
                self.now -= 1
                self.done += 1


async def many(busy: Busy, count: int) -> None:
    await asyncio.gather(*(busy.work() for _ in range(count)))


def test_no_more_than_the_slots_at_once() -> None:
    busy = Busy(SharedSemaphore(3))
    asyncio.run(many(busy, 12))
    assert (busy.most, busy.done) == (3, 12)


def test_the_slots_are_shared_by_event_loops_of_other_threads() -> None:
    busy = Busy(SharedSemaphore(2))
    threads = [threading.Thread(target=asyncio.run, args=(many(busy, 6),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert (busy.most, busy.done) == (2, 24)


def test_a_slot_comes_back_after_an_error_and_after_a_cancelled_wait() -> None:
    async def scenario() -> None:
        gate = SharedSemaphore(1)
        with pytest.raises(ZeroDivisionError):
            async with gate:
                _ = 1 / 0
        async with gate:
            waiting = asyncio.create_task(gate.__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(HANG), gate:
            pass

    asyncio.run(scenario())


def test_a_slot_given_to_a_waiter_that_is_cancelled_at_once_is_handed_on() -> None:
    async def scenario() -> None:
        gate = SharedSemaphore(1)
        await gate.__aenter__()
        waiting = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0)
        await gate.__aexit__()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(HANG), gate:
            pass

    asyncio.run(scenario())


def test_a_waiter_whose_loop_is_gone_blocks_nobody() -> None:
    gate = SharedSemaphore(1)
    asyncio.run(gate.__aenter__())

    async def wait_forever() -> None:
        async with gate:
            pass

    loop = asyncio.new_event_loop()
    waiting = loop.create_task(wait_forever())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    asyncio.run(gate.__aexit__())
    asyncio.run(many(Busy(gate), 2))
    del waiting
