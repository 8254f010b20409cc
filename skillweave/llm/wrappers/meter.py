"""Enter into the ledger what each reply cost, and stop at the budget.

The budget is checked before a request is sent, so it may be passed by the requests then on their way, by no more.
"""

from dataclasses import replace
from typing import NamedTuple

from skillweave.errors import BudgetError
from skillweave.llm.backend import Backend
from skillweave.llm.ledger import Ledger, place_of
from skillweave.llm.request import Reply, Request

MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: float
    output: float


class Metered:
    def __init__(
        self, inner: Backend, ledger: Ledger, price: Price | None = None, budget_usd: float | None = None
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._ledger = ledger
        self._price = price
        self._budget = budget_usd

    async def complete(self, request: Request) -> Reply:
        spent = self._ledger.total().cost_usd if self._budget is not None else 0.0
        if self._budget is not None and spent >= self._budget:
            raise BudgetError(
                f"the budget of {self._budget:g} USD is spent ({spent:g}); raise llm.budget_usd and run again: "
                "what is answered is kept"
            )
        reply = await self._inner.complete(request)
        if reply.input_tokens < 0 or reply.output_tokens < 0:
            # What an endpoint reports is not trusted so far that it could give money back.
            reply = replace(reply, input_tokens=max(0, reply.input_tokens), output_tokens=max(0, reply.output_tokens))
        if self._price is not None:
            cost = reply.input_tokens * self._price.input + reply.output_tokens * self._price.output
            reply = replace(reply, cost_usd=cost / MILLION)
        (request.ledger or self._ledger).add(
            place_of(request, self.name),
            replies=1,
            input_tokens=reply.input_tokens,
            cached_input_tokens=reply.cached_input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=reply.cost_usd or 0.0,
            unpriced=int(reply.cost_usd is None),
        )
        return reply

    async def close(self) -> None:
        await self._inner.close()
