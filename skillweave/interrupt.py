"""What an interrupt does while nothing has to be brought to an order: it ends the process at once, with one line.

Nothing is lost by that: writes are atomic, the system lets go of the lock, and every child dies with us.
"""

import atexit
import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"


def end_on_signals() -> None:
    """To be called before anything that takes time, imports too."""
    for number in SIGNALS:
        signal.signal(number, end_now)
    atexit.register(_ignore)


def end_now(number: int, frame: FrameType | None) -> None:
    """A signal handler. Exceptions would not do: they surface in whatever code is running, and are told by it."""
    try:
        if os.isatty(1):
            os.write(1, _SHOW_CURSOR)
        os.write(2, b"interrupted; what is written is kept, and the same command goes on from there\n")
    finally:
        os._exit(130)


def _ignore() -> None:
    """When all is done and told, Python would put the system's handlers back while it takes itself down."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
