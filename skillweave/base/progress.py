"""How far a long work is: a live line on a terminal, plain lines elsewhere."""

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
    def advance(self, done: int, note: str) -> None:
        """So many are done in all; `note` says what there is to say of them."""


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """The display that standard output is fit for."""
    if quiet or not sys.stdout.isatty():
        yield _PlainLines(total, quiet)
        return
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
    with Progress(*columns) as shown:
        yield _LiveLine(shown, shown.add_task("run", total=total, note=""))


class _PlainLines:
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
    def __init__(self, shown: "Progress", row: "TaskID") -> None:
        self._shown = shown
        self._row = row

    def advance(self, done: int, note: str) -> None:
        self._shown.update(self._row, completed=done, note=note)
