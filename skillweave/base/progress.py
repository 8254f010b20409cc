"""Progress of commands: what a terminal or a log shows while work goes on, and notes on how far a piece of it is."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

R = TypeVar("R")
T = TypeVar("T")

EVERY_S = 10.0
"""Seconds between two plain lines."""
LOOK_EVERY_S = 0.5
"""Seconds between two looks at what work waits for, on a terminal."""


class ProgressDisplay(Protocol):
    """Shows progress."""

    def advance(self, done: int, note: str) -> None:
        """Show that `done` items are done in all; `note` is a few words about them."""


_WAITS: dict[str, tuple[int, str, float]] = {}
"""Name of what is waited for -> who waits for it, in a few words what it is, and until when at most."""
_WAITS_LOCK = threading.Lock()


@contextmanager
def waiting_for(name: str, what: str, until: float) -> Iterator[None]:
    """Have displays say that work waits, for what and for how long at most.

    Args:
        name: Equal where the same is waited for.
        what: What it is.
        until: By the monotonic clock.
    """
    with _WAITS_LOCK:
        _WAITS[name] = (_WAITS.get(name, (0, "", 0.0))[0] + 1, what, until)
    try:
        yield
    finally:
        with _WAITS_LOCK:
            count, *_ = _WAITS.pop(name)
            if count > 1:
                _WAITS[name] = (count - 1, what, until)


def waits() -> str:
    """What work of this process waits for; empty if it waits for nothing."""
    with _WAITS_LOCK:
        found = sorted((what, until) for _, what, until in _WAITS.values())
    now = time.monotonic()
    return "; ".join(f"waits for {what}, at most {in_words(max(0.0, until - now))}" for what, until in found)


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Show the progress of a piece of work, in the form that fits standard output.

    Args:
        what: What the items are, in a word or two.
        total: Items to be done.
        quiet: Show nothing.
    """
    if quiet or not sys.stdout.isatty():
        lines = _PlainLines(total)
        if not quiet and total:
            print(f"{total} {what} to do", flush=True)
        with every(EVERY_S, lines.show) if not quiet and total else nullcontext():
            yield lines
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
        line = _LiveLine(display, display.add_task("run", total=total, note=""))
        with every(LOOK_EVERY_S, line.show):
            yield line


class _PlainLines:
    """A line every `EVERY_S` seconds, also if nothing was done meanwhile."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._begun = time.monotonic()
        self._done, self._note = 0, ""

    def advance(self, done: int, note: str) -> None:
        self._done, self._note = done, note

    def show(self) -> None:
        """Print how far it is, and from the pace so far how long it will take."""
        parts = [f"{self._done} of {self._total} done"]
        parts += [self._note] if self._note else []
        if waiting := waits():
            parts.append(waiting)
        elif self._done:
            pace = (time.monotonic() - self._begun) / self._done
            parts.append(time_left(pace * (self._total - self._done)))
        print(", ".join(parts), flush=True)


@contextmanager
def every(seconds: float, show: Callable[[], None]) -> Iterator[None]:
    """Call a function every so many seconds, in a thread, while the context is open."""
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(seconds):
            show()

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def time_left(seconds: float) -> str:
    """An estimate in words, no more exact than estimates are: `about 2 min left`."""
    return "less than a minute left" if seconds < 50 else f"about {in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """A time, no more exact than estimates are: `30 s`, `2 min`, `3 h`."""
    if seconds < 50:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60) if seconds < 900 else 5 * round(seconds / 300)
    return f"{max(1, minutes)} min" if minutes < 120 else f"{round(seconds / 3600)} h"


class _LiveLine:
    """A progress bar of rich."""

    def __init__(self, display: "Progress", row: "TaskID") -> None:
        self._display = display
        self._row = row
        self._note = ""

    def advance(self, done: int, note: str) -> None:
        self._note = note
        self._display.update(self._row, completed=done)
        self.show()

    def show(self) -> None:
        """Show the note, and what the work waits for."""
        self._display.update(self._row, note=", ".join(filter(None, (self._note, waits()))))


NOTE = ".note"
"""What the names of notes' files end with."""
NOTE_EVERY_S = 1.0
"""Seconds between two notes of one piece of work."""


class WorkNote(NamedTuple):
    """How far a piece of work is."""

    begun: float
    """Seconds since the epoch."""
    what: str = ""
    """What is being done, in a few words; empty before anybody said."""
    done: int = 0
    of: int = 0
    """How much there is to do; 0: not known."""

    @property
    def words(self) -> str:
        """`12 of 40 templates, 35 s`; `35 s`."""
        what = f"{self.done} of {self.of} {self.what}, " if self.of else f"{self.what}, " if self.what else ""
        return f"{what}{time.time() - self.begun:.0f} s"


_NOTES: ContextVar[tuple[Path, float] | None] = ContextVar("notes", default=None)
"""The file for notes on the work that goes on, and when that began. Each process writes when it has something to say,
and the command's display reads: so the work may go on anywhere that shares the folder."""
_next_note = 0.0


@contextmanager
def noting(path: Path | None, begun: float | None = None) -> Iterator[None]:
    """Have `tell_progress` write to a file. Who begins the work removes it at the end."""
    if path is None:
        yield
        return
    token = _NOTES.set((path, begun or time.time()))
    try:
        if begun is None:
            _write_note(WorkNote(time.time()))
        yield
    finally:
        _NOTES.reset(token)
        if begun is None:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def with_notes(function: Callable[..., R], *arguments: object) -> Callable[[], R]:
    """The call of a function in another thread or process, whose notes are those of the work that goes on here."""
    return partial(_noted, _NOTES.get() or (None, None), function, *arguments)


def _noted(notes: tuple[Path | None, float | None], function: Callable[..., R], *arguments: object) -> R:
    with noting(*notes):
        return function(*arguments)


def tell_progress(done: int, of: int, what: str) -> None:
    """Say how far the work is that goes on, for whoever waits for it; nothing else depends on it.

    Args:
        done: How much is done.
        of: How much there is; 0 if nobody knows.
        what: What is counted, or what is being done.
    """
    global _next_note
    notes, now = _NOTES.get(), time.monotonic()
    if notes is not None and now >= _next_note:
        _next_note = now + NOTE_EVERY_S
        _write_note(WorkNote(notes[1], what, done, of))


def told(items: Sequence[T], what: str) -> Iterator[T]:
    """The items, with a word on how many are done before each; `what` says what they are."""
    for number, item in enumerate(items):
        tell_progress(number, len(items), what)
        yield item


def _write_note(note: WorkNote) -> None:
    notes = _NOTES.get()
    if notes is None:
        return
    temporary = notes[0].with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    with suppress(OSError):
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(note), "utf-8")
        temporary.replace(notes[0])


def read_notes(folder: Path) -> dict[str, WorkNote]:
    """The notes on all work that goes on, by the names of their files; the work that began first comes first."""
    notes: dict[str, WorkNote] = {}
    for path in folder.glob(f"*{NOTE}"):
        # A note may be removed, or half written by another machine, while it is read.
        with suppress(OSError, ValueError, TypeError):
            notes[path.name.removesuffix(NOTE)] = WorkNote(*json.loads(path.read_text("utf-8")))
    return dict(sorted(notes.items(), key=lambda item: (item[1].begun, item[0])))
