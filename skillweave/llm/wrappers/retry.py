"""Try again what may succeed at once: garbled bodies, dropped answers. What the SDK retried already is not retried."""

import asyncio
from collections.abc import Awaitable, Callable

from skillweave.errors import ProviderError
from skillweave.llm.backend import Backend
from skillweave.llm.request import Reply, Request

FIRST_DELAY = 0.5
"""Seconds; each further delay is twice the one before."""


class Retrying:
    def __init__(
        self, inner: Backend, retries: int, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._retries = retries
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        for retry in range(self._retries):
            try:
                return await self._inner.complete(request)
            except ProviderError as error:
                if not error.transient:
                    raise
            await self._sleep(FIRST_DELAY * 2**retry)
        return await self._inner.complete(request)

    async def close(self) -> None:
        await self._inner.close()
