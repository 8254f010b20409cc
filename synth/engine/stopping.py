"""Stop a run in order on an interrupt or a request to terminate; a second one ends the process at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from skillweave.interrupt import SIGNALS, end_now
from synth.engine.run import Run


@contextmanager
def stopping(run: Run) -> Iterator[None]:
    """Within it, signals stop the run. For the main thread, inside the flow: Prefect has set handlers of its own."""

    def stop(number: int, frame: FrameType | None) -> None:
        if run.is_stopped:
            end_now(number, frame)
        run.stop()

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
