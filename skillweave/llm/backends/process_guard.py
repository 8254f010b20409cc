"""Run a command, and end it when our own standard input ends.

The parent process holds the other end of that input, so the command and all that it starts end with the parent,
on SIGKILL too. This file is run by its path and imports nothing of the project.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

GRACE_S = 10.0
"""Between being asked to end and being killed."""


def main(command: list[str]) -> int:
    """The exit status of the command. Signals go to the group, so that they reach what it started as well."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # Only now, since a child inherits what is ignored.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    is_cut = threading.Event()
    watcher = threading.Thread(target=_watch, args=(child, is_cut), daemon=True)
    watcher.start()
    status = child.wait()
    if is_cut.is_set():
        watcher.join()
    os.killpg(0, signal.SIGTERM)
    return status if status >= 0 else 128 - status


def _watch(child: "subprocess.Popen[bytes]", is_cut: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    is_cut.set()
    os.killpg(0, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
