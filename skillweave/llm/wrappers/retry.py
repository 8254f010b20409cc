"""Try again what may succeed: dropped and garbled answers, faults of the endpoint, too many requests.

This is the only place where a request is made again. Tries are counted while the endpoint works; one that begins while
it is down is free, since the lane waits for it, as long as is allowed. How long the endpoint wants to be left alone is
the lane's business, too; the pauses made here are what is added when it says nothing.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from skillweave.errors import ProviderError, StopError
from skillweave.llm.backend import Backend
from skillweave.llm.lane import Lane
from skillweave.llm.request import Reply, Request

FIRST_DELAY = 0.5
"""Seconds, at most; each further delay is at most twice the one before."""
LONGEST_DELAY = 60.0


class Retrying:
    def __init__(
        self,
        inner: Backend,
        retries: int,
        lane: Lane,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._retries = retries
        self._lane = lane
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        failures = 0
        while True:
            is_free = self._lane.is_down
            try:
                reply = await self._inner.complete(request)
            except ProviderError as error:
                if isinstance(error, StopError) or not error.transient or not self._retries:
                    raise
                last = error
                failures += not is_free
                if failures > self._retries:
                    break
            else:
                self._lane.took(reply.input_tokens, reply.output_tokens)
                return reply
            if not is_free:
                await self._sleep(_delay(failures))
        # Raised out here, so that no other error is chained to it.
        raise ProviderError(f"{last} (gave up after {self._retries} retries)")

    async def close(self) -> None:
        await self._inner.close()


def _delay(failures: int) -> float:
    """Anything up to the limit, so that those who failed together do not come back together."""
    return random.uniform(0.0, min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(failures - 1, 10)))
