"""Child processes that do not outlive the process that started them, even when that is killed; and a pool of them.

Linux tells a direct child when its parent dies; elsewhere the child looks for a new parent. A child of a fork server
has another parent: it holds the reading end of a pipe whose only writing end is ours, and sees it close.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.5
"""Seconds between two looks at the parent, on systems that do not tell of its death."""


def die_with_parent(parent: int) -> None:
    """Make this process end when its parent does. Ends it at once if the parent is gone already.

    Call it in a direct child of the parent, on its main thread.

    Args:
        parent: Process id of the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    if sys.platform != "linux":
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def die_with_pipe(reader: "Connection[None, None]") -> None:
    """Make this process end when the other end of a pipe is closed. Any descendant can call it."""
    threading.Thread(target=_watch_pipe, args=(reader,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(1)


def _watch_pipe(reader: "Connection[None, None]") -> None:
    try:
        reader.recv()
    except (EOFError, OSError):
        os._exit(1)


def process_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of new processes that end with this one. Submit work from the thread that makes the pool."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=begin_work, initargs=(os.getpid(),))


def begin_work(parent: int) -> None:
    """Prepare a process of a pool: it ends with its parent, which alone handles an interrupt from the terminal."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
