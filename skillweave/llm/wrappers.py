"""Backends around a backend: defaults from the configuration, retries, and metering.

This is the only place where a request is sent again. Metering stands inside of retrying, so that what a try can
cost is reserved before each try.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple

from skillweave.base.errors import ConfigError, ProviderError, StopError
from skillweave.llm.backends.backend import Backend, Reply, Request, Sampling
from skillweave.llm.backends.body import MOST_TOKENS
from skillweave.llm.backends.transport import WIRE_COUNT, WireCount
from skillweave.llm.budget import BILLION, Reservation, SharedBudget
from skillweave.llm.ledger import Ledger, Price, dollars, ledger_key
from skillweave.llm.limits.limiter import EndpointLimiter


class DefaultsBackend:
    def __init__(self, inner: Backend, model: str, sampling: Sampling) -> None:
        self.name = inner.name
        self._inner = inner
        self._model = model
        self._sampling = sampling

    async def complete(self, request: Request) -> Reply:
        sampling = request.sampling.or_else(self._sampling)
        return await self._inner.complete(replace(request, model=self._model, sampling=sampling))

    async def close(self) -> None:
        await self._inner.close()


FIRST_DELAY = 0.5
"""Seconds, at most; each further delay is at most twice the one before."""
LONGEST_DELAY = 60.0


class RetryingBackend:
    def __init__(
        self,
        inner: Backend,
        retries: int,
        lane: EndpointLimiter,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._retries = retries
        self._lane = lane
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        failures = 0
        while True:
            is_free = self._lane.is_down
            try:
                reply = await self._inner.complete(request)
            except ProviderError as error:
                if isinstance(error, StopError) or not error.transient or not self._retries:
                    raise
                last = error
                failures += not is_free
                if failures > self._retries:
                    break
            else:
                self._lane.took(reply.input_tokens, reply.output_tokens)
                return reply
            if not is_free:
                await self._sleep(_delay(failures))
        # Raised out here, so that no other error is chained to it.
        raise ProviderError(f"{last} (gave up after {self._retries} retries)")

    async def close(self) -> None:
        await self._inner.close()


def _delay(failures: int) -> float:
    """Anything up to the limit, so that those who failed together do not come back together."""
    return random.uniform(0.0, min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(failures - 1, 10)))


logger = logging.getLogger(__name__)


class _Came(NamedTuple):
    """What came of a try at the wire."""

    whole: int
    """Replies that were sent to their end."""
    lost: int
    """Requests that neither a whole reply nor an error's status came to."""


class MeteredBackend:
    def __init__(
        self,
        inner: Backend,
        ledger: Ledger,
        price: Price | None = None,
        purse: SharedBudget | None = None,
        longest_answer: int | None = None,
    ) -> None:
        """`price` None: nobody knows what it costs. `purse` None: it is not paid for.

        With a budget an answer is limited to `longest_answer` tokens where the request leaves that open. The limit is
        set here, inside of what keeps replies, so that a budget makes no kept reply another one.
        """
        self.name = inner.name
        self._inner = inner
        self._ledger = ledger
        self._price = price
        self._purse = purse
        self._limit = Sampling(max_tokens=longest_answer)

    async def complete(self, request: Request) -> Reply:
        if self._keeps_budget:
            request = replace(request, sampling=request.sampling.or_else(self._limit))
        reservation = await self._reserved(request)
        tally, reply = WireCount(), None
        token = WIRE_COUNT.set(tally)
        try:
            reply = self._priced(await self._inner.complete(request), tally)
        finally:
            WIRE_COUNT.reset(token)
            booked = self._book(request, reservation, reply, _came(reply, tally), tally)
        if booked is not None and reservation is not None:
            await asyncio.wrap_future(booked)
        return reply

    async def close(self) -> None:
        await self._inner.close()
        if self._purse is not None:
            await self._purse.close()

    async def _reserved(self, request: Request) -> Reservation | None:
        """What was set aside for a try; None where there is no budget to keep."""
        if self._purse is None or self._price is None or not self._keeps_budget:
            return None
        most = self._price.most_usd(request)
        if most is None:
            raise ConfigError(
                f"a budget cannot be kept where the answers of {self.name} have no limit; give max_tokens"
            )
        return await self._purse.reserve(most)

    @property
    def _keeps_budget(self) -> bool:
        return self._purse is not None and self._price is not None and self._purse.has_budget

    def _priced(self, reply: Reply, tally: WireCount) -> Reply:
        """The reply with its cost, and with no tokens below zero, which would give money back, or beyond all sums."""
        reply = replace(
            reply,
            input_tokens=_bounded(reply.input_tokens),
            cached_input_tokens=_bounded(reply.cached_input_tokens),
            cache_write_tokens=_bounded(reply.cache_write_tokens),
            output_tokens=_bounded(reply.output_tokens),
        )
        if tally.sent and tally.sent == tally.declined:
            return replace(reply, cost_usd=0.0)
        # A prompt has tokens: an endpoint that counts none does not say what it took.
        is_counted = not tally.sent or reply.input_tokens > 0
        known = self._price is not None and (is_counted or self._price.is_free)
        return replace(reply, cost_usd=self._price.cost_usd(reply) if self._price is not None and known else None)

    def _book(
        self, request: Request, reservation: Reservation | None, reply: Reply | None, came: _Came, tally: WireCount
    ) -> "Future[None] | None":
        cost = (reply.cost_usd if reply is not None else None) or 0.0
        uncounted = int(reply is not None and reply.cost_usd is None)
        # What is not known is taken for the most that it can be; where that is not known either, it is counted.
        unclear = came.lost + uncounted
        most = self._price.most_usd(request) if self._price is not None and unclear else 0.0
        lost_usd = 0.0 if most is None else most * unclear
        unpriced = uncounted + (came.lost if most is None or self._price is None else 0)
        (request.ledger or self._ledger).add(
            ledger_key(request, self.name),
            replies=came.whole,
            requests=tally.sent,
            declined=tally.declined,
            lost=came.lost,
            lost_usd=lost_usd,
            cost_usd=cost,
            unpriced=unpriced,
            **_tokens(reply),
        )
        if self._purse is None or self._price is None or (reservation is None and not (cost or unclear)):
            return None
        if reservation is not None and cost * BILLION > reservation.most + 1:
            logger.warning(
                "%s charged %s for a request that could cost %s at most by its price and its limit of tokens",
                self.name,
                dollars(cost),
                dollars(reservation.most / BILLION),
            )
        return self._purse.book(reservation, cost_usd=cost, lost_usd=lost_usd, unpriced=unpriced)


def _bounded(count: int) -> int:
    return max(0, min(count, MOST_TOKENS))


def _came(reply: Reply | None, tally: WireCount) -> _Came:
    answered = tally.sent - tally.declined
    whole = int(reply is not None and (answered > 0 or not tally.sent))
    return _Came(whole, max(0, answered - whole))


def _tokens(reply: Reply | None) -> dict[str, float]:
    if reply is None:
        return {}
    return {
        "input_tokens": reply.input_tokens,
        "cached_input_tokens": reply.cached_input_tokens,
        "output_tokens": reply.output_tokens,
    }
