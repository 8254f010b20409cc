"""What a model writes in a call: the arguments that every JSON parser reads alike, or why they cannot be read.

The rollout and the evaluator decide by it which calls are made, and the backends what can be sent as it is, so that
they agree: what cannot be read is never made, and never sent.
"""

import json
import math
from functools import lru_cache
from typing import NamedTuple

from pydantic_core import from_json

from skillweave.schema.record import Json

MAX_ARGUMENT_CHARACTERS = 2**20
"""Most characters of the arguments of one call; longer ones are refused."""
MAX_ARGUMENT_DEPTH = 64
"""Levels of nesting that are read: protobuf, in which Gemini keeps arguments, ends at 100, and others at 128."""
CACHED_ARGUMENTS = 1024
"""Texts of arguments whose values are kept: those with up to so many characters, and so many of them."""


class Arguments(NamedTuple):
    """The arguments of a call."""

    values: dict[str, Json] | None
    """None if they cannot be read."""
    fault: str | None = None
    """Why they cannot be read, in words for the agent."""


def read_arguments(given: str | dict[str, Json]) -> Arguments:
    """Read the arguments of a call; a blank text is a call without arguments."""
    if isinstance(given, str):
        return (_read_again if len(given) <= CACHED_ARGUMENTS else _read_text)(given)
    try:
        # An object can hold what JSON cannot: NaN, halves of characters, itself.
        fault = _read_text(json.dumps(given)).fault
    except (ValueError, TypeError, RecursionError) as error:
        fault = f"The arguments are not valid JSON: {error}."
    return Arguments(given if fault is None else None, fault)


def _read_text(given: str) -> Arguments:
    if len(given) > MAX_ARGUMENT_CHARACTERS:
        limit = f"The arguments have {len(given)} characters; at most {MAX_ARGUMENT_CHARACTERS} are read."
        return Arguments(None, limit)
    if not given.strip():
        return Arguments({})
    try:
        value = from_json(given, allow_inf_nan=False)
        if not isinstance(value, dict):
            return Arguments(None, "The arguments must be one JSON object.")
        # Once more: `from_json` takes the last of two equal keys, where other parsers refuse or take the first, and it
        # takes numbers that a float cannot hold.
        json.loads(given, object_pairs_hook=_unique, parse_float=_finite, parse_int=_finite)
        _check_depth(value)
    except (ValueError, RecursionError) as error:
        return Arguments(None, f"The arguments are not valid JSON: {error}.")
    return Arguments(value)


_read_again = lru_cache(maxsize=CACHED_ARGUMENTS)(_read_text)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return members


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(MAX_ARGUMENT_DEPTH):
        level = [
            part
            for parent in level
            if isinstance(parent, dict | list)
            for part in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_ARGUMENT_DEPTH} levels")


def valid_text(text: str) -> str:
    """The text with lone surrogates joined or replaced, because UTF-8 cannot encode them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
