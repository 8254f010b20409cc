"""Wake all who wait for something, on whichever event loops they do. The caller's lock guards it."""

import asyncio

from skillweave.llm.gate import Waiter, soon


class Bell:
    def __init__(self) -> None:
        self._listening: dict[Waiter, None] = {}

    def listen(self) -> Waiter:
        """Of the running event loop; to be given to `heard`."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._listening[waiter] = None
        return waiter

    async def heard(self, waiter: Waiter, seconds: float) -> None:
        """Wait until the bell rings, so many seconds at most."""
        try:
            await asyncio.wait((waiter,), timeout=seconds)
        finally:
            self._listening.pop(waiter, None)

    def ring(self) -> None:
        """Wake all who listen now."""
        listening, self._listening = self._listening, {}
        for waiter in tuple(listening):
            try:
                soon(waiter.get_loop())(_wake, waiter)
            except RuntimeError:
                # Its loop is closed: nobody waits there any more.
                continue


def _wake(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)
