"""The progress of long work: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY_S = 10.0
"""Seconds between two plain lines."""


class ProgressDisplay(Protocol):
    """Shows progress."""

    def advance(self, done: int, note: str) -> None:
        """Show that `done` items are done in all; `note` is a few words about them."""


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Show the progress of a piece of work, in the form that fits standard output.

    Args:
        what: The work in a few words, shown on a terminal.
        total: Items to be done.
        quiet: Show nothing.
    """
    if quiet or not sys.stdout.isatty():
        yield _PlainLines(total, quiet)
        return
    # rich takes a tenth of a second to import, and only a terminal needs it.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what, markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns) as display:
        yield _LiveLine(display, display.add_task("run", total=total, note=""))


class _PlainLines:
    """A line every `EVERY_S` seconds."""

    def __init__(self, total: int, quiet: bool) -> None:
        self._total = total
        self._quiet = quiet
        self._next = time.monotonic() + EVERY_S

    def advance(self, done: int, note: str) -> None:
        now = time.monotonic()
        if not self._quiet and now >= self._next:
            self._next = now + EVERY_S
            print(f"{done} of {self._total} done, {note}", flush=True)


class _LiveLine:
    """A progress bar of rich."""

    def __init__(self, display: "Progress", row: "TaskID") -> None:
        self._display = display
        self._row = row

    def advance(self, done: int, note: str) -> None:
        self._display.update(self._row, completed=done, note=note)
