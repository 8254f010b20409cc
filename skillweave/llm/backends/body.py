"""Decode what endpoints send: JSON bodies and server-sent events.

What an endpoint sends is not trusted until it is validated. A body that parsers read differently (a key twice, NaN)
is refused, and so is one that is nested too deep. Bodies and streams are bounded in size.
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
"""Of a body or a stream, decompressed."""
MOST_EVENTS = 300_000
"""Of a stream, about one for each token; decoded, small ones take much more memory than their bytes."""
MAX_DEPTH = 128
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MOST_TOKENS = 10**9
"""What an endpoint says to have counted is taken for no more."""
SHOWN = 200

P = TypeVar("P", bound="WireModel")


class WireModel(BaseModel):
    """A part of an answer: fields that we do not know are left aside."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


TokenCount = Annotated[
    int,
    BeforeValidator(lambda value: 0 if value is None else value),
    AfterValidator(lambda count: max(0, min(count, MOST_TOKENS))),
]
"""Of tokens: 0 where it is not given, never below."""


class Events(list[Json]):
    """What the events of a stream hold."""


class BodyError(Exception):
    """Why a body is no answer."""


class TooLargeError(Exception):
    """An endpoint sent more than is read."""

    def __init__(self) -> None:
        super().__init__(f"sent more than {MOST_BYTES // 1024 // 1024} MiB, or {MOST_EVENTS} events")


class SentError(Exception):
    """An error that an endpoint sent in the place of an answer, or in the middle of one."""

    def __init__(self, error: object) -> None:
        """`error` as the endpoint wrote it."""
        self.body = error if isinstance(error, dict) else {"message": str(error)}
        super().__init__(str(self.body.get("message") or self.body))


def decode(body: bytes) -> Json:
    """The value that a body, or an event's data, holds. Raises BodyError, TooLargeError; AnswerError for an error."""
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
        # The one API has the error in a field of that name, the other has it for an event of its own.
        found = value.get("error") or (value if value.get("type") == "error" else None)
        if found:
            raise SentError(found)
    return value


def read(kind: type[P], value: Json, meant: str) -> P:
    """The value as a record of that kind. Raises BodyError where it is none; `meant` names what it should be."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise BodyError(f"no {meant} ({place}: {fault['msg']}): {repr(value)[:SHOWN]}") from None


def _body_error(fault: str, body: bytes) -> BodyError:
    return BodyError(f"no JSON ({fault}): {body[:SHOWN]!r}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


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


DONE = b"[DONE]"
"""What OpenAI's protocol ends a stream with."""
DRAIN = 0.1
"""Seconds in which the connection should come to its end after that; then it is not used again."""


async def read_event_stream(response: Any) -> Events:
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
