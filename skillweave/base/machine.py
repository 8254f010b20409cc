"""What this machine allows a command: open files, a temporary folder, paths of sockets; and what its refusals mean."""

import errno
import os
import resource
import sqlite3
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from skillweave.base.errors import ConfigError

MIN_OPEN_FILES = 128
"""Fewer leave what needs no more than a few to fail at any place."""
MAX_OPEN_FILES = 65_536
"""How far the soft limit of open files is raised."""
SOCKET_BYTES = 103 if sys.platform == "darwin" else 107
"""Bytes that the system allows the path of a socket."""
TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")
"""Where Python looks for a temporary folder, in this order."""

ADVICE = {
    errno.ENOSPC: "free space or files there (df -h, df -i)",
    errno.EDQUOT: "free space, or raise the quota",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "give a folder that can be written",
    errno.EACCES: "give a folder that can be written",
    errno.EPERM: "give a folder that can be written",
    errno.EIO: "wait until the disk works",
    errno.EMFILE: "allow more open files (ulimit -n), or do less at once",
    errno.ENFILE: "wait until other programs have closed their files, or do less at once",
    errno.EAGAIN: "allow more processes (ulimit -u), or do less at once",
    errno.ENOMEM: "do less at once, or where there is more memory",
}
STOPPING = frozenset(ADVICE) - {errno.EACCES, errno.EPERM, errno.EAGAIN}
"""Refusals that the next piece of work would meet, too."""
LACKING = STOPPING - {errno.EROFS}
"""Refusals for want of something, whatever folder was named."""


_OF_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
}
"""What the system had refused where SQLite gives up. Its errors have no cause."""


def refusal(error: BaseException | None) -> OSError | None:
    """What the system refused, if that lies behind an error; else None."""
    while error is not None:
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return OSError(errno.EAGAIN, "no further thread can be started")
        if isinstance(error, OSError) and error.errno in ADVICE:
            return error
        if isinstance(error, sqlite3.Error):
            code = _OF_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
            return None if code is None else OSError(code, os.strerror(code))
        error = error.__cause__
    return None


def in_words(error: OSError) -> str:
    """What the system refused, at which file, and what to do."""
    where = f" {error.filename!r}" if error.filename else ""
    advice = ADVICE.get(error.errno or 0)
    return f"{error.strerror or error}{where}" + (f"; {advice}" if advice else "")


def raise_open_files() -> int:
    """Raise the soft limit of open files as far as the hard one allows; the limit that holds then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return soft  # macOS has a limit of its own below a hard limit of infinity
        return wanted
    return MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft


def require_open_files() -> None:
    """Raise the limit of open files as far as may be. Raises ConfigError if there are too few for any command."""
    files = raise_open_files()
    if files < MIN_OPEN_FILES:
        raise ConfigError(
            f"this process may have {files} open files, and commands need {MIN_OPEN_FILES}; allow more with ulimit -n"
        )


def require_temporary_folder() -> None:
    """Raise ConfigError if the folder for temporary files that the environment names cannot be used.

    Python would take another one in silence, which may be on a disk that is full, or that others read.
    """
    for name in TEMPORARY_VARIABLES:
        folder = os.environ.get(name)
        if folder and not (Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            what = "cannot be written" if Path(folder).is_dir() else "is no folder"
            raise ConfigError(
                f"{name} is {folder[:200]!r}, which {what}; make it, name another folder, or unset {name}"
            )
        if folder:
            return


def socket_folder(folders: Iterable[Path], name_bytes: int) -> Path:
    """The first of these folders, then of the system's, in which a socket can be made.

    Args:
        folders: Where it would best be; they need not exist.
        name_bytes: What the socket's path has after the folder.

    Raises:
        ConfigError: The paths of all are too long, or they cannot be written.
    """
    tried = [*folders, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    for folder in tried:
        if len(os.fsencode(folder.resolve())) + name_bytes > SOCKET_BYTES:
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder.resolve()
    raise ConfigError(
        f"no folder for sockets: the system allows {SOCKET_BYTES} bytes for the path of one, so the folder may have "
        f"{SOCKET_BYTES - name_bytes}, and has to be writable; there are "
        f"{', '.join(repr(str(folder)) for folder in dict.fromkeys(tried))}; set TMPDIR to a short path"
    )
