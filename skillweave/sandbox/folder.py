"""The folder of a jail: put files into it, look at what the code left in it, delete it.

Everything in it is hostile afterwards: links are not followed, and sizes are checked before contents are read.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillweave.base.errors import ConfigError
from skillweave.sandbox.limits import SandboxLimits

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
