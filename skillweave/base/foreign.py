"""What code that is not ours may raise, where it must not end the run.

`sys.exit` in a user's class is no wish of the user to end the run: a backend that called it at import ended runs with
exit status 0 and their work undone.
"""

import asyncio
import signal
import traceback

from skillweave.base.text import hide_secrets

FOREIGN_ERRORS = (Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError)
"""To be caught around foreign code; whoever catches them raises those again that `is_interrupt` tells to be real."""


def is_interrupt(error: BaseException) -> bool:
    """Whether an error comes from outside of the code that raised it: an interrupt, or a cancelled task."""
    if isinstance(error, KeyboardInterrupt):
        # Commands have a handler that raises nothing, so there it is raised by the code itself.
        frames = traceback.extract_tb(error.__traceback__)
        by_asyncio = bool(frames) and frames[-1].name == "_on_sigint"
        return by_asyncio or signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if isinstance(error, asyncio.CancelledError):
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return False
        return task is not None and task.cancelling() > 0
    return False


def error_in_words(error: BaseException) -> str:
    """The type and message of an exception, without keys in addresses: `SystemExit: 0`."""
    message = hide_secrets(str(error))
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
