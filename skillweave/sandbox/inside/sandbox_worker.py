"""Put into every worker's folder: `from sandbox_worker import serve`, then `serve(handle)`.

It separates answers from what the code prints: what the code prints goes to standard error.
"""

import json
import os
import sys
from collections.abc import Callable


def serve(handle: Callable[[object], object]) -> None:
    """Answer each line of standard input with `handle` of it, until there are no more. An exception ends the worker."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(handle(json.loads(line)), allow_nan=False) + "\n")
        answers.flush()
