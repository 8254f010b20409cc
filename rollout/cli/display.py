"""The display of a run: how many conversations ended, how many are running, what they took and came to."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rollout.tally import Tally
from skillweave.llm.ledger import Ledger
from skillweave.llm.price import in_words
from skillweave.progress import Shown, progress


class Display:
    def __init__(self, shown: Shown, ledger: Ledger) -> None:
        self._shown = shown
        self._ledger = ledger
        self._begun = time.monotonic()
        self._started = 0

    def started(self) -> None:
        """One more conversation is under way."""
        self._started += 1

    def ended(self, tally: Tally) -> None:
        """One of them ended; the tally counts it already."""
        self._shown.advance(tally.done, self._note(tally))

    def _note(self, tally: Tally) -> str:
        spent = self._ledger.total()
        tokens = (spent.input_tokens + spent.output_tokens) / max(time.monotonic() - self._begun, 1e-9)
        parts = [f"{self._started - tally.done} running"]
        if tokens >= 1:
            parts.append(f"{tokens:,.0f} tokens/s")
        if spent.cost_usd or spent.unpriced:
            parts.append(in_words(spent.cost_usd, spent.unpriced))
        if tally.scored:
            parts.append(f"{tally.passed / tally.scored:.1%} passed")
        if tally.errors:
            parts.append(f"{sum(tally.errors.values())} errors")
        return ", ".join(parts)


@contextmanager
def display(total: int, ledger: Ledger) -> Iterator[Display]:
    """The display that standard output is fit for."""
    with progress("conversations", total) as shown:
        yield Display(shown, ledger)
