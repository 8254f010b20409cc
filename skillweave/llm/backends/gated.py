"""Slots at the wire: a slot is held from sending a request to the last byte of its answer, and by nothing else.

What comes before (making the request) and after (reading the reply, pauses before the next try) holds none, so that a
slot that becomes free is in use again at once.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from skillweave.llm.lane import Lane


@dataclass
class Tally:
    """How often a request was sent, and what came of it at the wire."""

    sent: int = 0
    """HTTP requests, further tries among them."""
    declined: int = 0
    """Those that were answered by an error's status."""


TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
"""Where it is counted what the wire does for whoever asks."""
CLOCK: ContextVar[asyncio.Timeout | None] = ContextVar("clock", default=None)
"""The limit on the time of a whole exchange; what is spent waiting for a slot is not counted."""
ROUNDS = 4
"""Rounds of the event loop in which who got the slot sends, before what was answered is read."""


def gated(client: type, lane: Lane) -> type:
    """A class of an SDK's HTTP clients whose requests take the lane."""
    # The SDKs bring it; it is imported with them and not before.
    from httpx2 import AsyncByteStream

    class Held(AsyncByteStream):
        """An answer that is still coming; its end, or whoever closes it, gives the slot back."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream
            self._is_held = True

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._stream:
                yield part

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                if self._is_held:
                    self._is_held = False
                    await lane.leave()

    class Gated(client):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            if stream:
                return await self._streamed(request, options)
            await _enter(lane)
            try:
                response = await _counted(super().send(request, **options))
            finally:
                await lane.leave()
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            return response

        async def _streamed(self, request: Any, options: dict[str, Any]) -> Any:
            await _enter(lane)
            try:
                response = await _counted(super().send(request, stream=True, **options))
            except BaseException:
                await lane.leave()
                raise
            response.stream = Held(response.stream)
            return response

    return Gated


async def _counted(sending: Awaitable[Any]) -> Any:
    """The response, with the request and an error's status entered in the tally."""
    tally = TALLY.get()
    if tally is None:
        return await sending
    tally.sent += 1
    response = await sending
    tally.declined += response.status_code >= HTTPStatus.BAD_REQUEST
    return response


async def _enter(lane: Lane) -> None:
    """Wait for a slot, with the clock held."""
    loop, clock = asyncio.get_running_loop(), CLOCK.get()
    limit = clock.when() if clock is not None else None
    if clock is None or limit is None:
        await lane.enter(0, patience=0.0)
        return
    left = limit - loop.time()
    clock.reschedule(None)
    await lane.enter(0, patience=0.0)
    clock.reschedule(loop.time() + left)
