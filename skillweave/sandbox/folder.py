"""The folder of a jail: what is put into it, what is found in it afterwards, how it is deleted.

Everything found in it is hostile: links are not followed, sizes are looked at before contents are read.
"""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

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


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """All files beneath `folder`; what cannot be listed, or goes away, is not there."""
    found: list[os.DirEntry[str]] = []
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as listing:
                for entry in listing:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    found.append(entry)
        except OSError:
            continue
    return found


def excess(folder: Path, limits: Limits) -> str | None:
    """How the folder exceeds the limits, if it does."""
    found = entries(folder)
    if len(found) > limits.files:
        return f"it made more than {limits.files} files"
    size = 0
    for entry in found:
        try:
            size += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return f"it wrote more than {limits.disk_bytes} bytes to files" if size > limits.disk_bytes else None


def written(folder: Path, given: Files, limits: Limits) -> dict[str, bytes]:
    """Regular files that are new or changed, as far as the limits reach."""
    before = {name: text.encode() if isinstance(text, str) else text for name, text in given.items()}
    files: dict[str, bytes] = {}
    left = limits.disk_bytes
    for entry in sorted(entries(folder), key=lambda entry: entry.path)[: limits.files]:
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
    """Delete it although the code may have taken away our own rights in it."""

    def unlock(_: object, path: str, __: object) -> None:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            if os.path.isdir(path) and not os.path.islink(path):
                os.chmod(path, 0o700)
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        except FileNotFoundError:
            # What we want.
            return

    shutil.rmtree(folder, onerror=unlock)
