"""The store: one outputs folder, the only way in which artifacts are written.

Every path is relative and stays inside the folder, links are not followed, and every write is atomic: a file is whole
or it is not there.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillweave.errors import ArtifactError, ConfigError

CACHE = ".cache"
"""Where items not yet joined, temporary files, the lock and the journal live."""


class Stamp(NamedTuple):
    """What a file looks like from outside: unchanged stamps are taken for unchanged bytes."""

    size: int
    mtime_ns: int


class Store:
    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folder. Raises ConfigError where it cannot be written to."""
        try:
            (self.root / CACHE / "tmp").mkdir(parents=True, exist_ok=True)
            probe = self.root / CACHE / f"probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ConfigError(
                f"outputs folder {str(self.root)!r} cannot be written: {error.strerror or error}; "
                "give another one with --outputs-dir"
            ) from error

    def clean(self) -> None:
        """Remove temporary files that a killed run left; the caller holds the lock."""
        for left in (self.root / CACHE / "tmp").iterdir():
            left.unlink()

    def path(self, relative: str) -> Path:
        """Where a relative path lies. Raises ArtifactError where it leads out of the folder, or through a link."""
        parts = PurePosixPath(relative).parts
        if not parts or PurePosixPath(relative).is_absolute() or ".." in parts or "\0" in relative:
            raise ArtifactError(f"path {relative!r} does not stay in the outputs folder; paths are relative to it")
        path = self.root
        for part in parts:
            path = path / part
            if path.is_symlink():
                raise ArtifactError(f"path {relative!r} goes through a link at {part!r}; links are refused")
        return path

    def exists(self, relative: str) -> bool:
        """Whether a file is there."""
        return self.path(relative).is_file()

    def read(self, relative: str) -> bytes:
        """The bytes of a file. Raises ArtifactError where there is none."""
        try:
            return self.path(relative).read_bytes()
        except OSError as error:
            raise ArtifactError(f"cannot read {relative!r} in the outputs folder: {error.strerror}") from error

    def write(self, relative: str, content: bytes) -> Stamp:
        """Write a file whole."""
        with self.replacing(relative) as temporary:
            temporary.write_bytes(content)
        return self.stamp(relative)

    @contextmanager
    def replacing(self, relative: str) -> Iterator[Path]:
        """A temporary path that takes the file's place on leaving; on an error it is removed."""
        path = self.path(relative)
        folder = self.root / CACHE / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{os.getpid()}-{threading.get_ident()}-{path.name}"
        temporary.unlink(missing_ok=True)
        try:
            yield temporary
            if not temporary.is_file():
                raise ArtifactError(f"nothing was written for {relative!r}")
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def remove(self, relative: str) -> None:
        """Remove a file, and the folders that it leaves empty."""
        path = self.path(relative)
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self.root or not folder.is_dir() or any(folder.iterdir()):
                return
            folder.rmdir()

    def stamp(self, relative: str) -> Stamp:
        """The stamp of a file. Raises ArtifactError where there is none."""
        try:
            found = self.path(relative).stat()
        except OSError as error:
            raise ArtifactError(f"{relative!r} is not in the outputs folder: {error.strerror}") from error
        return Stamp(found.st_size, found.st_mtime_ns)
