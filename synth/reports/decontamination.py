"""Decontamination: compare a dataset with benchmark files by runs of words, people, and tools.

The readers accept several file formats and trust nothing in the files.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from skillweave.base.errors import ConfigError
from skillweave.base.text import UnreadableTextError, skip_mark
from skillweave.schema.record import Json
from skillweave.schema.reports import BenchmarkFile, BenchmarkLeak, Decontamination, SimilarTool
from skillweave.schema.task import Task
from synth.reports.duplicates import jaccard, text_of, words_of

MOST_BYTES = 1 << 30
"""Limit on the size of one file, in bytes."""
SCHEMAS = ("parameters", "input_schema", "inputSchema", "args")
"""Fields in which the JSON definition of a tool holds its parameters."""
LONGEST_NAME = 120


class BenchmarkTool(NamedTuple):
    """The name and parameters of a tool, for comparison."""

    name: str
    parameters: frozenset[str]


BenchmarkItem = str | BenchmarkTool


def read_benchmark(path: Path) -> Iterator[BenchmarkItem]:
    """Yield the texts and tools of a file. Raises ConfigError if the file cannot be read to its end."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"{str(path)!r} is none of {', '.join(READERS)}; give a benchmark in one of these forms")
    try:
        if not path.is_file():
            raise ConfigError(f"{str(path)!r} {'is no file' if path.exists() else 'does not exist'}")
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"{str(path)!r} has more than {MOST_BYTES >> 20} MB; split it")
        with path.open("rb") as stream:
            skip_mark(stream)
        yield from reader(path)
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, UnreadableTextError) as error:
        reason = f"byte {error.start} is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise ConfigError(f"{str(path)!r} cannot be read: {reason}") from error
    except (ValueError, RecursionError, csv.Error) as error:
        # The error of a JSON parser may quote the whole file.
        raise ConfigError(f"{str(path)!r} cannot be read as {path.suffix[1:]}: {str(error)[:200]}") from error


def _text(path: Path) -> Iterator[BenchmarkItem]:
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


def _json(path: Path) -> Iterator[BenchmarkItem]:
    yield from within(json.loads(path.read_text("utf-8-sig")))


def _lines(path: Path) -> Iterator[BenchmarkItem]:
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number}: {error}") from error
            yield from within(value)


def _table(path: Path) -> Iterator[BenchmarkItem]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.reader(stream):
            for cell in row:
                yield from within(cell)


READERS: dict[str, Callable[[Path], Iterator[BenchmarkItem]]] = {
    ".jsonl": _lines,
    ".json": _json,
    ".csv": _table,
    ".txt": _text,
    ".md": _text,
}


def within(value: Json) -> Iterator[BenchmarkItem]:
    """Yield the texts and tools in a JSON value, in order."""
    rest: list[Json] = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            inner = _parsed(item)
            if inner is None:
                yield item
            else:
                rest.append(inner)
        elif isinstance(item, list):
            rest.extend(reversed(item))
        elif isinstance(item, dict):
            schema = _schema(item)
            if schema:
                yield schema
            rest.extend(reversed(list(item.values())))


def _parsed(text: str) -> Json:
    """The JSON object or array that a text holds; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        parsed: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, (dict, list)) else None


def _schema(value: dict[str, Json]) -> BenchmarkTool | None:
    """The tool that an object describes; None if it describes no tool."""
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    for key in SCHEMAS:
        declared = value.get(key)
        if isinstance(declared, dict):
            properties = declared.get("properties", declared)
            names = properties if isinstance(properties, dict) else {}
            return BenchmarkTool(_shown(name), frozenset(_shown(parameter) for parameter in names))
    return None


def _shown(name: str) -> str:
    """A name from a file, safe to write and print."""
    plain = "".join(character if character.isprintable() else "\ufffd" for character in name[:LONGEST_NAME])
    return plain.encode("utf-8", "replace").decode()


RUNS = (8, 13)
"""Lengths of the runs of words to look for, as other decontamination tools use them."""
SHOWN = 20
"""Most leaks and pairs of tools to report."""
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass
class BenchmarkComparison:
    """Compares benchmarks with the tasks and tools of a dataset, one text at a time."""

    tasks: Sequence[Task]
    tools: Mapping[str, BenchmarkTool]
    """`DentalClinic/move_appointment` -> the tool."""
    _files: dict[str, BenchmarkFile] = field(default_factory=dict)
    _leaks: dict[tuple[str, int], BenchmarkLeak] = field(default_factory=dict)
    _people: set[str] = field(default_factory=set)
    _emails: set[str] = field(default_factory=set)
    _twins: dict[str, SimilarTool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._runs: dict[int, dict[str, list[str]]] = {length: {} for length in RUNS}
        self._names: dict[int, dict[str, str]] = {}
        self._known_emails: set[str] = set()
        for task in self.tasks:
            for length in RUNS:
                for run in {*runs(words_of(text_of(task)), length), *runs(words_of(task.scenario.goal), length)}:
                    self._runs[length].setdefault(run, []).append(task.id)
            words = words_of(task.persona.name)
            if len(words) > 1:
                self._names.setdefault(len(words), {})[" ".join(words)] = task.persona.name
            self._known_emails.update(_emails(_told(task)))
        self._words = {name: parts_of(schema) for name, schema in self.tools.items()}

    def add(self, file: str, items: Iterable[BenchmarkItem]) -> None:
        """Compare all items of a file."""
        texts = tools = 0
        for item in items:
            if isinstance(item, BenchmarkTool):
                tools += 1
                self._tool(item)
            else:
                texts += 1
                self._text(file, item)
        self._files[file] = BenchmarkFile(texts=texts, tools=tools)

    def result(self) -> Decontamination:
        """The result for all files so far."""
        longest = {id: leak for length in RUNS for (id, n), leak in sorted(self._leaks.items()) if n == length}
        return Decontamination(
            tasks=len(self.tasks),
            files=self._files,
            shared={str(length): len({id for id, n in self._leaks if n == length}) for length in RUNS},
            leaks=[longest[id] for id in sorted(longest, key=lambda id: (-len(longest[id].words.split()), id))][:SHOWN],
            people=sorted(self._people),
            emails=sorted(self._emails),
            twins=sorted(self._twins.values(), key=lambda twin: (-twin.similarity, twin.tool, twin.other))[:SHOWN],
        )

    def _text(self, file: str, text: str) -> None:
        words = words_of(text)
        for length, known in self._runs.items():
            for run in runs(words, length):
                for id in known.get(run, ()):
                    self._leaks.setdefault((id, length), BenchmarkLeak(task=id, file=file, words=run))
        for length, names in self._names.items():
            self._people.update(names[run] for run in runs(words, length) if run in names)
        self._emails.update(_emails([text]) & self._known_emails)

    def _tool(self, schema: BenchmarkTool) -> None:
        parts = parts_of(schema)
        for name, own in self._words.items():
            similarity = round(jaccard(own, parts), 4)
            if similarity > (self._twins[name].similarity if name in self._twins else 0):
                self._twins[name] = SimilarTool(tool=name, other=schema.name, similarity=similarity)


def runs(words: Sequence[str], length: int) -> Iterator[str]:
    """The runs of `length` words."""
    for start in range(len(words) - length + 1):
        yield " ".join(words[start : start + length])


def parts_of(schema: BenchmarkTool) -> frozenset[str]:
    """The words of a tool's name and of its parameters' names, normalised."""
    names = ("_".join(_PART.findall(name)).casefold() or name.casefold() for name in schema.parameters)
    words = (part.casefold() for part in _PART.findall(schema.name))
    return frozenset((*words, *(f"({name})" for name in names)))


def _told(task: Task) -> Iterator[str]:
    arguments = (value for call in task.golden for value in call.arguments.values())
    facts = (fact.value for fact in task.scenario.facts)
    return (value for value in chain([text_of(task)], arguments, facts) if isinstance(value, str))


def _emails(texts: Iterable[str]) -> set[str]:
    return {address.casefold() for text in texts if "@" in text for address in _EMAIL.findall(text)}
