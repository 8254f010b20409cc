"""Server-sent events: the stream of an answer, cut into the data of its events.

Lines end at line feeds alone: what else Unicode takes for one may stand in a model's words.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from skillweave.llm.backends.body import MOST_BYTES, MOST_EVENTS, BodyError, Events, TooLargeError, decode

DONE = b"[DONE]"
"""What OpenAI's protocol ends a stream with."""
DRAIN = 0.1
"""Seconds in which the connection should come to its end after that; then it is not used again."""


async def read_events(response: Any) -> Events:
    """What the events of an HTTP response hold. Raises BodyError, AnswerError, TooLargeError."""
    events = Events()
    try:
        async for data in _event_data(response.aiter_bytes()):
            events.append(decode(data))
            if len(events) > MOST_EVENTS:
                raise TooLargeError
    except BodyError:
        # What was cut off at the bound is garbled, which is not what is wrong with it.
        if response.num_bytes_downloaded <= MOST_BYTES:
            raise
    if response.num_bytes_downloaded > MOST_BYTES:
        raise TooLargeError
    return events


async def _event_data(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, in order, up to the end that the protocol or the connection gives."""
    lines: list[bytes] = []
    async for line in _lines(parts):
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif not line and lines:
            found, lines = b"\n".join(lines), []
            if found.startswith(DONE):
                await _drain(parts)
                return
            yield found
    if lines and not lines[0].startswith(DONE):
        yield b"\n".join(lines)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for part in parts:
        *whole, rest = part.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line]).removesuffix(b"\r")
            begun = []
        begun.append(rest)
    if any(begun):
        yield b"".join(begun).removesuffix(b"\r")


async def _drain(parts: AsyncIterator[bytes]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN):
            async for _ in parts:
                pass
