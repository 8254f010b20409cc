"""What all commands share: errors become one line and an exit status, and an interrupt ends the process at once.

An interrupt loses nothing: writes are atomic, the system releases the lock, and every child process ends with its
parent.
"""

import atexit
import io
import os
import signal
import sys
import unicodedata
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from skillweave.base.errors import ArtifactError, ConfigError, SkillweaveError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"


def end_on_signals() -> None:
    """To be called before anything that takes time, imports too."""
    for number in SIGNALS:
        signal.signal(number, end_now)
    atexit.register(_ignore)


def end_now(number: int, frame: FrameType | None) -> None:
    """A signal handler. Exceptions would not do: they surface in whatever code is running, and are told by it."""
    try:
        if os.isatty(1):
            os.write(1, _SHOW_CURSOR)
        os.write(2, b"interrupted; what is written is kept, and the same command goes on from there\n")
    finally:
        os._exit(130)


def _ignore() -> None:
    """When all is done and told, Python would put the system's handlers back while it takes itself down."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Handed on to the processes that multiprocessing starts: what an interrupted run leaves behind it cleans unasked."""


def run_command(program: Callable[[], object]) -> None:
    """Run a program. Ends the process: 0 done, 1 work failed, 2 wrong usage or configuration, 130 interrupted."""
    _make_quiet()
    try:
        try:
            program()
        finally:
            sys.stdout.flush()
    except ConfigError as error:
        _complain(str(error), 2)
    except ArtifactError as error:
        # What the system refused, a full disk say, is no wrong usage.
        _complain(str(error), 1 if isinstance(error.__cause__, OSError) else 2)
    except SkillweaveError as error:
        _complain(str(error), 1)
    except OSError as error:
        _silence_output()
        where = f" {error.filename!r}" if error.filename else ""
        _complain(f"the system refused to go on: {error.strerror or error}{where}", 1)
    except KeyboardInterrupt:
        sys.exit(130)


def one_line(text: str) -> str:
    """The text on one line, with nothing in it that a terminal obeys: errors quote what others wrote."""
    words = " ".join(text.split())
    return "".join(_escaped(character) if not character.isprintable() else character for character in words)


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 item`, `3 items`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _escaped(character: str) -> str:
    is_harmless = unicodedata.category(character) in ("Zs", "Co", "Cn")
    return character if is_harmless else character.encode("unicode_escape").decode("ascii")


def _make_quiet() -> None:
    """Warnings of libraries are not the user's to act on, nor are they errors; a closed output is an empty one."""
    if sys.warnoptions not in ([], [_QUIET]):
        warnings.simplefilter("ignore")
        os.environ.pop("PYTHONWARNINGS", None)
    sys.warnoptions[:] = [_QUIET]
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal's encoding has no sign for is spelled out.
            stream.reconfigure(errors="backslashreplace")


def _silence_output() -> None:
    """What is still to be written to a full or closed standard output goes nowhere, so that its end is quiet."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, status: int) -> None:
    with suppress(OSError):
        print(f"error: {one_line(message)}", file=sys.stderr, flush=True)
    sys.exit(status)
