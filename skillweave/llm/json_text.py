"""JSON in text: find and decode it in what a model wrote, and write records compactly into a prompt.

Only outermost values are candidates: no element of a truncated list is ever taken for the whole.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from skillweave.schema.record import Json

MAX_DEPTH = 64
"""Levels of nesting that are read."""
MAX_DIGITS = 40
"""Digits of an integer that are read."""
OPENERS = {"{": "}", "[": "]"}
START = re.compile(r'[{\[]\s*["{}\[\]\-0-9tfnNI]')
"""An opening bracket with what may follow it in JSON: it matches `[{`, but not `[see below]`."""


class JsonTextError(ValueError):
    """A text is not the JSON that we accept; the message says why."""


def candidates(text: str, blocks: Sequence[str]) -> Iterator[str]:
    """Find the texts in a reply that may be its JSON answer.

    Args:
        text: The reply; not empty.
        blocks: The contents of its fenced blocks.

    Yields:
        The whole reply, then the blocks, then values that stand in prose; longer ones first, none twice.
    """
    seen: set[str] = set()
    whole = [text] if text[0] in '{["-0123456789tfn' else []
    for candidate in [*whole, *sorted(blocks, key=len, reverse=True), *_values(text)]:
        stripped = candidate.strip()
        if stripped and stripped not in seen:
            seen.add(stripped)
            yield stripped


def decode(text: str) -> Json:
    """Decode a JSON text strictly; only trailing commas are forgiven.

    Raises:
        JsonTextError: It is no JSON, has a key twice, or a value that JSON does not have.
    """
    _check_depth(text)
    try:
        return _strict(text)
    except json.JSONDecodeError as error:
        repaired = _without_trailing_commas(text)
        if repaired != text:
            try:
                return _strict(repaired)
            except json.JSONDecodeError:
                pass
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip()) - 1
        cut = " (the answer seems to be cut off)" if is_cut else ""
        raise JsonTextError(f"not valid JSON at line {error.lineno} column {error.colno}: {error.msg}{cut}") from error


def _strict(text: str) -> Json:
    try:
        value: Json = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
        )
    except RecursionError as error:
        raise JsonTextError(f"nested deeper than {MAX_DEPTH} levels") from error
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise JsonTextError("a string holds half of a surrogate pair; write the character itself") from error
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for key, value in pairs:
        if key in members:
            raise JsonTextError(f"key {key!r} stands twice in one object")
        members[key] = value
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is no JSON number; use null or a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonTextError(f"number {text[:40]} is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise JsonTextError(f"number {text[:MAX_DIGITS]}... has {len(text)} digits; at most {MAX_DIGITS} are read")
    return int(text)


def _check_depth(text: str) -> None:
    depth = 0
    for _, character in _structure(text):
        depth += (character in OPENERS) - (character in "}]")
        if depth > MAX_DEPTH:
            raise JsonTextError(f"nested deeper than {MAX_DEPTH} levels")


def _structure(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Brackets and commas outside of strings, with their positions."""
    inside = escaped = False
    for position in range(start, len(text)):
        character = text[position]
        if inside:
            inside = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in "{}[],":
            yield position, character


def _without_trailing_commas(text: str) -> str:
    dropped: list[int] = []
    comma = -1
    for position, character in _structure(text):
        if character in "}]" and comma >= 0 and not text[comma + 1 : position].strip():
            dropped.append(comma)
        comma = position if character == "," else -1
    ends = [*dropped, len(text)]
    begins = [0, *(position + 1 for position in dropped)]
    return "".join(text[begin:end] for begin, end in zip(begins, ends, strict=True))


def _values(text: str) -> list[str]:
    """Outermost objects and lists that stand in prose, longest first; a value that never ends is the only one."""
    values: list[str] = []
    position = 0
    while (start := START.search(text, position)) is not None:
        begin, end = start.start(), _end(text, start.start())
        if end is None:
            return [text[begin:]]
        values.append(text[begin:end])
        position = end
    return sorted(values, key=len, reverse=True)


def _end(text: str, start: int) -> int | None:
    depth = 0
    for position, character in _structure(text, start):
        depth += (character in OPENERS) - (character in "}]")
        if depth == 0 and character != ",":
            return position + 1
    return None


def compact_json(value: object) -> str:
    """Write a value as JSON for a prompt.

    Args:
        value: A record, or what JSON can hold of them.

    Returns:
        JSON text. Each element of a list, and of a list in an object's field, stands on a line of its own.
    """
    return _text(plain_json(value), depth=2)


def plain_json(value: object) -> Json:
    """A value as JSON. Fields of records that have their default are left out; dictionaries stay whole."""
    if isinstance(value, BaseModel):
        return {
            name: plain_json(content)
            for name, field in type(value).model_fields.items()
            if (content := getattr(value, name)) is not None
            and (field.is_required() or content != field.get_default(call_default_factory=True))
        }
    if isinstance(value, dict):
        return {str(key): plain_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_json(part) for part in value]
    jsonable: Json = to_jsonable_python(value)
    return jsonable


def _text(value: Json, depth: int) -> str:
    """The text of a value; `depth` levels of fields and elements are broken into lines."""
    if depth and isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return "[\n" + ",\n".join(_text(part, 0) for part in value) + "\n]"
    if depth > 1 and isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        fields = (f"{json.dumps(key, ensure_ascii=False)}: {_text(part, 1)}" for key, part in value.items())
        return "{\n" + ",\n".join(fields) + "\n}"
    return json.dumps(value, ensure_ascii=False)
