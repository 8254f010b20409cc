"""The lock on an outputs folder: one run at a time.

The kernel holds it for the life of the process and lets go when that ends, however it ends; the pid inside is only for
people. So a stale lock cannot be. Nothing but a
file of our own is written to in its place.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillweave.errors import ConfigError
from skillweave.store import CACHE, Store


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
