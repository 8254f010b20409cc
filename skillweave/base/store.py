"""The store: one outputs folder,
the only way in which artifacts are written; and the lock that keeps a second run out.

Every path is relative and stays inside the folder, links are not followed, and every write is atomic: a file is whole
or it is not there. The kernel holds the lock for the life of the process, so a lock cannot be stale; the pid in the
lock file is only for people.
"""

import fcntl
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillweave.base.errors import ArtifactError, ConfigError

CACHE = ".cache"
"""Where items not yet joined, temporary files, the lock and the journal live."""
TEMPORARY = f"{CACHE}/tmp"
OWN = (CACHE, TEMPORARY, ".prefect", "logs")
"""Folders that a run writes to beside its artifacts."""


class Stamp(NamedTuple):
    """What a file looks like from outside: unchanged stamps are taken for unchanged bytes."""

    size: int
    mtime_ns: int


class Store:
    def __init__(self, root: Path, kind: str = "outputs", *, option: str | None = None) -> None:
        """`kind` is what the folder is called in errors; `option` names it, `--<kind>-dir` where nothing is said."""
        self.root = root
        self.kind = kind
        self.option = option or f"--{kind}-dir"

    def prepare(self) -> None:
        """Make the folder. Raises ConfigError where it cannot be written to, or where links lead out of it."""
        try:
            for folder in OWN:
                self._refuse_links(folder)
            (self.root / TEMPORARY).mkdir(parents=True, exist_ok=True)
            probe = self.root / TEMPORARY / f"probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ConfigError(
                f"{self.kind} folder {str(self.root)!r} cannot be written: {error.strerror or error}; "
                f"give another one with {self.option}"
            ) from error

    def refuse_other_than_folder(self) -> None:
        """Raise ConfigError where something else than a folder is in its place."""
        if self.root.exists() and not self.root.is_dir():
            raise ConfigError(
                f"{self.kind} folder {str(self.root)!r} is no folder; give another one with {self.option}"
            )

    def clean(self) -> None:
        """Remove temporary files that a killed run left; the caller holds the lock."""
        with self._told("clean", TEMPORARY):
            for left in (self.root / TEMPORARY).iterdir():
                if left.name == str(os.getpid()):
                    # The temporary folder of this very process, which ran here before.
                    continue
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left)
                else:
                    left.unlink()

    def path(self, relative: str) -> Path:
        """Where a relative path lies. Raises ArtifactError where it leads out of the folder, or through a link."""
        parts = PurePosixPath(relative).parts
        if not parts or PurePosixPath(relative).is_absolute() or ".." in parts or "\0" in relative:
            raise ArtifactError(f"path {relative!r} does not stay in the {self.kind} folder; paths are relative to it")
        path = self.root
        for part in parts:
            path = path / part
            with self._told("look at", relative):
                if path.is_symlink():
                    raise ArtifactError(f"path {relative!r} goes through a link at {part!r}; links are refused")
        return path

    def file(self, relative: str) -> Path:
        """The path of a file that can be read to its end. Raises ArtifactError for anything else, a pipe too."""
        path = self.path(relative)
        with self._told("read", relative):
            mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ArtifactError(f"{relative!r} in the {self.kind} folder is not a file; remove it, and run again")
        return path

    def exists(self, relative: str) -> bool:
        """Whether a file is there."""
        path = self.path(relative)
        with self._told("look at", relative):
            return path.is_file()

    def read(self, relative: str) -> bytes:
        """The bytes of a file. Raises ArtifactError where there is none."""
        path = self.file(relative)
        with self._told("read", relative):
            return path.read_bytes()

    def write(self, relative: str, content: bytes) -> Stamp:
        """Write a file whole. Raises ArtifactError where that cannot be done."""
        with self.replacing(relative) as temporary:
            temporary.write_bytes(content)
        return self.stamp(relative)

    @contextmanager
    def replacing(self, relative: str) -> Iterator[Path]:
        """A temporary path that takes the file's place on leaving; on an error it is removed."""
        path = self.path(relative)
        folder = self.root / TEMPORARY
        temporary = folder / f"{os.getpid()}-{threading.get_ident()}-{path.name}"
        with self._told("write", relative):
            folder.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)
            try:
                yield temporary
                if not temporary.is_file():
                    raise ArtifactError(f"nothing was written for {relative!r}")
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def append(self, relative: str, line: bytes) -> None:
        """Add a line, which is whole among processes too; a torn last line is ended first."""
        path = self.path(relative)
        with self._told("write", relative):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                owed = (b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b"") + line
                # One write of an appending descriptor is whole; only a full disk makes it take less.
                while owed:
                    owed = owed[os.write(descriptor, owed) :]
            finally:
                os.close(descriptor)

    def remove(self, relative: str) -> None:
        """Remove a file, and the folders that it leaves empty."""
        path = self.path(relative)
        with self._told("remove", relative):
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self.root or not folder.is_dir() or any(folder.iterdir()):
                    return
                folder.rmdir()

    def stamp(self, relative: str) -> Stamp:
        """The stamp of a file. Raises ArtifactError where there is none."""
        path = self.path(relative)
        with self._told("look at", relative):
            found = path.stat()
        return Stamp(found.st_size, found.st_mtime_ns)

    def _refuse_links(self, folder: str) -> None:
        """A link in our own folders would have us write somewhere else."""
        path = self.root / folder
        for found in (path, *(path.iterdir() if path.is_dir() and folder != TEMPORARY else ())):
            if found.is_symlink():
                raise ConfigError(f"{str(found)!r} is a link, and a run writes there; remove it")
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{str(path)!r} is not a folder, and a run needs one there; remove it")

    @contextmanager
    def _told(self, doing: str, relative: str) -> Iterator[None]:
        """What the system refuses is an ArtifactError that names the path."""
        try:
            yield
        except OSError as error:
            raise ArtifactError(
                f"cannot {doing} {relative!r} in {self.kind} folder {str(self.root)!r}: {error.strerror or error}"
            ) from error


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Hold the lock. Raises ConfigError, naming the pid, where another process holds it."""
    path = store.root / CACHE / "lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise ConfigError(f"cannot lock {str(path)!r}: {error.strerror}; remove what is there") from error
    try:
        _take(descriptor, store, path)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, store: Store, path: Path) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise ConfigError(f"cannot lock {str(path)!r}: it is not a file of its own; remove it")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
        raise ConfigError(
            f"{store.kind} folder {str(store.root)!r} is in use by process {holder}; "
            f"wait for it, stop it, or give another folder with {store.option}"
        ) from error
    except OSError as error:
        raise ConfigError(f"cannot lock {str(path)!r}: {error.strerror}; give another {store.option}") from error
