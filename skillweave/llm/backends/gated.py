"""Everything at the wire: a request takes its lane from sending it to the last byte of its answer, and by nothing else.

What comes before (making the request) and after (reading the reply, pauses before the next try) holds no slot, so that
a slot that becomes free is in use again at once. What the endpoint does is told to the lane and entered in the tally.
"""

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from skillweave.llm.circuit import Failure
from skillweave.llm.lane import Lane, Pass


@dataclass
class Tally:
    """How often a request was sent, and what came of it at the wire."""

    sent: int = 0
    """HTTP requests that reached the endpoint, as far as is known; further tries among them."""
    declined: int = 0
    """Those that were answered by an error's status."""


TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
"""Where it is counted what the wire does for whoever asks."""
CLOCK: ContextVar[asyncio.Timeout | None] = ContextVar("clock", default=None)
"""The limit on the time of a whole exchange; what is spent waiting for the lane is not counted."""
ROUNDS = 4
"""Rounds of the event loop in which who got the slot sends, before what was answered is read."""
DOWN = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT, 529)
"""Statuses that are the endpoint's state, whatever the request."""


def gated(client: type, lane: Lane) -> type:
    """A class of an SDK's HTTP clients whose requests take the lane."""
    # The SDKs bring it; it is imported with them and not before.
    from aiohttp import ClientConnectorError, ConnectionTimeoutError
    from httpx2 import AsyncByteStream

    class Held(AsyncByteStream):
        """An answer that is still coming; its end, or whoever closes it, gives the lane back."""

        def __init__(self, stream: Any, given: Pass, source: int, *, is_settled: bool) -> None:
            self._stream = stream
            self._pass: Pass | None = given
            self._source = source
            self._is_settled = is_settled
            self._has_begun = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self._stream:
                    self._has_begun = True
                    yield part
            except Exception as error:
                if not self._is_settled:
                    self._is_settled = True
                    lane.failed(Failure(_words(error), self._source, is_certain=False))
                raise

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                if self._pass is not None:
                    given, self._pass = self._pass, None
                    if self._has_begun and not self._is_settled:
                        lane.answered()
                    lane.leave(given)

    class Gated(client):  # type: ignore[misc]
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = await self._begun(request, options)
            if stream:
                return response
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            return response

        async def _begun(self, request: Any, options: dict[str, Any]) -> Any:
            """The response, with its body to be read."""
            tally, source = TALLY.get(), hash(request.content)
            given = await _enter(lane, len(request.content))
            try:
                if tally is not None:
                    tally.sent += 1
                response = await super().send(request, stream=True, **options)
            except Exception as error:
                # Not being reached and being hung up on have one name here; the cause tells them apart.
                is_unreached = isinstance(error.__cause__, (ClientConnectorError, ConnectionTimeoutError))
                if tally is not None:
                    tally.sent -= is_unreached
                why = f"not reached: {error}" if is_unreached else _words(error)
                lane.failed(Failure(why, source, is_certain=is_unreached))
                lane.leave(given)
                raise
            except BaseException:
                lane.leave(given)
                raise
            is_error = response.status_code >= HTTPStatus.BAD_REQUEST
            if is_error:
                if tally is not None:
                    tally.declined += 1
                _judge(lane, response, source)
            response.stream = Held(response.stream, given, source, is_settled=is_error)
            return response

    return Gated


def _judge(lane: Lane, response: Any, source: int) -> None:
    """Tell the lane what an error's status says of the endpoint."""
    status = response.status_code
    lane.heed(status, response.headers)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        lane.failed(Failure(f"status {status}", source, is_certain=status in DOWN))
    else:
        lane.answered()


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())


async def _enter(lane: Lane, size: int) -> Pass:
    """Wait for the lane, with the clock held."""
    loop, clock = asyncio.get_running_loop(), CLOCK.get()
    limit = clock.when() if clock is not None else None
    if clock is None or limit is None:
        return await lane.enter(size)
    left = limit - loop.time()
    clock.reschedule(None)
    given = await lane.enter(size)
    clock.reschedule(loop.time() + left)
    return given
