"""Price: what a model's tokens cost, what a request can cost at most, and how money is put into words.

An unknown cost is never shown as none.
"""

import json
from typing import NamedTuple

from skillweave.llm.request import Reply, Request
from skillweave.schema.record import Json

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


def in_words(cost_usd: float, unpriced: int) -> str:
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
