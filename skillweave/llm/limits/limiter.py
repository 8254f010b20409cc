"""The limiter of one endpoint: a request waits here until it may be sent.

Nothing is sent while the endpoint is down or wants a pause. Requests and tokens a minute go in the order in which
they were asked for. Slots limit what is under way, at this endpoint and over all endpoints together. A request that
waits holds none of the common slots.
"""

import copy
import logging
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

from skillweave.base.progress import waiting_for
from skillweave.llm.limits.circuit_breaker import CircuitBreaker, EndpointFailure, retry_after_seconds
from skillweave.llm.limits.rate_limit import Notifier, RateBooking, RateLimiter, SharedSemaphore

logger = logging.getLogger(__name__)

OUTAGE_S = 600.0


@dataclass(frozen=True)
class Permit:
    """The leave of one request to be sent."""

    is_probe: bool = False
    """Whether the request tests if an endpoint is up again."""
    booked: RateBooking | None = None


PLAIN_PERMIT = Permit()
LATEST_PERMIT: ContextVar[Permit] = ContextVar("latest_permit", default=PLAIN_PERMIT)
"""The permit of the current task's last request."""


class EndpointLimiter:
    """Circuit breaker, rate limit and slots of one endpoint, for all threads and event loops of the process."""

    def __init__(
        self,
        name: str,
        slots: SharedSemaphore | None = None,
        *,
        max_concurrency: int | None = None,
        rate: RateLimiter | None = None,
        outage_s: float = OUTAGE_S,
    ) -> None:
        """Args:
        name: What messages call the endpoint.
        slots: Slots that it shares with other endpoints; None is no common limit.
        max_concurrency: Requests under way at this endpoint; None is no limit of its own.
        rate: Requests and tokens a minute; None is no limit.
        outage_s: Seconds that a request waits for the endpoint while it is down.
        """
        self.name = name
        self._common = slots
        self._own = None if max_concurrency is None else SharedSemaphore(max_concurrency)
        self._rate = rate
        self._circuit = CircuitBreaker(name, outage_s)
        self._changes = Notifier()
        self._lock = threading.Lock()
        """Guards the circuit breaker and the notifier."""
        self._is_patient = True

    def impatient(self) -> "EndpointLimiter":
        """The same limiter for requests that have another author: they do not wait for an endpoint that is down."""
        limiter = copy.copy(self)
        limiter._is_patient = False
        return limiter

    @property
    def is_down(self) -> bool:
        """Whether the endpoint has given no answer for a while, and gets only probes."""
        return self._circuit.is_open

    async def acquire(self, size: int) -> Permit:
        """Wait until a request may be sent; `release` has to follow.

        Args:
            size: Bytes of the request.

        Raises:
            OutageError: The endpoint is down, and waiting for it would take too long.
        """
        while True:
            is_probe = not self._circuit.is_calm and await self._admit()
            try:
                booked = await self._reserve(size)
            except BaseException:
                self._end_probe(is_probe)
                raise
            if is_probe or self._circuit.is_calm:
                permit = Permit(is_probe, booked) if is_probe or booked is not None else PLAIN_PERMIT
                LATEST_PERMIT.set(permit)
                return permit
            # While the request waited, the endpoint went down or asked for a pause.
            self._release_slots()
            if self._rate is not None and booked is not None:
                self._rate.cancel(booked)

    def release(self, permit: Permit) -> None:
        """End a request: it has been answered, or will not be."""
        self._release_slots()
        self._end_probe(permit.is_probe)

    def answered(self) -> None:
        """Note that the endpoint answered, if only that a request is wrong."""
        if self._circuit.was_reached and not self._circuit.has_failed:
            return
        with self._lock:
            was_down = self._circuit.answered()
            self._changes.notify_all()
        if was_down:
            logger.warning("%s answers again", self.name)

    def failed(self, failure: EndpointFailure) -> None:
        """Note that the endpoint did not answer, or said that it cannot."""
        with self._lock:
            is_new = self._circuit.failed(time.monotonic(), failure)
        if is_new:
            logger.warning(
                "%s is down (%s); it is tried again and again for up to %g seconds%s",
                self.name,
                failure.why,
                self._circuit.patience_s,
                " (llm.outage_s)" if self._circuit.was_reached else "",
            )

    def read_retry_after(self, status: int, headers: Mapping[str, str]) -> None:
        """Pause for as long as the headers of an answer ask for."""
        seconds = retry_after_seconds(status, headers, datetime.now(UTC))
        if seconds > 0:
            with self._lock:
                self._circuit.pause(time.monotonic(), seconds)

    def record_tokens(self, prompt: int, answer: int) -> None:
        """Correct the estimate for the current task's last request by the endpoint's own count of tokens."""
        booked = LATEST_PERMIT.get().booked
        if self._rate is not None and booked is not None and prompt + answer > 0:
            self._rate.correct(booked, prompt, answer)

    async def _admit(self) -> bool:
        """Wait until the circuit breaker lets the request go. Whether it is a probe."""
        while True:
            with self._lock:
                admission = self._circuit.admit(time.monotonic(), is_patient=self._is_patient)
                if admission.wait <= 0:
                    return admission.is_probe
                waiter = self._changes.subscribe()
            with waiting_for(self.name, admission.waits_for, admission.until):
                await self._changes.wait(waiter, admission.wait)

    async def _reserve(self, size: int) -> RateBooking | None:
        """Take slots and book the rate, at the moment in which both are to be had."""
        rate = self._rate
        if rate is None:
            await self._take_slots()
            return None
        tokens = rate.estimate(size)
        async with rate.turn:
            while True:
                await rate.ready(tokens)
                await self._take_slots()
                booked = rate.book(tokens)
                if booked is not None:
                    return booked
                self._release_slots()

    async def _take_slots(self) -> None:
        if self._own is not None:
            await self._own.__aenter__()
        try:
            if self._common is not None:
                await self._common.__aenter__()
        except BaseException:
            if self._own is not None:
                self._own.release()
            raise

    def _release_slots(self) -> None:
        if self._common is not None:
            self._common.release()
        if self._own is not None:
            self._own.release()

    def _end_probe(self, is_probe: bool) -> None:
        if is_probe:
            with self._lock:
                self._circuit.end_probe(time.monotonic())
                self._changes.notify_all()
