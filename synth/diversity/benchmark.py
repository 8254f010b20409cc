"""Benchmarks as files: their texts and the schemas of their tools, whatever their form. Nothing in them is trusted.

JSON is searched through for texts, and for objects with a name and parameters, also where they are kept as text.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from skillweave.errors import ConfigError
from skillweave.schema.record import Json

MOST_BYTES = 1 << 30
"""Of one file."""
SCHEMAS = ("parameters", "input_schema", "inputSchema", "args")
"""Where an object with a name has the parameters of a tool."""
LONGEST_NAME = 120


class Schema(NamedTuple):
    """A tool, as far as it can be compared."""

    name: str
    parameters: frozenset[str]


Found = str | Schema


def read_benchmark(path: Path) -> Iterator[Found]:
    """The texts and tools of a file, one after the other. Raises ConfigError where it cannot be read to its end."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"{str(path)!r} is none of {', '.join(READERS)}; give a benchmark in one of these forms")
    try:
        if not path.is_file():
            raise ConfigError(f"{str(path)!r} {'is no file' if path.exists() else 'does not exist'}")
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{str(path)!r} has more than {MOST_BYTES >> 20} MB; split it")
        yield from reader(path)
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{str(path)!r} is not UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError, csv.Error) as error:
        # What JSON says of a file may quote all of it.
        raise ConfigError(f"{str(path)!r} cannot be read as {path.suffix[1:]}: {str(error)[:200]}") from error


def _text(path: Path) -> Iterator[Found]:
    with path.open(encoding="utf-8-sig") as stream:
        block: list[str] = []
        for line in stream:
            if line.strip():
                block.append(line)
            elif block:
                yield "".join(block)
                block = []
        if block:
            yield "".join(block)


def _json(path: Path) -> Iterator[Found]:
    yield from within(json.loads(path.read_text("utf-8-sig")))


def _lines(path: Path) -> Iterator[Found]:
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number}: {error}") from error
            yield from within(value)


def _table(path: Path) -> Iterator[Found]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.reader(stream):
            for cell in row:
                yield from within(cell)


READERS: dict[str, Callable[[Path], Iterator[Found]]] = {
    ".jsonl": _lines,
    ".json": _json,
    ".csv": _table,
    ".txt": _text,
    ".md": _text,
}


def within(value: Json) -> Iterator[Found]:
    """The texts and tools in a JSON value, in its order."""
    rest: list[Json] = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            inner = _parsed(one)
            if inner is None:
                yield one
            else:
                rest.append(inner)
        elif isinstance(one, list):
            rest.extend(reversed(one))
        elif isinstance(one, dict):
            schema = _schema(one)
            if schema:
                yield schema
            rest.extend(reversed(list(one.values())))


def _parsed(text: str) -> Json:
    """The objects that a text holds as JSON; None where it is a text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) else None


def _schema(value: dict[str, Json]) -> Schema | None:
    """The tool that an object describes."""
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    for key in SCHEMAS:
        given = value.get(key)
        if isinstance(given, dict):
            properties = given.get("properties", given)
            names = properties if isinstance(properties, dict) else {}
            return Schema(_shown(name), frozenset(_shown(one) for one in names))
    return None


def _shown(name: str) -> str:
    """A name of a file as it may be written and shown."""
    plain = "".join(character if character.isprintable() else "\ufffd" for character in name[:LONGEST_NAME])
    return plain.encode("utf-8", "replace").decode()
