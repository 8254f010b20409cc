"""At most so many requests at once, over all threads and event loops that share the gate."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable

Waiter = asyncio.Future[None]


class Gate:
    """A counter with a queue. asyncio's own semaphores belong to one event loop; runs have several."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._queue: deque[Waiter] = deque()
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            waiter: Waiter = asyncio.get_running_loop().create_future()
            self._queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            self._abandon(waiter)
            raise

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give a slot back."""
        with self._lock:
            while self._queue:
                waiter = self._queue.popleft()
                try:
                    soon(waiter.get_loop())(self._wake, waiter)
                except RuntimeError:
                    # Its loop is closed: nobody waits there any more.
                    continue
                return
            self._free += 1

    def _wake(self, waiter: Waiter) -> None:
        if waiter.done():
            self.release()
        else:
            waiter.set_result(None)

    def _abandon(self, waiter: Waiter) -> None:
        """Give up waiting: leave the queue, or hand on the slot that was given at the same moment."""
        with self._lock:
            if waiter in self._queue:
                self._queue.remove(waiter)
                return
        if waiter.done() and not waiter.cancelled():
            self.release()


def soon(loop: asyncio.AbstractEventLoop) -> Callable[..., object]:
    """How to have something done on a loop: on our own without the wake-up call that another one needs."""
    try:
        is_ours = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_ours = False
    return loop.call_soon if is_ours else loop.call_soon_threadsafe
