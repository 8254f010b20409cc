"""The lock on an outputs folder: one run at a time.

The kernel holds it for the life of the process and lets go when that ends, however it ends; the pid inside is only for
people. So a stale lock cannot be.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from skillweave.errors import ConfigError
from skillweave.store import CACHE, Store


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """Hold the lock. Raises ConfigError, naming the pid, where another process holds it."""
    path = store.root / CACHE / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise ConfigError(
                f"outputs folder {str(store.root)!r} is in use by process {holder}; "
                "wait for it, stop it, or give another folder with --outputs-dir"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)
