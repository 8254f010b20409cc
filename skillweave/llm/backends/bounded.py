"""The bound on what an endpoint may send, kept where its bytes arrive: decompressed here, so that little cannot become
much, and cut off right after the bound, so that whoever reads them sees that there was more.
"""

import zlib
from collections.abc import AsyncIterator
from typing import Any

from skillweave.llm.backends.body import MOST_BYTES

GZIP = ("gzip", "x-gzip", "deflate")
ANY_HEADER = zlib.MAX_WBITS | 32
"""zlib's word for reading either."""
PIECE = 1024 * 1024
"""Bytes that are decompressed at once."""


def hooks() -> dict[str, list[Any]]:
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
