"""Enter into the ledger what each reply cost, and stop at the budget.

The budget is checked before a request is sent, so it may be passed by the requests then on their way, by no more.
"""

from dataclasses import replace
from typing import NamedTuple

from skillweave.errors import BudgetError
from skillweave.llm.backend import Backend
from skillweave.llm.ledger import Ledger
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
        if self._price is not None:
            cost = reply.input_tokens * self._price.input + reply.output_tokens * self._price.output
            reply = replace(reply, cost_usd=cost / MILLION)
        self._ledger.spent(request.question, reply)
        return reply

    async def close(self) -> None:
        await self._inner.close()
