"""The folder of a jail: what is put into it, what is found in it afterwards, how it is deleted.

Everything found in it is hostile: links are not followed, sizes are looked at before contents are read.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillweave.errors import ConfigError
from skillweave.sandbox.limits import Limits

Files = Mapping[str, str | bytes]


def place(folder: Path, files: Files) -> None:
    """Write `files`, by relative path."""
    for name, content in sorted(files.items()):
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ConfigError(f"sandbox file {name!r} is outside of its folder; give a relative path without '..'")
        path = folder / parts
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


class Contents(NamedTuple):
    entries: list[os.DirEntry[str]]
    """Everything beneath the folder, links not followed."""
    hidden: bool
    """Whether there are folders that cannot be listed: locked, or too deep for a path."""


def contents(folder: Path) -> Contents:
    """What is in the folder; what goes away meanwhile is not."""
    found: list[os.DirEntry[str]] = []
    hidden = False
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as listing:
                for entry in listing:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    found.append(entry)
        except FileNotFoundError:
            continue
        except OSError:
            hidden = True
    return Contents(found, hidden)


def excess(folder: Path, limits: Limits) -> str | None:
    """How the folder exceeds the limits, if it does."""
    found, hidden = contents(folder)
    if hidden:
        return "it made folders that cannot be looked into"
    if len(found) > limits.files:
        return f"it made more than {limits.files} files"
    size = 0
    for entry in found:
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_size
    return f"it wrote more than {limits.disk_bytes} bytes to files" if size > limits.disk_bytes else None


def written(folder: Path, given: Files, limits: Limits) -> dict[str, bytes]:
    """Regular files that are new or changed, as far as the limits reach."""
    before = {name: text.encode() if isinstance(text, str) else text for name, text in given.items()}
    files: dict[str, bytes] = {}
    left = limits.disk_bytes
    for entry in sorted(contents(folder).entries, key=lambda entry: entry.path)[: limits.files]:
        name = Path(entry.path).relative_to(folder).as_posix()
        try:
            about = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or about.st_size > left:
                continue
            content = Path(entry.path).read_bytes()
        except OSError:
            continue
        if before.get(name) != content:
            files[name] = content
            left -= len(content)
    return files


def delete(folder: Path) -> None:
    """Delete it, however deep its tree is and whatever rights are taken away. The code must be dead by now."""
    rubbish = Path(tempfile.mkdtemp(prefix="skillweave-", dir=folder.parent))
    folder.chmod(0o700)
    folder.rename(rubbish / "0")
    waiting, made = ["0"], 1
    while waiting:
        top = rubbish / waiting.pop()
        with os.scandir(top) as listing:
            for entry in list(listing):
                path = Path(entry.path)
                if not entry.is_dir(follow_symlinks=False):
                    path.unlink()
                    continue
                path.chmod(0o700)
                # Lifted up, so that no path gets too long.
                path.rename(rubbish / str(made))
                waiting.append(str(made))
                made += 1
        top.rmdir()
    rubbish.rmdir()
