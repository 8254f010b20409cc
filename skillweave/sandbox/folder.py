"""The fresh folder that generated code runs in, and the limits that hold for it."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Self

from skillweave.base.errors import ConfigError
from skillweave.config.sections import SandboxConfig, Strength

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class SandboxLimits:
    """What a run may use at most, and how strongly it must be confined. The defaults are those of the configuration."""

    minimum: Strength = "limits"
    """The weakest confinement allowed; on a machine that offers less, the code is not started."""
    seconds: float = 120.0
    """Seconds of wall time."""
    cpu_seconds: int = 60
    memory_bytes: int = 1024 * MEGABYTE
    """Bytes of address space, and of memory in use."""
    threads: int = 32
    """Threads at once, the first one included. The code can start no processes."""
    file_bytes: int = 64 * MEGABYTE
    """Bytes of the largest file that may be written."""
    disk_bytes: int = 256 * MEGABYTE
    """Bytes of all files in the folder. Checked at intervals, so the code may pass it for a moment."""
    files: int = 2000
    """Files and folders in the folder."""
    open_files: int = 128
    output_bytes: int = 64 * MEGABYTE
    """Bytes of stdout and stderr together."""

    @classmethod
    def of(cls, config: SandboxConfig) -> Self:
        """The limits that a configuration sets."""
        return cls(
            minimum=config.minimum,
            seconds=config.wall_s,
            cpu_seconds=config.cpu_s,
            memory_bytes=config.memory_mb * MEGABYTE,
            threads=config.processes,
            file_bytes=config.file_mb * MEGABYTE,
            disk_bytes=config.disk_mb * MEGABYTE,
            files=config.files,
            output_bytes=config.output_mb * MEGABYTE,
        )

    def of_kernel(self) -> dict[str, tuple[int, int]]:
        """What the kernel enforces: name of the resource -> soft and hard limit."""
        return {
            "RLIMIT_AS": (self.memory_bytes, self.memory_bytes),
            # The soft limit sends a signal that says what happened; one second later the hard limit kills.
            "RLIMIT_CPU": (self.cpu_seconds, self.cpu_seconds + 1),
            "RLIMIT_FSIZE": (self.file_bytes, self.file_bytes),
            "RLIMIT_NOFILE": (self.open_files, self.open_files),
            "RLIMIT_CORE": (0, 0),
        }

    def of_watch(self) -> dict[str, int]:
        """What the kernel does not limit and the launcher watches: name -> bound."""
        return {"threads": self.threads, "memory": self.memory_bytes, "disk": self.disk_bytes}

    def passed(self, word: str) -> str:
        """What the code did, in words. `word` is the bound of `of_watch` that it passed."""
        return {
            "threads": f"it started more than {self.threads} threads",
            "memory": f"it used more than {self.memory_bytes} bytes of memory",
            "disk": f"it wrote more than {self.disk_bytes} bytes to files that it deleted but kept open",
        }[word]


Files = Mapping[str, str | bytes]
"""Relative path -> content."""


def place(folder: Path, files: Files) -> None:
    """Write files into the folder. Raises ConfigError if a path leads out of it."""
    for name, content in sorted(files.items()):
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ConfigError(f"sandbox file {name!r} is outside of its folder; give a relative path without '..'")
        path = folder / parts
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


class Contents(NamedTuple):
    """What is in a folder."""

    entries: list[os.DirEntry[str]]
    """Everything beneath the folder; links are not followed."""
    hidden: bool
    """Whether it has folders that cannot be listed: locked, or too deep for a path."""


def contents(folder: Path, most: int) -> Contents:
    """List the folder, up to one entry more than `most`. Entries that disappear meanwhile are left out."""
    entries: list[os.DirEntry[str]] = []
    hidden = False
    folders = [str(folder)]
    while folders and len(entries) <= most:
        try:
            with os.scandir(folders.pop()) as listing:
                for entry in islice(listing, most + 1 - len(entries)):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    entries.append(entry)
        except FileNotFoundError:
            continue
        except OSError:
            hidden = True
    return Contents(entries, hidden)


def excess(folder: Path, limits: SandboxLimits) -> str | None:
    """How the folder exceeds the limits, in words; None if it does not."""
    entries, hidden = contents(folder, limits.files)
    if hidden:
        return "it made folders that cannot be looked into"
    if len(entries) > limits.files:
        return f"it made more than {limits.files} files"
    size = 0
    for entry in entries:
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_size
    return f"it wrote more than {limits.disk_bytes} bytes to files" if size > limits.disk_bytes else None


def written(folder: Path, given: Files, limits: SandboxLimits) -> dict[str, bytes]:
    """Read the files that the code made or changed.

    Args:
        folder: The folder.
        given: The files that were put into it.
        limits: No more files and bytes are read than they allow.

    Returns:
        Path -> content of regular files. Left out are files with several hard links and files whose path has
        characters that cannot be printed.
    """
    before = {name: text.encode() if isinstance(text, str) else text for name, text in given.items()}
    files: dict[str, bytes] = {}
    left = limits.disk_bytes
    for entry in sorted(contents(folder, limits.files).entries, key=lambda entry: entry.path)[: limits.files]:
        name = Path(entry.path).relative_to(folder).as_posix()
        content = _content(entry.path, left) if name.isprintable() else None
        if content is not None and before.get(name) != content:
            files[name] = content
            left -= len(content)
    return files


def _content(path: str, most: int) -> bytes | None:
    """The content of a regular file with one hard link and at most `most` bytes; None for anything else.

    The check is on the opened file, since another could take its name meanwhile.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or about.st_size > most:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(about.st_size)


def delete(folder: Path) -> None:
    """Delete the folder, however deep it is and whatever permissions are missing. The code must have ended."""
    rubbish = Path(tempfile.mkdtemp(prefix="skillweave-", dir=folder.parent))
    folder.chmod(0o700)
    folder.rename(rubbish / "0")
    waiting, count = ["0"], 1
    while waiting:
        top = rubbish / waiting.pop()
        with os.scandir(top) as listing:
            for entry in list(listing):
                path = Path(entry.path)
                if not entry.is_dir(follow_symlinks=False):
                    path.unlink()
                    continue
                path.chmod(0o700)
                # Moved to the top, so that no path gets too long.
                path.rename(rubbish / str(count))
                waiting.append(str(count))
                count += 1
        top.rmdir()
    rubbish.rmdir()
