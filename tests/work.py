"""How much work something takes: calls of functions, which are as many on any machine."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """Calls that it makes, those of built-in functions included."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted
