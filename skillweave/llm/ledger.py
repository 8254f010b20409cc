"""The ledger: what was asked of whom, how it went, and what it cost, by step, question and author.

It may be shared by threads and event loops. A child's entries are its parent's too. Tokens are counted where they
are spent: a reply from the cache costs nothing. An unknown cost is never shown as zero.
"""

import json
import threading
from typing import NamedTuple

from skillweave.llm.backends.backend import Reply, Request
from skillweave.schema.question_metrics import QuestionMetrics, total_metrics
from skillweave.schema.record import Json


class LedgerKey(NamedTuple):
    """Where in a ledger something is entered."""

    step: str
    question: str
    author: str


def ledger_key(request: Request, author: str) -> LedgerKey:
    """Where a request to an author is entered."""
    return LedgerKey(request.step, request.question, author)


class Ledger:
    def __init__(self, parent: "Ledger | None" = None) -> None:
        self.parent = parent
        """Where all is entered, too."""
        self._entries: dict[LedgerKey, QuestionMetrics] = {}
        self._lock = threading.Lock()

    def add(self, place: LedgerKey, **amounts: float) -> None:
        """Add to numbers of an entry, by the names of `Asking`."""
        with self._lock:
            self._entries[place] = self._at(place).plus(**amounts)
        if self.parent is not None:
            self.parent.add(place, **amounts)

    def complain(self, place: LedgerKey, kind: str) -> None:
        """Enter that something was wrong with a reply; `Asking.complaints` names the kinds."""
        with self._lock:
            self._entries[place] = self._at(place).complained(kind)
        if self.parent is not None:
            self.parent.complain(place, kind)

    def entries(self) -> dict[LedgerKey, QuestionMetrics]:
        """A copy, sorted."""
        with self._lock:
            return dict(sorted(self._entries.items()))

    def askings(self, step: str | None = None) -> list[QuestionMetrics]:
        """By question and author, sorted; of all steps together, or of one."""
        found: dict[tuple[str, str], list[QuestionMetrics]] = {}
        for place, entry in self.entries().items():
            if step in (None, place.step):
                found.setdefault((place.question, place.author), []).append(entry)
        return [
            total_metrics(entries, question=question, author=author)
            for (question, author), entries in sorted(found.items())
        ]

    def total(self) -> QuestionMetrics:
        """Everything together."""
        return total_metrics(list(self.entries().values()))

    def _at(self, place: LedgerKey) -> QuestionMetrics:
        return self._entries.get(place) or QuestionMetrics(question=place.question, author=place.author)


MILLION = 1_000_000
ENDPOINTS_OWN = 2048
"""Tokens that an endpoint may add to a prompt: the marks between messages, and how it words tools and forms."""
RESTATED = 2
"""So many times as long as they were written a form and tools may be where an endpoint puts them into its words."""


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Of prompt tokens that the provider read from its cache; None: as `input`."""
    cache_write: float | None = None
    """Of prompt tokens that it wrote to its cache; None: as `input`."""

    def cost_usd(self, reply: Reply) -> float:
        """What a reply cost."""
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
        """What one try of a request can cost; None where nothing bounds the length of its answer."""
        answer = request.sampling.max_tokens
        if self.is_free:
            return 0.0
        if answer is None:
            return None
        dearest = max(self.input, self.cached_input or 0.0, self.cache_write or 0.0)
        return (_most_input_tokens(request) * dearest + answer * self.output) / MILLION

    @property
    def is_free(self) -> bool:
        return not any(self)


FREE = Price(0.0, 0.0)
"""Of who is no endpoint: the offline author, a cassette."""


def cost_in_words(cost_usd: float, unpriced: int) -> str:
    """`$1.20`, `unknown`, or `$1.20 and 34 requests of unknown price`."""
    if not unpriced:
        return dollars(cost_usd)
    if not cost_usd:
        return "unknown"
    return f"{dollars(cost_usd)} and {unpriced} request{'' if unpriced == 1 else 's'} of unknown price"


def dollars(amount: float) -> str:
    """In cents; an amount of few cents with as many digits as tell it from none."""
    return f"${amount:,.2f}" if amount >= 0.1 or not amount else f"${amount:.2g}"


def _most_input_tokens(request: Request) -> int:
    """No token is shorter than a byte, and what is sent is escaped, so that none of its characters has fewer."""
    messages: list[Json] = [message.model_dump(mode="json", exclude_none=True) for message in request.messages]
    form: Json = None if request.schema is None else dict(request.schema)
    tools: list[Json] = [dict(tool) for tool in request.tools]
    return len(json.dumps(messages)) + RESTATED * len(json.dumps([form, tools])) + ENDPOINTS_OWN
