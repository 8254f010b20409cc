"""How many requests may be under way at once, and how many requests and tokens a minute may be sent.

All of it is shared by the threads and event loops of a process, which asyncio's semaphores and aiolimiter are not: they
belong to one loop. And aiolimiter cannot correct an amount afterwards, while the tokens of a request are known only
when it is answered. Within any 60 seconds no more than the limit is booked.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

Waiter = asyncio.Future[None]

MINUTE = 60.0
BURST = 3.0
"""Seconds' worth of the rate that may be sent at once after a pause."""
TOLERANCE = 1e-6
"""Seconds below which a wait counts as none: clocks and sums of fractions are not more exact."""
BYTES_PER_TOKEN = 4
FIRST_ANSWER = 1024.0
"""The length in tokens that an answer is expected to have before one was seen."""
WEIGHT = 0.1
"""Weight of the newest answer in the expected length of the next one."""


class SharedSemaphore:
    """A semaphore for all threads and event loops of a process. Waiting requests are served in their order."""

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
        """Give a slot back, or hand it to the first that waits."""
        with self._lock:
            while self._queue:
                waiter = self._queue.popleft()
                try:
                    _schedule(waiter.get_loop(), self._wake, waiter)
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
        """Stop waiting: leave the queue, or hand on a slot that was given at the same moment."""
        with self._lock:
            if waiter in self._queue:
                self._queue.remove(waiter)
                return
        if waiter.done() and not waiter.cancelled():
            self.release()


class Notifier:
    """Wakes all that wait for something, on any event loop. The caller's lock guards `subscribe` and `notify_all`."""

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}

    def subscribe(self) -> Waiter:
        """A waiter of the running event loop, to be given to `wait`."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        return waiter

    async def wait(self, waiter: Waiter, seconds: float) -> None:
        """Wait for the next notification, for so many seconds at most."""
        try:
            await asyncio.wait((waiter,), timeout=seconds)
        finally:
            self._waiters.pop(waiter, None)

    def notify_all(self) -> None:
        """Wake all that wait now."""
        waiters, self._waiters = self._waiters, {}
        for waiter in tuple(waiters):
            try:
                _schedule(waiter.get_loop(), _finish, waiter)
            except RuntimeError:
                # Its loop is closed: nobody waits there any more.
                continue


def _finish(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _schedule(loop: asyncio.AbstractEventLoop, callback: Callable[[Waiter], None], waiter: Waiter) -> None:
    """Call back on a loop; on the running one without the wake-up call that another loop needs."""
    try:
        is_running = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_running = False
    (loop.call_soon if is_running else loop.call_soon_threadsafe)(callback, waiter)


@dataclass
class Booking:
    """What one request took of a rate."""

    moment: float
    amount: float


class TokenBucket:
    """An amount a minute, of requests or of tokens.

    What is booked within any 60 seconds is never more than the limit, and what is booked at one moment never more than
    `BURST` seconds' worth. A larger amount waits until nothing else counts, and those behind it wait for what it takes
    beyond its share. A correction counts from when it is made. The caller says what time it is; nothing here waits or
    reads a clock. Not safe across threads.
    """

    def __init__(self, per_minute: float) -> None:
        self._limit = per_minute
        self._refill = per_minute / MINUTE
        # At least the smallest amount, or nothing would ever be sent.
        self._burst = max(1.0, BURST * self._refill)
        self._level = self._burst
        self._filled_at = 0.0
        self._booked: deque[Booking] = deque()
        self._sum = 0.0

    def wait(self, now: float, amount: float) -> float:
        """Seconds until an amount can be booked; 0 if it can be booked now."""
        self._advance(now)
        short = min(amount, self._burst) - self._level
        wait = max(short / self._refill, self._until_room(now, amount))
        return wait if wait > TOLERANCE else 0.0

    def book(self, now: float, amount: float) -> Booking:
        """Take an amount, after `wait` gave 0 for it."""
        self._advance(now)
        booking = Booking(now, 0.0)
        self._booked.append(booking)
        self.correct(booking, amount)
        return booking

    def correct(self, booking: Booking, amount: float) -> None:
        """Replace the amount of a booking by the one that is known now."""
        more = amount - booking.amount
        booking.amount = amount
        self._level = min(self._burst, self._level - more)
        if self._booked and booking.moment >= self._booked[0].moment:
            self._sum += more

    def _advance(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._filled_at) * self._refill)
        self._filled_at = now
        while self._booked and self._booked[0].moment <= now - MINUTE:
            self._sum -= self._booked.popleft().amount
        if not self._booked:
            # Sums of fractions drift.
            self._sum = 0.0

    def _until_room(self, now: float, amount: float) -> float:
        """Seconds until enough of the last minute is over; an amount above the limit needs all of it over."""
        room = self._limit - self._sum
        if amount <= room or not self._booked:
            return 0.0
        for booking in self._booked:
            room += booking.amount
            if amount <= room:
                return booking.moment + MINUTE - now
        return self._booked[-1].moment + MINUTE - now


class RateBooking(NamedTuple):
    """What a request took; None where there is no such limit."""

    requests: Booking | None
    tokens: Booking | None


class RateLimiter:
    """Requests and tokens a minute of one endpoint.

    A request's tokens are estimated from its bytes, its answer's to be as many as those of the answers before it; both
    are corrected when they are known.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        requests_per_minute: None is no limit.
        tokens_per_minute: Of prompts and answers together; None is no limit.
        clock: Gives seconds.
        """
        self.turn = SharedSemaphore(1)
        """Held by the request that waits, so that requests go in the order in which they came."""
        self._requests = None if requests_per_minute is None else TokenBucket(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else TokenBucket(tokens_per_minute)
        self._clock = clock
        self._answer = FIRST_ANSWER
        self._lock = threading.Lock()

    def estimate(self, size: int) -> int:
        """Tokens of a request of so many bytes, with its answer."""
        return size // BYTES_PER_TOKEN + round(self._answer)

    async def ready(self, tokens: int) -> None:
        """Wait until so many tokens, and one request, can be booked."""
        while (wait := self.wait(tokens)) > 0:
            await asyncio.sleep(wait)

    def wait(self, tokens: int) -> float:
        """Seconds until so many tokens, and one request, can be booked; 0 if they can be booked now."""
        with self._lock:
            return self._wait(self._clock(), tokens)

    def book(self, tokens: int) -> RateBooking | None:
        """Book a request; None if that is not possible yet."""
        with self._lock:
            now = self._clock()
            if self._wait(now, tokens) > 0:
                return None
            return RateBooking(
                None if self._requests is None else self._requests.book(now, 1),
                None if self._tokens is None else self._tokens.book(now, tokens),
            )

    def cancel(self, booked: RateBooking) -> None:
        """Take a booking back: the request was not sent."""
        with self._lock:
            if self._requests is not None and booked.requests is not None:
                self._requests.correct(booked.requests, 0)
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, 0)

    def correct(self, booked: RateBooking, prompt: int, answer: int) -> None:
        """Replace the estimate of a booking by the tokens that the endpoint counted."""
        with self._lock:
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, prompt + answer)
                self._answer += WEIGHT * (answer - self._answer)

    def _wait(self, now: float, tokens: int) -> float:
        requests = 0.0 if self._requests is None else self._requests.wait(now, 1)
        return max(requests, 0.0 if self._tokens is None else self._tokens.wait(now, tokens))
