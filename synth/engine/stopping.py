"""Stop a run in order on an interrupt or a request to terminate; a second one ends the process at once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from synth.engine.run import Run

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(run: Run) -> Iterator[None]:
    """Within it, signals stop the run. For the main thread, inside the flow: Prefect has set handlers of its own."""

    def stop(number: int, frame: FrameType | None) -> None:
        if run.is_stopped:
            os._exit(130)
        run.stop()

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
