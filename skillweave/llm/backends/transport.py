"""The HTTP client below the SDKs: it waits for the endpoint's limiter, counts what is sent, and bounds what comes.

A request holds its slot from sending to the last byte of its answer, and at no other time. Answers are
decompressed here, so that a small one cannot become a huge one.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from skillweave.llm.backends.body import MOST_BYTES
from skillweave.llm.limits.circuit_breaker import EndpointFailure
from skillweave.llm.limits.limiter import EndpointLimiter, Permit

GZIP = ("gzip", "x-gzip", "deflate")
ANY_HEADER = zlib.MAX_WBITS | 32
"""zlib's word for reading either."""
PIECE = 1024 * 1024
"""Bytes that are decompressed at once."""


def size_limit_hooks() -> dict[str, list[Any]]:
    """The event hooks of an HTTP client whose answers are bounded, errors included."""
    # The SDKs bring it; it is imported with them and not before.
    from httpx2 import AsyncByteStream

    class Bounded(AsyncByteStream):
        def __init__(self, stream: Any, encoding: str) -> None:
            self._stream = stream
            self._encoding = encoding

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_BYTES + 1
            async for piece in _plain(self._stream, self._encoding):
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def ask_for_gzip(request: Any) -> None:
        request.headers["Accept-Encoding"] = "gzip"

    async def bound(response: Any) -> None:
        response.stream = Bounded(response.stream, response.headers.pop("Content-Encoding", "").strip().lower())

    return {"request": [ask_for_gzip], "response": [bound]}


async def _plain(stream: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The bytes, decompressed if they were compressed as was asked for."""
    if encoding not in GZIP:
        # Anything else is handed on as it came, and is no JSON to who reads it.
        async for part in stream:
            yield part
        return
    inflated = zlib.decompressobj(ANY_HEADER)
    async for part in stream:
        while part:
            yield inflated.decompress(part, PIECE)
            part = inflated.unconsumed_tail
    yield inflated.flush()


@dataclass
class WireCount:
    """How often a request was sent, and what came of it at the wire."""

    sent: int = 0
    """HTTP requests that reached the endpoint, as far as is known; further tries among them."""
    declined: int = 0
    """Those that were answered by an error's status."""


WIRE_COUNT: ContextVar[WireCount | None] = ContextVar("tally", default=None)
"""Where it is counted what the wire does for whoever asks."""
DEADLINE: ContextVar[asyncio.Timeout | None] = ContextVar("clock", default=None)
"""The limit on the time of a whole exchange; what is spent waiting for the lane is not counted."""
ROUNDS = 4
"""Rounds of the event loop in which who got the slot sends, before what was answered is read."""
DOWN = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT, 529)
"""Statuses that are the endpoint's state, whatever the request."""


def limited_client(client: type, lane: EndpointLimiter) -> type:
    """A class of an SDK's HTTP clients whose requests take the lane."""
    # The SDKs bring it; it is imported with them and not before.
    from aiohttp import ClientConnectorError, ConnectionTimeoutError
    from httpx2 import AsyncByteStream

    class Held(AsyncByteStream):
        """An answer that is still coming; its end, or whoever closes it, gives the lane back."""

        def __init__(self, stream: Any, given: Permit, source: int, *, is_settled: bool) -> None:
            self._stream = stream
            self._pass: Permit | None = given
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
                    lane.failed(EndpointFailure(_words(error), self._source, is_certain=False))
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
            tally, source = WIRE_COUNT.get(), hash(request.content)
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
                lane.failed(EndpointFailure(why, source, is_certain=is_unreached))
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


def _judge(lane: EndpointLimiter, response: Any, source: int) -> None:
    """Tell the lane what an error's status says of the endpoint."""
    status = response.status_code
    lane.heed(status, response.headers)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        lane.failed(EndpointFailure(f"status {status}", source, is_certain=status in DOWN))
    else:
        lane.answered()


def _words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())


async def _enter(lane: EndpointLimiter, size: int) -> Permit:
    """Wait for the lane, with the clock held."""
    loop, clock = asyncio.get_running_loop(), DEADLINE.get()
    limit = clock.when() if clock is not None else None
    if clock is None or limit is None:
        return await lane.enter(size)
    left = limit - loop.time()
    clock.reschedule(None)
    given = await lane.enter(size)
    clock.reschedule(loop.time() + left)
    return given
