"""Rows of examples, made by worker processes and handed back in order: one line of JSON for each example."""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any, NamedTuple

from interop.export.examples import ExampleReader, ExampleSpot, ReaderSettings, characters_of
from interop.export.format import LeftOut, PairExample, TaskExample, TrajectoryExample
from interop.export.registry import format_of
from skillweave.workers import local_processes

BATCH = 16
"""Examples that a worker is given at once."""
BATCHES_AHEAD = 3
"""Batches queued for each worker."""


class StagedExample(NamedTuple):
    """What is kept of an example until its file is written."""

    rows: list[dict[str, Any]]
    left_out: str | None = None
    """Why the format has no place for it."""
    prompt: int = 0
    """Characters of the system prompt and the tools."""
    conversation: int = 0
    """Characters of all messages and of the tools."""

    def line(self) -> bytes:
        """The example as a line of JSON. Raises UnicodeEncodeError for text that UTF-8 cannot hold."""
        return json.dumps(self, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def staged_line(reader: ExampleReader, format: str, spot: ExampleSpot) -> bytes:
    """The line of an example, with its rows or with why it has none."""
    try:
        example = reader.example(spot)
        rows = list(format_of(format).rows(example))
        if not rows:
            raise LeftOut("the format has no row for it")
        return StagedExample(rows, None, *_sizes(example)).line()
    except LeftOut as error:
        return StagedExample([], str(error)).line()
    except UnicodeEncodeError:
        return StagedExample([], "its text is not Unicode").line()


def _sizes(example: TaskExample | TrajectoryExample | PairExample) -> tuple[int, int]:
    of = example if isinstance(example, TaskExample) else example.of
    tools = len(json.dumps(of.tools, ensure_ascii=False))
    messages = of.prompt
    if isinstance(example, TrajectoryExample):
        messages = example.messages
    elif isinstance(example, PairExample):
        messages = example.passing.messages
    system = [message for message in messages if message.role == "system"]
    return tools + characters_of(system), tools + characters_of(messages)


_reader = cache(ExampleReader)
"""One for each process: opening worlds takes time."""


def _staged(settings: ReaderSettings, format: str, spots: Sequence[ExampleSpot]) -> list[bytes]:
    """Called in a worker."""
    return [staged_line(_reader(settings), format, spot) for spot in spots]


def staged_lines(
    settings: ReaderSettings, format: str, spots: Sequence[ExampleSpot], workers: int
) -> Iterator[list[bytes]]:
    """The lines of examples, in their order, a batch at a time.

    Args:
        settings: What every process needs.
        format: Name of the format.
        spots: The examples.
        workers: Processes; with 1, this one does it.
    """
    batches = deque(spots[start : start + BATCH] for start in range(0, len(spots), BATCH))
    most = min(workers, len(batches))
    if most <= 1:
        reader = ExampleReader(settings)
        for batch in batches:
            yield [staged_line(reader, format, spot) for spot in batch]
        return
    under_way: deque[Future[list[bytes]]] = deque()
    with local_processes(most) as pool:
        while batches or under_way:
            while batches and len(under_way) < most * BATCHES_AHEAD:
                under_way.append(pool.submit(_staged, settings, format, batches.popleft()))
            yield under_way.popleft().result()
