"""The display of a run: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rollout.tally import Tally
from skillweave.llm.ledger import Ledger

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY_S = 10.0
"""Seconds between two plain lines."""


class Display(Protocol):
    def started(self) -> None:
        """One more conversation is under way."""

    def ended(self, tally: Tally) -> None:
        """One of them ended; the tally counts it already."""


@contextmanager
def display(total: int, ledger: Ledger) -> Iterator[Display]:
    """The display that standard output is fit for."""
    if not sys.stdout.isatty():
        yield _PlainLines(total, ledger)
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
        TextColumn("conversations"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns) as progress:
        yield _LiveLine(progress, progress.add_task("run", total=total, note=""), ledger)


class _Counting:
    """What both displays tell."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._begun = time.monotonic()
        self._started = 0

    def started(self) -> None:
        self._started += 1

    def _note(self, tally: Tally) -> str:
        spent = self._ledger.total()
        tokens = (spent.input_tokens + spent.output_tokens) / max(time.monotonic() - self._begun, 1e-9)
        parts = [f"{self._started - tally.done} running"]
        if tokens >= 1:
            parts.append(f"{tokens:,.0f} tokens/s")
        if tally.scored:
            parts.append(f"{tally.passed / tally.scored:.1%} passed")
        if tally.errors:
            parts.append(f"{sum(tally.errors.values())} errors")
        return ", ".join(parts)


class _PlainLines(_Counting):
    def __init__(self, total: int, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._total = total
        self._next = EVERY_S

    def ended(self, tally: Tally) -> None:
        passed = time.monotonic() - self._begun
        if passed >= self._next:
            self._next = passed + EVERY_S
            print(f"{tally.done} of {self._total} done, {self._note(tally)}", flush=True)


class _LiveLine(_Counting):
    def __init__(self, progress: "Progress", row: "TaskID", ledger: Ledger) -> None:
        super().__init__(ledger)
        self._progress = progress
        self._row = row

    def ended(self, tally: Tally) -> None:
        self._progress.update(self._row, advance=1, note=self._note(tally))
