"""How many requests may be under way at once, and how many requests and tokens a minute may be sent.

All of it is shared by the threads and event loops of a process. Within any 60 seconds no more than the limit is
booked. The tokens of a request are estimated when it is sent, and corrected when they are known.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

Waiter = asyncio.Future[None]


class SharedSemaphore:
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
                    call_soon_on(waiter.get_loop())(self._wake, waiter)
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


def call_soon_on(loop: asyncio.AbstractEventLoop) -> Callable[..., object]:
    """How to have something done on a loop: on our own without the wake-up call that another one needs."""
    try:
        is_ours = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_ours = False
    return loop.call_soon if is_ours else loop.call_soon_threadsafe


class Notifier:
    def __init__(self) -> None:
        self._listening: dict[Waiter, None] = {}

    def listen(self) -> Waiter:
        """Of the running event loop; to be given to `heard`."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._listening[waiter] = None
        return waiter

    async def heard(self, waiter: Waiter, seconds: float) -> None:
        """Wait until the bell rings, so many seconds at most."""
        try:
            await asyncio.wait((waiter,), timeout=seconds)
        finally:
            self._listening.pop(waiter, None)

    def ring(self) -> None:
        """Wake all who listen now."""
        listening, self._listening = self._listening, {}
        for waiter in tuple(listening):
            try:
                call_soon_on(waiter.get_loop())(_wake, waiter)
            except RuntimeError:
                # Its loop is closed: nobody waits there any more.
                continue


def _wake(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


MINUTE = 60.0
BURST = 3.0
"""Seconds' worth that may go at once after a quiet time."""
MOMENT = 1e-6
"""Seconds that are as good as none; clocks and sums of fractions are no more exact."""


@dataclass
class Booking:
    """What one request took of a rate."""

    moment: float
    amount: float


class TokenBucket:
    def __init__(self, per_minute: float) -> None:
        self._limit = per_minute
        self._refill = per_minute / MINUTE
        # The smallest amount fits, or nothing would ever go.
        self._burst = max(1.0, BURST * self._refill)
        self._level = self._burst
        self._filled_at = 0.0
        self._booked: deque[Booking] = deque()
        self._sum = 0.0

    def wait(self, now: float, amount: float) -> float:
        """Seconds until so much can be booked, 0 if it can be now."""
        self._move_on(now)
        short = min(amount, self._burst) - self._level
        wait = max(short / self._refill, self._until_room(now, amount))
        return wait if wait > MOMENT else 0.0

    def book(self, now: float, amount: float) -> Booking:
        """Take it, after `wait` said 0."""
        self._move_on(now)
        booking = Booking(now, 0.0)
        self._booked.append(booking)
        self.correct(booking, amount)
        return booking

    def correct(self, booking: Booking, amount: float) -> None:
        """It took so much, as is known now."""
        more = amount - booking.amount
        booking.amount = amount
        self._level = min(self._burst, self._level - more)
        if self._booked and booking.moment >= self._booked[0].moment:
            self._sum += more

    def _move_on(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._filled_at) * self._refill)
        self._filled_at = now
        while self._booked and self._booked[0].moment <= now - MINUTE:
            self._sum -= self._booked.popleft().amount
        if not self._booked:
            # Sums of fractions drift.
            self._sum = 0.0

    def _until_room(self, now: float, amount: float) -> float:
        """Seconds until enough of the last minute is over; a larger amount than a minute's needs all of it over."""
        room = self._limit - self._sum
        if amount <= room or not self._booked:
            return 0.0
        for booking in self._booked:
            room += booking.amount
            if amount <= room:
                return booking.moment + MINUTE - now
        return self._booked[-1].moment + MINUTE - now


BYTES_PER_TOKEN = 4
FIRST_ANSWER = 1024.0
"""Tokens of an answer, until one was seen."""
WEIGHT = 0.1
"""Of the newest answer in the length that the next is expected to have."""


class RateBooking(NamedTuple):
    """What a request took; None where there is no such limit."""

    requests: Booking | None
    tokens: Booking | None


class RateLimiter:
    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """None is no limit."""
        self.turn = SharedSemaphore(1)
        """To be held by who waits, so that requests go in the order in which they came."""
        self._requests = None if requests_per_minute is None else TokenBucket(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else TokenBucket(tokens_per_minute)
        self._clock = clock
        self._answer = FIRST_ANSWER
        self._lock = threading.Lock()

    def estimate(self, size: int) -> int:
        """Tokens of a request of so many bytes, with its answer."""
        return size // BYTES_PER_TOKEN + round(self._answer)

    async def ready(self, tokens: int) -> None:
        """Wait until so much can be booked."""
        while (wait := self.wait(tokens)) > 0:
            await asyncio.sleep(wait)

    def wait(self, tokens: int) -> float:
        """Seconds until so much can be booked, 0 if it can be now."""
        with self._lock:
            return self._wait(self._clock(), tokens)

    def book(self, tokens: int) -> RateBooking | None:
        """None where it cannot be booked yet."""
        with self._lock:
            now = self._clock()
            if self._wait(now, tokens) > 0:
                return None
            return RateBooking(
                None if self._requests is None else self._requests.book(now, 1),
                None if self._tokens is None else self._tokens.book(now, tokens),
            )

    def cancel(self, booked: RateBooking) -> None:
        """It was not sent."""
        with self._lock:
            if self._requests is not None and booked.requests is not None:
                self._requests.correct(booked.requests, 0)
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, 0)

    def correct(self, booked: RateBooking, prompt: int, answer: int) -> None:
        """It took so many tokens."""
        with self._lock:
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, prompt + answer)
                self._answer += WEIGHT * (answer - self._answer)

    def _wait(self, now: float, tokens: int) -> float:
        requests = 0.0 if self._requests is None else self._requests.wait(now, 1)
        return max(requests, 0.0 if self._tokens is None else self._tokens.wait(now, tokens))
