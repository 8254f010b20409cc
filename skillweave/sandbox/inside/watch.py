"""What the code uses and the kernel does not limit; the launcher reads it from /proc.

Limits on processes do not apply to the superuser, limits on memory apply to each process alone, and a file that is
deleted while it is open fills the disk without being in the folder.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OWN_MEMORY = 64 * 1024 * 1024
"""Bytes that the trusted processes around the code may use in addition."""

File = tuple[int, int]
"""Device and inode number of a file."""


class ResourceUsage(NamedTuple):
    """What a process and its descendants use."""

    threads: int
    """Threads of all processes."""
    memory: int
    """Bytes in use, page tables included."""
    disk: int
    """Bytes of files that are open and have been deleted."""


def regular_files(descriptors: tuple[int, ...]) -> frozenset[File]:
    """The regular files among open descriptors."""
    found = [os.fstat(descriptor) for descriptor in descriptors]
    return frozenset((file.st_dev, file.st_ino) for file in found if stat.S_ISREG(file.st_mode))


def passed(pid: int, bounds: dict[str, int], trusted: int, given: frozenset[File]) -> str | None:
    """The first bound that a process and its descendants pass; None if they keep all.

    Args:
        pid: The process.
        bounds: `threads`, `memory` and `disk` -> the most allowed.
        trusted: How many of these processes confine the code and are not the code.
        given: Open files that the code was started with; they do not count.
    """
    used = usage(pid, given)
    if used.threads - trusted > bounds["threads"]:
        return "threads"
    if used.memory - OWN_MEMORY * bool(trusted) > bounds["memory"]:
        return "memory"
    return "disk" if used.disk > bounds["disk"] else None


def usage(pid: int, given: frozenset[File]) -> ResourceUsage:
    """What a process and its descendants use; zero if there is no /proc."""
    threads = memory = 0
    unnamed: dict[File, int] = {}
    for process in _family(pid):
        lines = dict(_fields(process))
        threads += lines.get("Threads", 0)
        memory += 1024 * (lines.get("VmRSS", 0) + lines.get("VmPTE", 0))
        unnamed |= _unnamed(process)
    return ResourceUsage(threads, memory, sum(size for file, size in unnamed.items() if file not in given))


def _family(pid: int) -> Iterator[int]:
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        yield process
        # A process that has ended meanwhile uses nothing.
        with contextlib.suppress(OSError):
            waiting += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())


def _fields(process: int) -> Iterator[tuple[str, int]]:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("Threads", "VmRSS", "VmPTE"):
                yield name, int(value.split()[0])


def _unnamed(process: int) -> dict[File, int]:
    found = {}
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                about = descriptor.stat()
                if about.st_nlink == 0 and stat.S_ISREG(about.st_mode):
                    found[about.st_dev, about.st_ino] = about.st_blocks * 512
    return found
