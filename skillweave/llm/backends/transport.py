"""The HTTP client below the SDKs: it waits for the endpoint's limiter, counts what is sent, and bounds what comes.

A request holds its slot from sending to the last byte of its answer, and at no other time: making the request, reading
the reply and pauses before the next try hold none. Answers are decompressed here, so that a small one cannot become a
huge one. This module imports the HTTP libraries, so it is itself imported with the SDKs and not before.
"""

import asyncio
import os
import zlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from aiohttp import (
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientHttpProxyError,
    ClientSSLError,
    ConnectionTimeoutError,
)
from httpx2 import AsyncByteStream, Timeout, create_ssl_context

from skillweave.base.proxy import Proxy
from skillweave.llm.backends.backend import DEADLINE, WIRE_COUNT
from skillweave.llm.backends.body import MOST_BYTES
from skillweave.llm.limits.circuit_breaker import EndpointFailure
from skillweave.llm.limits.limiter import EndpointLimiter, Permit

COMPRESSED = ("gzip", "x-gzip", "deflate")
ANY_HEADER = zlib.MAX_WBITS | 32
"""Tells zlib to read either format."""
PIECE = 1024 * 1024
"""Bytes that are decompressed at once."""
YIELDS = 4
"""How often a finished request yields to the event loop, so that the one that gets its slot is sent before the answer
is read."""
DOWN = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT, 529)
"""Statuses that describe the endpoint, whatever the request."""
NO_WAY_ON = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""Statuses by which a proxy says that it does not reach the endpoint."""
CONNECT_S = 10.0
"""Seconds for a connection: enough for the system to knock three times."""
TUNNEL_S = 30.0
"""Seconds for a connection through a proxy, which has to connect in its turn."""


def http_client(kind: type, limiter: EndpointLimiter | None, timeout: float, proxy: Proxy | None) -> Any:
    """An SDK's HTTP client that takes the limiter's permits and keeps to the bound on sizes.

    Args:
        kind: The SDK's class of clients.
        limiter: None if nothing limits the endpoint.
        timeout: Seconds for one read.
        proxy: What requests go through.
    """
    own = {"limiter": limiter, "proxy": proxy}
    client = kind if limiter is None else type("LimitedClient", (LimitedClient, kind), own)
    hooks = {"request": [_accept_gzip], "response": [_bound_size]}
    # Redirects are not followed: a key, and what it pays for, go only to the endpoint that the user has named.
    return client(
        timeout=Timeout(
            timeout, connect=min(timeout, CONNECT_S), pool=timeout if proxy is None else min(timeout, TUNNEL_S)
        ),
        event_hooks=hooks,
        follow_redirects=False,
        # The proxy is chosen already: the client would take that of the environment for this machine's addresses, too.
        trust_env=False,
        proxy=None if proxy is None else proxy.url,
        # Certificates are still those that the environment names.
        verify=create_ssl_context(),
    )


class LimitedClient:
    """A mixin for an SDK's HTTP client: each request takes a permit, and its outcome is told to the limiter."""

    limiter: EndpointLimiter
    proxy: Proxy | None

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request, and read its answer unless it is streamed."""
        response = await self._begin(request, options)
        if stream:
            return response
        try:
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
        for _ in range(YIELDS):
            await asyncio.sleep(0)
        return response

    async def _begin(self, request: Any, options: dict[str, Any]) -> Any:
        """The response, with its body still to be read."""
        limiter, count, source = self.limiter, WIRE_COUNT.get(), hash(request.content)
        permit = await _acquire(limiter, len(request.content))
        try:
            if count is not None:
                count.sent += 1
            response = await super().send(request, stream=True, **options)  # type: ignore[misc]
        except Exception as error:
            # A failed connection and one that was dropped have the same class here; the cause tells them apart.
            reason = _why_unreached(error.__cause__)
            if count is not None:
                count.sent -= reason is not None
            why = _describe(error) if reason is None else f"not reached: {reason}"
            why += "" if self.proxy is None else f", through {self.proxy}"
            is_unreached = reason is not None
            limiter.failed(EndpointFailure(why, source, is_certain=is_unreached, is_unreached=is_unreached))
            limiter.release(permit)
            raise
        except BaseException:
            limiter.release(permit)
            raise
        is_error = response.status_code >= HTTPStatus.BAD_REQUEST
        if is_error:
            if count is not None:
                count.declined += 1
            _report_status(limiter, response, source, self.proxy)
        response.stream = LimitedStream(response.stream, limiter, permit, source, is_reported=is_error)
        return response


class LimitedStream(AsyncByteStream):
    """A body that is still coming. At its end, or when it is closed, the permit is released."""

    def __init__(
        self, stream: Any, limiter: EndpointLimiter, permit: Permit, source: int, *, is_reported: bool
    ) -> None:
        """Args:
        stream: The bytes.
        limiter: Gave the permit, and learns how the request ended.
        permit: The request's.
        source: Tells tries of one request from those of others.
        is_reported: Whether the limiter knows already how the request ended.
        """
        self._stream = stream
        self._limiter = limiter
        self._permit: Permit | None = permit
        self._source = source
        self._is_reported = is_reported
        self._has_begun = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                self._has_begun = True
                yield part
        except Exception as error:
            if not self._is_reported:
                self._is_reported = True
                self._limiter.failed(EndpointFailure(_describe(error), self._source, is_certain=False))
            raise

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            if self._permit is not None:
                permit, self._permit = self._permit, None
                if self._has_begun and not self._is_reported:
                    self._limiter.answered()
                self._limiter.release(permit)


class BoundedStream(AsyncByteStream):
    """A body that is decompressed, and cut off right after the bound, so that its reader sees that there was more."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES + 1
        async for piece in _decompress(self._stream, self._encoding):
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _accept_gzip(request: Any) -> None:
    request.headers["Accept-Encoding"] = "gzip"


async def _bound_size(response: Any) -> None:
    # Without the header the client does not decompress a second time.
    encoding = response.headers.pop("Content-Encoding", "").strip().lower()
    response.stream = BoundedStream(response.stream, encoding)


async def _decompress(stream: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    if encoding not in COMPRESSED:
        # Another encoding is handed on as it came; its reader finds that it is no JSON.
        async for part in stream:
            yield part
        return
    inflated = zlib.decompressobj(ANY_HEADER)
    async for part in stream:
        while part:
            yield inflated.decompress(part, PIECE)
            part = inflated.unconsumed_tail
    yield inflated.flush()


def _report_status(limiter: EndpointLimiter, response: Any, source: int, proxy: Proxy | None) -> None:
    """Tell the limiter what an error status says of the endpoint."""
    status = response.status_code
    limiter.read_retry_after(status, response.headers)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        why = f"status {status}" if proxy is None else f"status {status} through {proxy}"
        # A proxy answers for the endpoint where there is no tunnel between.
        is_unreached = proxy is not None and response.request.url.scheme == "http" and status in NO_WAY_ON
        limiter.failed(EndpointFailure(why, source, is_certain=status in DOWN, is_unreached=is_unreached))
    else:
        limiter.answered()


def _why_unreached(cause: BaseException | None) -> str | None:
    """Why an endpoint was not reached; None if it was."""
    match cause:
        case ClientHttpProxyError():
            return f"status {cause.status} {cause.message}".rstrip()
        case ClientConnectorDNSError():
            return f"{cause.host!r}: {cause.os_error.strerror or cause.os_error}"
        case ClientSSLError():
            return f"{cause.host}:{cause.port}: no TLS: {cause.os_error}"
        case ClientConnectorError():
            number = cause.os_error.errno
            return f"{cause.host}:{cause.port}: {os.strerror(number) if number else cause.os_error}"
        case ConnectionTimeoutError():
            return "no connection in time"
    return None


def _describe(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())


async def _acquire(limiter: EndpointLimiter, size: int) -> Permit:
    """Wait for a permit, with the deadline of the exchange stopped meanwhile."""
    loop, deadline = asyncio.get_running_loop(), DEADLINE.get()
    limit = deadline.when() if deadline is not None else None
    if deadline is None or limit is None:
        return await limiter.acquire(size)
    left = limit - loop.time()
    deadline.reschedule(None)
    permit = await limiter.acquire(size)
    deadline.reschedule(loop.time() + left)
    return permit
