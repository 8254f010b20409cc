"""Ledger: what questions were asked, how they went, and what they cost.

It may be shared by threads and event loops. Tokens are counted where they are spent: a cached reply costs nothing.
"""

import threading
from dataclasses import dataclass, replace

from skillweave.llm.request import Reply


@dataclass(frozen=True)
class Entry:
    """The account of one question."""

    asked: int = 0
    first_try: int = 0
    repaired: int = 0
    rejected: int = 0
    requests: int = 0
    """Replies that were paid for."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Requests whose price is not known."""


class Ledger:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()

    def asked(self, question: str) -> None:
        self._add(question, asked=1)

    def answered(self, question: str, attempt: int) -> None:
        self._add(question, **({"first_try": 1} if attempt == 0 else {"repaired": 1}))

    def rejected(self, question: str) -> None:
        self._add(question, rejected=1)

    def spent(self, question: str, reply: Reply) -> None:
        """A reply was paid for."""
        self._add(
            question,
            requests=1,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=reply.cost_usd or 0.0,
            unpriced=int(reply.cost_usd is None),
        )

    def entries(self) -> dict[str, Entry]:
        """A copy, by question, sorted."""
        with self._lock:
            return dict(sorted(self._entries.items()))

    def total(self) -> Entry:
        """All questions together."""
        total = Entry()
        for entry in self.entries().values():
            total = _sum(total, vars(entry))
        return total

    def _add(self, question: str, **amounts: float) -> None:
        with self._lock:
            self._entries[question] = _sum(self._entries.get(question, Entry()), amounts)


def _sum(entry: Entry, amounts: dict[str, float]) -> Entry:
    return replace(entry, **{name: getattr(entry, name) + amount for name, amount in amounts.items()})
