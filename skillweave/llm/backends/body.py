"""Decode what endpoints send: JSON bodies and server-sent events.

What an endpoint sends is not trusted until it is validated. A body that parsers read differently (a key twice, NaN)
is refused, and so is one that is nested too deep. Bodies and streams are bounded in size. The SDKs' own decoders do
none of this, which is why streams are cut into events here.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from skillweave.schema.record import Json

MOST_BYTES = 64 * 1024 * 1024
"""The bound on a body or a stream, decompressed."""
MOST_EVENTS = 300_000
"""The bound on a stream, about one event for each token: small events take much more memory than their bytes."""
MAX_DEPTH = 128
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MOST_TOKENS = 10**9
"""The bound on what an endpoint says to have counted."""
SHOWN = 200
"""Characters of a faulty body that an error shows."""
DONE = b"[DONE]"
"""The last event of a stream in OpenAI's protocol."""
DRAIN_S = 0.1
"""Seconds in which a connection should come to its end after that; a later one is not used again."""

P = TypeVar("P", bound="WireModel")


class WireModel(BaseModel):
    """The base of all that is read from an answer: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


TokenCount = Annotated[
    int,
    BeforeValidator(lambda value: 0 if value is None else value),
    AfterValidator(lambda count: max(0, min(count, MOST_TOKENS))),
]
"""A count of tokens: 0 if it is not given, never negative."""


class Events(list[Json]):
    """The decoded data of a stream's events, in order."""


class BodyError(Exception):
    """A body is no answer; the message says why."""


class TooLargeError(Exception):
    """An endpoint sent more than is read."""

    def __init__(self) -> None:
        super().__init__(f"sent more than {MOST_BYTES // 1024 // 1024} MiB, or {MOST_EVENTS} events")


class SentError(Exception):
    """An error that an endpoint sent instead of an answer, or in the middle of one."""

    def __init__(self, error: object) -> None:
        """Args:
        error: As the endpoint wrote it, an object or anything else.
        """
        self.body = error if isinstance(error, dict) else {"message": str(error)}
        super().__init__(str(self.body.get("message") or self.body))


def decode(body: bytes) -> Json:
    """Decode a body, or the data of an event.

    Raises:
        BodyError: It is no JSON, or none that all parsers read alike.
        TooLargeError: It is too large.
        SentError: It is an error of the endpoint.
    """
    if len(body) > MOST_BYTES:
        raise TooLargeError
    try:
        value: Json = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
        _check_depth(value)
    except RecursionError:
        raise _body_error(TOO_DEEP, body) from None
    except ValueError as error:
        raise _body_error(str(error), body) from None
    if isinstance(value, dict):
        # OpenAI puts an error into a field of that name; Anthropic sends an event of that type.
        sent = value.get("error") or (value if value.get("type") == "error" else None)
        if sent:
            raise SentError(sent)
    return value


def read(kind: type[P], value: Json, meant: str) -> P:
    """Validate what was decoded.

    Args:
        kind: The record to read.
        value: What was decoded.
        meant: What an error calls the record.

    Raises:
        BodyError: It has another form.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise BodyError(f"no {meant} ({place}: {fault['msg']}): {repr(value)[:SHOWN]}") from None


def _body_error(fault: str, body: bytes) -> BodyError:
    return BodyError(f"no JSON ({fault}): {body[:SHOWN]!r}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return members


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {text[:40]} is too large")
    return value


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [part for parent in level for part in _parts(parent)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def _parts(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


async def read_event_stream(response: Any) -> Events:
    """Read an HTTP response whose body is a stream of server-sent events.

    Raises:
        BodyError, TooLargeError, SentError: As `decode`.
    """
    events = Events()
    try:
        async for data in _event_data(response.aiter_bytes()):
            events.append(decode(data))
            if len(events) > MOST_EVENTS:
                raise TooLargeError
    except BodyError:
        # The event that was cut off at the bound is garbled; its size is what is wrong.
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
            data, lines = b"\n".join(lines), []
            if data.startswith(DONE):
                await _drain(parts)
                return
            yield data
    if lines and not lines[0].startswith(DONE):
        yield b"\n".join(lines)


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    # Lines end at line feeds alone: other line ends of Unicode may stand in a model's words.
    pending: list[bytes] = []
    async for part in parts:
        *whole, rest = part.split(b"\n")
        for line in whole:
            yield b"".join([*pending, line]).removesuffix(b"\r")
            pending = []
        pending.append(rest)
    if any(pending):
        yield b"".join(pending).removesuffix(b"\r")


async def _drain(parts: AsyncIterator[bytes]) -> None:
    """Read to the end of the connection, so that it can be used again."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in parts:
                pass
