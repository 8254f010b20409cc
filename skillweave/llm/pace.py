"""Requests and tokens a minute of one endpoint. What a request takes is estimated, and corrected once it is known.

A prompt is estimated from its bytes, an answer to be as long as those before it.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from skillweave.llm.gate import Gate
from skillweave.llm.rate import Booking, Rate

BYTES_PER_TOKEN = 4
FIRST_ANSWER = 1024.0
"""Tokens of an answer, until one was seen."""
WEIGHT = 0.1
"""Of the newest answer in the length that the next is expected to have."""


class Booked(NamedTuple):
    """What a request took; None where there is no such limit."""

    requests: Booking | None
    tokens: Booking | None


class Pace:
    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """None is no limit."""
        self.turn = Gate(1)
        """To be held by who waits, so that requests go in the order in which they came."""
        self._requests = None if requests_per_minute is None else Rate(requests_per_minute)
        self._tokens = None if tokens_per_minute is None else Rate(tokens_per_minute)
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

    def book(self, tokens: int) -> Booked | None:
        """None where it cannot be booked yet."""
        with self._lock:
            now = self._clock()
            if self._wait(now, tokens) > 0:
                return None
            return Booked(
                None if self._requests is None else self._requests.book(now, 1),
                None if self._tokens is None else self._tokens.book(now, tokens),
            )

    def cancel(self, booked: Booked) -> None:
        """It was not sent."""
        with self._lock:
            if self._requests is not None and booked.requests is not None:
                self._requests.correct(booked.requests, 0)
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, 0)

    def correct(self, booked: Booked, prompt: int, answer: int) -> None:
        """It took so many tokens."""
        with self._lock:
            if self._tokens is not None and booked.tokens is not None:
                self._tokens.correct(booked.tokens, prompt + answer)
                self._answer += WEIGHT * (answer - self._answer)

    def _wait(self, now: float, tokens: int) -> float:
        requests = 0.0 if self._requests is None else self._requests.wait(now, 1)
        return max(requests, 0.0 if self._tokens is None else self._tokens.wait(now, tokens))
