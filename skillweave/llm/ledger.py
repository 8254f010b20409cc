"""The ledger: what was asked of whom, how it went, and what it cost, by step, question and author.

It may be shared by threads and event loops. A child's entries are its parent's too. Tokens are counted where they
are spent: a reply from the cache costs nothing. An unknown cost is never shown as zero.
"""

import json
import threading
from decimal import Decimal
from typing import NamedTuple

from skillweave.llm.backends.backend import Reply, Request
from skillweave.schema.record import Json
from skillweave.schema.reports import QuestionMetrics, total_metrics

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4.0
"""Where no endpoint reported tokens."""
OVERHEAD_TOKENS = 2048
"""Tokens that an endpoint may add to a prompt: marks between messages, and its wording of tools and schemas."""
SCHEMA_FACTOR = 2
"""How many times as long tools and schema may become where an endpoint puts them into its own words."""


class LedgerKey(NamedTuple):
    """Where an amount is entered in a ledger."""

    step: str
    question: str
    author: str
    """`provider/model`."""


def ledger_key(request: Request, author: str) -> LedgerKey:
    """Where a request to an author is entered."""
    return LedgerKey(request.step, request.question, author)


class Ledger:
    """Figures of questions by step, question and author."""

    def __init__(self, parent: "Ledger | None" = None) -> None:
        self.parent = parent
        """The ledger that gets every entry of this one as well."""
        self._entries: dict[LedgerKey, QuestionMetrics] = {}
        self._lock = threading.Lock()

    def add(self, key: LedgerKey, **amounts: float) -> None:
        """Add amounts to an entry.

        Args:
            key: The entry.
            amounts: By the names of the number fields of `QuestionMetrics`.
        """
        with self._lock:
            self._entries[key] = self._entry(key).plus(**amounts)
        if self.parent is not None:
            self.parent.add(key, **amounts)

    def record(self, request: Request, author: str, **amounts: float) -> None:
        """Add amounts to the entry of a request's question and this author."""
        self.add(ledger_key(request, author), **amounts)

    def complain(self, key: LedgerKey, kind: str) -> None:
        """Count a fault of a reply; `QuestionMetrics.complaints` names the kinds."""
        with self._lock:
            self._entries[key] = self._entry(key).complained(kind)
        if self.parent is not None:
            self.parent.complain(key, kind)

    @property
    def root(self) -> "Ledger":
        """The ledger that has the entries of all others around this one."""
        return self if self.parent is None else self.parent.root

    def entry(self, key: LedgerKey) -> QuestionMetrics:
        """The figures of one step, question and author."""
        with self._lock:
            return self._entry(key)

    def entries(self) -> dict[LedgerKey, QuestionMetrics]:
        """A sorted copy of all entries."""
        with self._lock:
            return dict(sorted(self._entries.items()))

    def askings(self, step: str | None = None) -> list[QuestionMetrics]:
        """Entries by question and author, sorted: of one step, or of all steps together if `step` is None."""
        groups: dict[tuple[str, str], list[QuestionMetrics]] = {}
        for key, entry in self.entries().items():
            if step in (None, key.step):
                groups.setdefault((key.question, key.author), []).append(entry)
        return [
            total_metrics(entries, question=question, author=author)
            for (question, author), entries in sorted(groups.items())
        ]

    def total(self) -> QuestionMetrics:
        """The sum of all entries."""
        return total_metrics(list(self.entries().values()))

    def _entry(self, key: LedgerKey) -> QuestionMetrics:
        return self._entries.get(key) or QuestionMetrics(question=key.question, author=key.author)


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Prompt tokens that the provider read from its cache; None: as `input`."""
    cache_write: float | None = None
    """Prompt tokens that it wrote to its cache; None: as `input`."""

    def cost_usd(self, reply: Reply) -> float:
        """What a reply cost, in US dollars."""
        read = min(reply.cached_input_tokens, reply.input_tokens)
        written = min(reply.cache_write_tokens, reply.input_tokens - read)
        cost = (
            (reply.input_tokens - read - written) * self.input
            + read * (self.input if self.cached_input is None else self.cached_input)
            + written * (self.input if self.cache_write is None else self.cache_write)
            + reply.output_tokens * self.output
        )
        return cost / MILLION

    def most_usd(self, request: Request) -> float | None:
        """The most that one try of a request can cost, in US dollars; None if nothing limits its answer's length."""
        answer_tokens = request.sampling.max_tokens
        if self.is_free:
            return 0.0
        if answer_tokens is None:
            return None
        highest = max(self.input, self.cached_input or 0.0, self.cache_write or 0.0)
        return (_most_input_tokens(request) * highest + answer_tokens * self.output) / MILLION

    @property
    def is_free(self) -> bool:
        return not any(self)


FREE = Price(0.0, 0.0)
"""The price of authors that are no endpoint: the offline author, a cassette."""


def cost_in_words(cost_usd: float, unpriced: int) -> str:
    """`$1.20`, `unknown`, or `$1.20 and 34 requests of unknown price`.

    Args:
        cost_usd: The sum of all known costs.
        unpriced: Requests whose cost is unknown.
    """
    if not unpriced:
        return dollars(cost_usd)
    if not cost_usd:
        return "unknown"
    return f"{dollars(cost_usd)} and {unpriced} request{'' if unpriced == 1 else 's'} of unknown price"


def dollars(amount: float) -> str:
    """An amount in cents; below ten cents with two significant digits, so that it never reads as zero."""
    return f"${amount:,.2f}" if amount >= 0.095 or not amount else f"${Decimal(f'{amount:.2g}'):f}"


def _most_input_tokens(request: Request) -> int:
    """An upper bound: no token is shorter than a byte, and escaping makes no character shorter."""
    messages: list[Json] = [message.model_dump(mode="json", exclude_none=True) for message in request.messages]
    schema: Json = None if request.schema is None else dict(request.schema)
    tools: list[Json] = [dict(tool) for tool in request.tools]
    return len(json.dumps(messages)) + SCHEMA_FACTOR * len(json.dumps([schema, tools])) + OVERHEAD_TOKENS
