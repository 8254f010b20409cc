"""What endpoints send, decoded: JSON that is hostile until it is read.

A body that no parser would agree about (a key twice, NaN, a number without end) is none, and neither is one that is so
deep that walking through it would end the process. Bodies, and the events of a stream, are bounded in size.
"""

import json
import math
from typing import Annotated, NoReturn, TypeVar

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

P = TypeVar("P", bound="Part")


class Part(BaseModel):
    """A part of an answer: fields that we do not know are left aside."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


Count = Annotated[
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


class AnswerError(Exception):
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
            raise AnswerError(found)
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
