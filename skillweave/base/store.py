"""Files under the outputs folder:
digests, atomic writes, paths that stay inside, and the lock that keeps second runs out.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillweave.base.errors import ArtifactError, ConfigError
from skillweave.schema.record import Json

_CHUNK = 1 << 20


def digest_bytes(content: bytes) -> str:
    """sha256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def digest_text(text: str) -> str:
    """sha256 of a text as UTF-8. Lone surrogates are encoded, not refused."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def digest_json(value: Json) -> str:
    """sha256 of a value as canonical JSON, whatever the order of its keys."""
    return digest_text(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def digest_file(path: Path) -> str:
    """sha256 of a file's bytes, which are read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


CACHE = ".cache"
"""Folder of items that are not joined yet, temporary files, the lock and the journal."""
TEMPORARY = f"{CACHE}/tmp"
OWN = (CACHE, TEMPORARY, ".prefect", "logs")
"""Folders that a run writes to in addition to its artifacts."""


def process_name() -> str:
    """A name of this process that no other has, on any machine that shares the folder."""
    return f"{platform.node()}-{os.getpid()}"


class Stamp(NamedTuple):
    """Size and time of a file. If they are unchanged, the bytes are taken as unchanged."""

    size: int
    """Bytes."""
    mtime_ns: int
    """Time of the last change, in nanoseconds."""


class Store:
    """One folder. Paths are relative to it; every refusal of the system is an ArtifactError that names the path."""

    def __init__(self, root: Path, kind: str = "outputs", *, option: str | None = None) -> None:
        """Address a folder, which need not exist.

        Args:
            root: The folder.
            kind: What errors call the folder.
            option: The command's option for the folder, for errors; None: `--<kind>-dir`.
        """
        self.root = root
        self.kind = kind
        self.option = option or f"--{kind}-dir"

    def prepare(self) -> None:
        """Make the folder. Raises ConfigError if it cannot be written to, or if links lead out of it."""
        try:
            for folder in OWN:
                self._refuse_links(folder)
            (self.root / TEMPORARY).mkdir(parents=True, exist_ok=True)
            probe = self.root / TEMPORARY / f"probe-{process_name()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ConfigError(
                f"{self.kind} folder {str(self.root)!r} cannot be written: {error.strerror or error}; "
                f"give another one with {self.option}"
            ) from error

    def refuse_other_than_folder(self) -> None:
        """Raise ConfigError if there is something else in the folder's place."""
        if self.root.exists() and not self.root.is_dir():
            raise ConfigError(
                f"{self.kind} folder {str(self.root)!r} is no folder; give another one with {self.option}"
            )

    def clean(self) -> None:
        """Remove temporary files that a killed run left. The caller must hold the lock."""
        with self._naming("clean", TEMPORARY):
            for left in (self.root / TEMPORARY).iterdir():
                if left.name == process_name():
                    # An earlier run in this same process made it, and may still use it.
                    continue
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left)
                else:
                    left.unlink()

    def path(self, relative: str) -> Path:
        """The full path. Raises ArtifactError if it leads out of the folder or through a link."""
        parts = PurePosixPath(relative).parts
        if not parts or relative.startswith("/") or ".." in parts or "\0" in relative:
            raise ArtifactError(f"path {relative!r} does not stay in the {self.kind} folder; paths are relative to it")
        # Runs look at many thousands of paths: as texts, this takes a quarter of what it takes with Path.
        path = str(self.root)
        for part in parts:
            path = f"{path}/{part}"
            if os.path.islink(path):  # noqa: PTH114
                raise ArtifactError(f"path {relative!r} goes through a link at {part!r}; links are refused")
        return Path(path)

    def file(self, relative: str) -> Path:
        """The full path of a regular file. Raises ArtifactError for anything else, such as a pipe."""
        path = self.path(relative)
        with self._naming("read", relative):
            mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ArtifactError(f"{relative!r} in the {self.kind} folder is not a file; remove it, and run again")
        return path

    def exists(self, relative: str) -> bool:
        """Whether there is a file of that path."""
        path = self.path(relative)
        with self._naming("look at", relative):
            return path.is_file()

    def read(self, relative: str) -> bytes:
        """The bytes of a file. Raises ArtifactError if there is none."""
        path = self.file(relative)
        with self._naming("read", relative):
            return path.read_bytes()

    def write(self, relative: str, content: bytes) -> Stamp:
        """Write a file atomically, and return its stamp. Raises ArtifactError if that is impossible."""
        with self.replacing(relative) as temporary:
            temporary.write_bytes(content)
        return self.stamp(relative)

    @contextmanager
    def replacing(self, relative: str) -> Iterator[Path]:
        """A temporary path to write to. It takes the file's place when the `with` block ends without an error."""
        path = self.path(relative)
        folder = self.root / TEMPORARY
        temporary = folder / f"{process_name()}-{threading.get_ident()}-{path.name}"
        with self._naming("write", relative):
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

    def require_room(self) -> None:
        """Raise ArtifactError if the folder takes nothing more, as on a full disk."""
        name = f"{TEMPORARY}/room-{process_name()}"
        self.write(name, bytes(_CHUNK))
        self.path(name).unlink(missing_ok=True)

    def append(self, relative: str, line: bytes) -> None:
        """Append a line atomically, also with several processes. A torn last line is ended first.

        Args:
            relative: The file, which is made if it is missing.
            line: The line with its newline.
        """
        path = self.path(relative)
        with self._naming("write", relative):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                left = (b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b"") + line
                # One write to an appending descriptor is atomic; only a full disk makes it write less.
                written = 0
                try:
                    while written < len(left):
                        written += os.write(descriptor, left[written:])
                except OSError:
                    # Half a line would stay in the file when the next run appends to it.
                    if written and os.fstat(descriptor).st_size == size + written:
                        os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)

    def remove(self, relative: str) -> None:
        """Remove a file, and the folders that it leaves empty."""
        path = self.path(relative)
        with self._naming("remove", relative):
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self.root or not folder.is_dir() or any(folder.iterdir()):
                    return
                folder.rmdir()

    def stamp(self, relative: str) -> Stamp:
        """The stamp of a file. Raises ArtifactError if there is none."""
        path = self.path(relative)
        with self._naming("look at", relative):
            status = path.stat()
        return Stamp(status.st_size, status.st_mtime_ns)

    def _refuse_links(self, folder: str) -> None:
        """Raise ConfigError if a folder that a run writes to is a link or holds one: it could lead anywhere."""
        path = self.root / folder
        for entry in (path, *(path.iterdir() if path.is_dir() and folder != TEMPORARY else ())):
            if entry.is_symlink():
                raise ConfigError(f"{str(entry)!r} is a link, and a run writes there; remove it")
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{str(path)!r} is not a folder, and a run needs one there; remove it")

    @contextmanager
    def _naming(self, doing: str, relative: str) -> Iterator[None]:
        """Turn an OSError into an ArtifactError that names the path."""
        try:
            yield
        except OSError as error:
            raise ArtifactError(
                f"cannot {doing} {relative!r} in {self.kind} folder {str(self.root)!r}: {error.strerror or error}"
            ) from error


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Hold the lock of a folder. Raises ConfigError with the process id if another process holds it."""
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
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
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
