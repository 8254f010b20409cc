"""How long work takes of itself: other processes and the collector's pauses add to one run, hardly to three."""

from collections.abc import Callable
from time import process_time


def is_done_within(seconds: float, work: Callable[[], object]) -> bool:
    """Whether one of three runs takes less CPU time than that."""
    return any(_took(work) < seconds for _ in range(3))


def _took(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
