"""Waiting for other processes: what is awaited happens, or it hangs; how soon decides nothing."""

import os
import time
from collections.abc import Callable
from pathlib import Path

HANG = 600.0
"""Seconds after which something hangs, on the slowest machine."""


def wait_until(holds: Callable[[], object], otherwise: str = "it does not happen") -> None:
    """Return as soon as it holds. Raises AssertionError where it hangs."""
    end = time.monotonic() + HANG
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_of(mark: str, session: int | None = None) -> list[int]:
    """Living processes, but ours, whose command line holds a mark, or that are of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or int(entry.name) == os.getpid() or not is_running(int(entry.name)):
                continue
            in_session = session == int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            if in_session or mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
