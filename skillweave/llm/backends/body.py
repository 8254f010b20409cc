"""Decode what endpoints send: JSON bodies and server-sent events.

What an endpoint sends is not trusted until it is validated. Bodies and streams are bounded in size and depth. What the
model wrote as the arguments of a call never makes a body unreadable: arguments that parsers read differently (a key
twice, NaN) become a text, which is answered as the model's fault. The SDKs' own decoders do none of this, which is why
streams are cut into events here.
"""

import asyncio
import codecs
import contextlib
import html
import json
import math
import re
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from skillweave.base.call_arguments import read_arguments
from skillweave.schema.record import Json

MOST_BYTES = 64 * 1024 * 1024
"""The bound on a body or a stream, decompressed."""
MOST_EVENTS = 300_000
"""The bound on a stream, about one event for each token: small events take much more memory than their bytes."""
MAX_DEPTH = 128
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MOST_TOKENS = 10**9
"""The bound on what an endpoint says to have counted."""
MAX_DIGITS = 1000
"""The bound on a whole number's digits."""
SHOWN = 200
"""Characters of a faulty body that an error shows."""
WORDS = ("error", "title", "message", "detail", "errors", "msg", "description", "metadata", "raw")
"""Fields in which endpoints put the words of an error."""
MAX_ERROR_DEPTH = 8
"""Levels of an error body in which words are looked for."""
ANSWERS = frozenset({"choices", "output", "content", "type", "object", "response", "delta"})
"""Fields of answers, and of their events."""
DONE = b"[DONE]"
"""The last event of a stream in OpenAI's protocol."""
DRAIN_S = 0.1
"""Seconds in which a connection should come to its end after that; a later one is not used again."""

P = TypeVar("P", bound="WireModel")


class WireModel(BaseModel):
    """The base of all that is read from an answer: unknown fields are ignored, and null counts as left out."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=(), coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        # Gateways fill what they do not know with null: `"function": null`, `"tool_calls": [null]`.
        if not isinstance(value, dict):
            return value
        given = {name: part for name, part in value.items() if part is not None}
        return {
            name: [element for element in part if element is not None]
            if isinstance(part, list) and all(element is None or isinstance(element, dict) for element in part)
            else part
            for name, part in given.items()
        }


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
    """An error that an endpoint sent instead of an answer, or in the middle of one; `body` is as it wrote it."""

    def __init__(self, body: object) -> None:
        self.body = body
        super().__init__(words_of(body))


def words_of(body: object) -> str:
    """The words of an error body, whatever its shape.

    OpenAI has `{"error": {"message"}}`, Gemini a list around it, Ollama a text as `error`, FastAPI a text or a list of
    faults with their places as `detail`, Mistral an object as `message`, gateways a list `errors`, OpenRouter the
    provider's own answer in `metadata.raw`, proxies a page.
    """
    # An object without any of these fields is shown as it is.
    return _words(body, MAX_ERROR_DEPTH) or (json.dumps(body) if isinstance(body, dict) and body else "")


def _words(part: object, depth: int) -> str:
    if isinstance(part, str):
        return _page_words(part) if part.lstrip().startswith("<") else part.strip()
    if isinstance(part, list) and depth:
        return "; ".join(filter(None, (_words(element, depth - 1) for element in part)))
    if not isinstance(part, dict) or not depth:
        return ""
    words = "; ".join(dict.fromkeys(filter(None, (_words(part.get(name), depth - 1) for name in WORDS))))
    place = part.get("loc")
    return f"{'.'.join(map(str, place))}: {words}" if isinstance(place, list) and words else words


def error_details(body: object, depth: int = MAX_ERROR_DEPTH) -> Mapping[str, object]:
    """The fields of an error body, such as its code; those of an object inside count more."""
    parts = body if isinstance(body, list) else []
    if isinstance(body, dict):
        parts = [body.get(name) for name in WORDS]
    inner = next((found for part in parts if depth and (found := error_details(part, depth - 1))), {})
    outer = body if isinstance(body, dict) else {}
    return {**outer, **{name: value for name, value in inner.items() if value is not None}}


def _page_words(page: str) -> str:
    """The title of a page, or its first words."""
    title = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
    text = title[1] if title else re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    return html.unescape(" ".join(text.split()))[:SHOWN]


def _is_error(value: Json) -> bool:
    """Whether a decoded body, or the data of an event, is an error and no answer."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(part, dict) and _is_error(part) for part in value)
    if not isinstance(value, dict):
        return False
    # OpenRouter puts what went wrong at a provider into the choice.
    if _choice_error(value):
        return True
    # OpenAI puts an error into a field of that name; Anthropic sends an event of that type; vLLM calls the object so.
    if value.get("error") or "error" in (value.get("type"), value.get("object")):
        return True
    # FastAPI and gateways send a fault and nothing else.
    return not ANSWERS & value.keys() and bool(_words(value, MAX_ERROR_DEPTH))


def _choice_error(value: dict[str, Json]) -> Json:
    choices = value.get("choices")
    found = [choice.get("error") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return next((error for error in found if error), None)


def decode(body: bytes) -> Json:
    """Decode a body, or the data of an event.

    Raises:
        BodyError: It is no JSON, or is nested too deep.
        TooLargeError: It is too large.
        SentError: It is an error of the endpoint.
    """
    if len(body) > MOST_BYTES:
        raise TooLargeError
    try:
        value = _tidy(
            json.loads(body, object_pairs_hook=_object, parse_constant=_Number, parse_float=_number, parse_int=_integer)
        )
    except RecursionError:
        raise _body_error(TOO_DEEP, body) from None
    except ValueError as error:
        raise _body_error(str(error), body) from None
    if _is_error(value):
        inner = _choice_error(value) if isinstance(value, dict) and not value.get("error") else None
        raise SentError({"error": inner} if inner else value)
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


class _Pairs(dict[str, Json]):
    """An object with a key twice."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class _Number(float):
    """A number that not all parsers read alike, with its text."""

    text: str

    def __new__(cls, text: str) -> "_Number":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Pairs(pairs)


def _number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _Number(text)


def _integer(text: str) -> int | float:
    # Python itself refuses to read thousands of digits.
    return int(text) if len(text) <= MAX_DIGITS else _Number(text)


def _tidy(value: Json) -> Json:
    """A value with each call's arguments as text if they are no readable object, wherever a protocol has them.

    Of what else parsers read differently, a number is null, and of two equal keys the last counts, as it does almost
    everywhere.

    Raises:
        ValueError: What is left is nested too deep.
    """
    root: list[Json] = [value]
    level: list[Json] = [root]
    for _ in range(MAX_DEPTH + 1):
        for part in level:
            if isinstance(part, dict):
                name = "input" if part.get("type") == "tool_use" else "arguments"
                given = part.get(name)
                if given is not None and not isinstance(given, str):
                    text = _text_of(given)
                    if not isinstance(given, dict) or read_arguments(text).values is None:
                        part[name] = text
                for key, member in part.items():
                    if isinstance(member, _Number):
                        part[key] = None
            elif isinstance(part, list):
                part[:] = [None if isinstance(member, _Number) else member for member in part]
        level = [part for parent in level for part in _parts(parent)]
        if not level:
            return root[0]
    raise ValueError(TOO_DEEP)


def _text_of(value: Json) -> str:
    """A value as JSON text, with what parsers read differently as it came."""
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, _Pairs) else value.items()
        return (
            "{" + ", ".join([f"{json.dumps(key, ensure_ascii=False)}: {_text_of(part)}" for key, part in pairs]) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join([_text_of(part) for part in value]) + "]"
    return value.text if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)


def _parts(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


async def read_event_stream(response: Any) -> Events | Json:
    """Read an HTTP response whose body is a stream of server-sent events, or one whole answer in its place.

    Raises:
        BodyError, TooLargeError, SentError: As `decode`.
    """
    events = Events()
    others: list[bytes] = []
    try:
        async for data in _event_data(response.aiter_bytes(), others):
            events.append(decode(data))
            if len(events) > MOST_EVENTS:
                raise TooLargeError
    except BodyError:
        # The event that was cut off at the bound is garbled; its size is what is wrong.
        if response.num_bytes_downloaded <= MOST_BYTES:
            raise
    if response.num_bytes_downloaded > MOST_BYTES:
        raise TooLargeError
    # Where an answer would have been streamed, some endpoints send a whole body: the answer, or an error.
    with contextlib.suppress(BodyError):
        whole = decode(b"\n".join(others))
        if not events and isinstance(whole, dict):
            return whole
    return events


async def _event_data(parts: AsyncIterator[bytes], others: list[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, in order, up to the end that the protocol or the connection gives.

    Lines that are no part of an event are added to `others`.
    """
    lines: list[bytes] = []
    name = b""
    is_first = True
    async for line in _lines(parts):
        if is_first:
            line, is_first = line.removeprefix(codecs.BOM_UTF8), False
        if line.startswith((b"data:", b"error:")):
            # llama.cpp sends an error in a field of that name.
            lines.append(line.partition(b":")[2].removeprefix(b" "))
        elif not line and lines:
            data, lines = b"\n".join(lines), []
            if data.startswith(DONE):
                await _drain(parts)
                return
            if not data.strip():
                # An event without data is none.
                name = b""
                continue
            if name == b"error" and not data.lstrip().startswith((b"{", b"[")):
                raise SentError(data.decode("utf-8", "replace"))
            yield data
            name = b""
        elif line.startswith(b"event:"):
            name = line[6:].strip()
        elif not line.startswith((b":", b"id:", b"retry:")):
            others.append(line)
    if any(lines) and not lines[0].startswith(DONE):
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
