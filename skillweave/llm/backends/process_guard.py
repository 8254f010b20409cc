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
"""Seconds between SIGTERM and SIGKILL."""


def main(command: list[str]) -> int:
    """Run a command to its end, or until our standard input ends.

    Signals go to the process group, so that they reach what the command has started as well.

    Returns:
        The exit status of the command.
    """
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # After the start, since a child inherits ignored signals.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    has_input_ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(child, has_input_ended), daemon=True)
    watcher.start()
    status = child.wait()
    if has_input_ended.is_set():
        watcher.join()
    os.killpg(0, signal.SIGTERM)
    return status if status >= 0 else 128 - status


def _watch(child: "subprocess.Popen[bytes]", has_input_ended: threading.Event) -> None:
    """Wait for the end of standard input; then end the group."""
    while os.read(0, 1024):
        pass
    has_input_ended.set()
    os.killpg(0, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
