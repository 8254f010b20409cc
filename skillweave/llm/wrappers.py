"""Backends around a backend: defaults from the configuration, retries, and metering.

This is the only place where a request is sent again; the SDKs' own retries are off, since each try has to be paid for
by itself, and tries during an outage are not counted. Metering stands inside of retrying, so that what a try can cost
is reserved before each try.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import NamedTuple

from skillweave.base.errors import ConfigError, ProviderError, StopError
from skillweave.llm.backends.backend import WIRE_COUNT, Backend, BackendWrapper, Reply, Request, Sampling, WireCount
from skillweave.llm.backends.body import MOST_TOKENS
from skillweave.llm.budget import BILLION, Reservation, SharedBudget
from skillweave.llm.ledger import Ledger, Price, dollars
from skillweave.llm.limits.limiter import EndpointLimiter

logger = logging.getLogger(__name__)

FIRST_DELAY = 0.5
"""Longest delay before the first retry, in seconds; the limit doubles with each further retry."""
LONGEST_DELAY = 60.0


class DefaultsBackend(BackendWrapper):
    """Fills in what a request leaves open: the model, and the sampling of the configuration.

    It stands outermost, so that caches and cassettes see what is really sent.
    """

    def __init__(self, inner: Backend, model: str, sampling: Sampling) -> None:
        super().__init__(inner)
        self._model = model
        self._sampling = sampling

    async def complete(self, request: Request) -> Reply:
        sampling = request.sampling.or_else(self._sampling)
        return await self._inner.complete(replace(request, model=self._model, sampling=sampling))


class LimitedBackend(BackendWrapper):
    """Keeps the limits of an endpoint around a whole call, for backends that do not send through our transport."""

    def __init__(self, inner: Backend, limiter: EndpointLimiter) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def complete(self, request: Request) -> Reply:
        size = sum(len(message.content or "") for message in request.messages)
        permit = await self._limiter.acquire(size)
        try:
            return await self._inner.complete(request)
        finally:
            self._limiter.release(permit)


class RetryingBackend(BackendWrapper):
    """Tries again what may succeed: dropped and garbled answers, faults of the endpoint, too many requests.

    Tries are counted while the endpoint works. A try that begins during an outage is free, since the limiter makes it
    wait, as long as the configuration allows. The limiter also keeps the pauses that an endpoint asks for; the pauses
    made here are for endpoints that ask for none.
    """

    def __init__(
        self,
        inner: Backend,
        retries: int,
        limiter: EndpointLimiter,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Args:
        inner: Who answers.
        retries: How often a failed request is sent again.
        limiter: The endpoint's; it says whether the endpoint is down.
        sleep: Waits so many seconds.
        """
        super().__init__(inner)
        self._retries = retries
        self._limiter = limiter
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        failures = 0
        while True:
            is_free = self._limiter.is_down
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
                self._limiter.record_tokens(reply.input_tokens, reply.output_tokens)
                return reply
            if not is_free:
                await self._sleep(_delay(failures))
        # Raised out here, so that no other error is chained to it.
        raise ProviderError(f"{last} (gave up after {self._retries} retries)")


def _delay(failures: int) -> float:
    """A random number of seconds, so that requests that failed together do not come back together."""
    return random.uniform(0.0, min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(failures - 1, 10)))


class _TryResult(NamedTuple):
    """What one try came to at the wire."""

    whole: int
    """Replies that were sent to their end."""
    lost: int
    """Requests without a whole reply and without an error status."""


class MeteredBackend(BackendWrapper):
    """Enters what each try of a request cost, in the ledger and in the budget, before the reply is handed on."""

    def __init__(
        self,
        inner: Backend,
        ledger: Ledger,
        price: Price | None = None,
        budget: SharedBudget | None = None,
        longest_answer: int | None = None,
    ) -> None:
        """Args:
        inner: Who answers.
        ledger: Where requests without a ledger of their own are entered.
        price: None if it is not known.
        budget: None if nothing is paid for.
        longest_answer: With a budget, the limit of tokens for requests that set none. It is set here, inside of the
            cache, so that a budget makes no cached reply another one.
        """
        super().__init__(inner)
        self._ledger = ledger
        self._price = price
        self._budget = budget
        self._limit = Sampling(max_tokens=longest_answer)

    async def complete(self, request: Request) -> Reply:
        if self._keeps_budget:
            request = replace(request, sampling=request.sampling.or_else(self._limit))
        reservation = await self._reserve(request)
        count, reply = WireCount(), None
        token = WIRE_COUNT.set(count)
        try:
            reply = self._with_cost(await self._inner.complete(request), count)
        finally:
            WIRE_COUNT.reset(token)
            booking = self._book(request, reservation, reply, count)
        if booking is not None and reservation is not None:
            await asyncio.wrap_future(booking)
        return reply

    async def close(self) -> None:
        await super().close()
        if self._budget is not None:
            await self._budget.close()

    async def _reserve(self, request: Request) -> Reservation | None:
        """Reserve the most that a try can cost; None if there is no budget to keep."""
        if self._budget is None or self._price is None or not self._keeps_budget:
            return None
        most = self._price.most_usd(request)
        if most is None:
            raise ConfigError(
                f"a budget cannot be kept where the answers of {self.name} have no limit; give max_tokens"
            )
        return await self._budget.reserve(most)

    @property
    def _keeps_budget(self) -> bool:
        return self._budget is not None and self._price is not None and self._budget.has_limit

    def _with_cost(self, reply: Reply, count: WireCount) -> Reply:
        """The reply with its cost, and with token counts that are neither negative nor absurdly large."""
        reply = replace(
            reply,
            input_tokens=_bounded(reply.input_tokens),
            cached_input_tokens=_bounded(reply.cached_input_tokens),
            cache_write_tokens=_bounded(reply.cache_write_tokens),
            output_tokens=_bounded(reply.output_tokens),
        )
        if count.sent and count.sent == count.declined:
            return replace(reply, cost_usd=0.0)
        # A prompt has tokens: an endpoint that counts none does not say what the request took.
        is_counted = not count.sent or reply.input_tokens > 0
        is_known = self._price is not None and (is_counted or self._price.is_free)
        return replace(reply, cost_usd=self._price.cost_usd(reply) if self._price is not None and is_known else None)

    def _book(
        self, request: Request, reservation: Reservation | None, reply: Reply | None, count: WireCount
    ) -> "Future[None] | None":
        """Enter a try. The future is done when the budget has it on the disk; None if the budget is not concerned."""
        result = _try_result(reply, count)
        cost = (reply.cost_usd if reply is not None else None) or 0.0
        uncounted = int(reply is not None and reply.cost_usd is None)
        # An unknown cost is taken for the most that it can be; if that is not known either, the request is counted.
        unclear = result.lost + uncounted
        most = self._price.most_usd(request) if self._price is not None and unclear else 0.0
        lost_usd = 0.0 if most is None else most * unclear
        unpriced = uncounted + (result.lost if most is None or self._price is None else 0)
        (request.ledger or self._ledger).record(
            request,
            self.name,
            replies=result.whole,
            requests=count.sent,
            declined=count.declined,
            lost=result.lost,
            lost_usd=lost_usd,
            cost_usd=cost,
            unpriced=unpriced,
            **_tokens(reply),
        )
        if self._budget is None or self._price is None or (reservation is None and not (cost or unclear)):
            return None
        if reservation is not None and cost * BILLION > reservation.most + 1:
            logger.warning(
                "%s charged %s for a request that could cost %s at most by its price and its limit of tokens",
                self.name,
                dollars(cost),
                dollars(reservation.most / BILLION),
            )
        return self._budget.book(reservation, cost_usd=cost, lost_usd=lost_usd, unpriced=unpriced)


def _bounded(count: int) -> int:
    return max(0, min(count, MOST_TOKENS))


def _try_result(reply: Reply | None, count: WireCount) -> _TryResult:
    answered = count.sent - count.declined
    whole = int(reply is not None and (answered > 0 or not count.sent))
    return _TryResult(whole, max(0, answered - whole))


def _tokens(reply: Reply | None) -> dict[str, float]:
    if reply is None:
        return {}
    return {
        "input_tokens": reply.input_tokens,
        "cached_input_tokens": reply.cached_input_tokens,
        "output_tokens": reply.output_tokens,
    }
