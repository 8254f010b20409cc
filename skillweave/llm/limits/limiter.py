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

from skillweave.llm.limits.circuit_breaker import CircuitBreaker, EndpointFailure, retry_after_seconds
from skillweave.llm.limits.rate_limit import Notifier, RateBooking, RateLimiter, SharedSemaphore

logger = logging.getLogger(__name__)

OUTAGE_S = 600.0


@dataclass(frozen=True)
class Permit:
    """One request's leave to be sent."""

    is_probe: bool = False
    booked: RateBooking | None = None


PLAIN_PERMIT = Permit()
LATEST_PERMIT: ContextVar[Permit] = ContextVar("pass", default=PLAIN_PERMIT)
"""What the task at hand sent its last request with."""


class EndpointLimiter:
    def __init__(
        self,
        name: str,
        gate: SharedSemaphore | None = None,
        *,
        max_concurrency: int | None = None,
        pace: RateLimiter | None = None,
        outage_s: float = OUTAGE_S,
    ) -> None:
        """`gate` is shared with other lanes; an endpoint that is down is waited for `outage_s` seconds."""
        self.name = name
        self._common = gate
        self._own = None if max_concurrency is None else SharedSemaphore(max_concurrency)
        self._pace = pace
        self._outage_s = outage_s
        self._circuit = CircuitBreaker(name, outage_s)
        self._bell = Notifier()
        self._lock = threading.Lock()
        """Of the circuit and the bell."""
        self._is_patient = True

    def hurried(self) -> "EndpointLimiter":
        """The same lane, for who has somebody else to ask and does not wait for an endpoint that is down."""
        lane = copy.copy(self)
        lane._is_patient = False
        return lane

    @property
    def is_down(self) -> bool:
        """Whether the endpoint gave no answer for a while, and is only probed."""
        return self._circuit.is_open

    async def enter(self, size: int) -> Permit:
        """Wait until a request of so many bytes may be sent; `leave` has to follow. Raises OutageError."""
        while True:
            is_probe = not self._circuit.is_quiet and await self._admitted()
            try:
                booked = await self._ready(size)
            except BaseException:
                self._probed(is_probe)
                raise
            if is_probe or self._circuit.is_quiet:
                leave = Permit(is_probe, booked) if is_probe or booked is not None else PLAIN_PERMIT
                LATEST_PERMIT.set(leave)
                return leave
            # While it waited, the endpoint fell silent.
            self._give_back()
            if self._pace is not None and booked is not None:
                self._pace.cancel(booked)

    def leave(self, given: Permit) -> None:
        """What was sent has been answered, or will not be."""
        self._give_back()
        self._probed(given.is_probe)

    def answered(self) -> None:
        """The endpoint said something of sense, if only that the request is wrong."""
        if not self._circuit.has_failed:
            return
        with self._lock:
            was_down = self._circuit.answered()
            self._bell.ring()
        if was_down:
            logger.warning("%s answers again", self.name)

    def failed(self, failure: EndpointFailure) -> None:
        """The endpoint said nothing, or that it cannot."""
        with self._lock:
            is_new = self._circuit.failed(time.monotonic(), failure)
        if is_new:
            logger.warning(
                "%s is down (%s); it is tried again and again for up to %g seconds (llm.outage_s)",
                self.name,
                failure.why,
                self._outage_s,
            )

    def heed(self, status: int, headers: Mapping[str, str]) -> None:
        """Leave the endpoint alone for as long as an answer asks for it."""
        seconds = retry_after_seconds(status, headers, datetime.now(UTC))
        if seconds > 0:
            with self._lock:
                self._circuit.leave_alone(time.monotonic(), seconds)

    def took(self, prompt: int, answer: int) -> None:
        """What the task's last request took, in tokens, by the endpoint's own count."""
        booked = LATEST_PERMIT.get().booked
        if self._pace is not None and booked is not None and prompt + answer > 0:
            self._pace.correct(booked, prompt, answer)

    async def _admitted(self) -> bool:
        """Wait until the circuit lets the request go; whether it is a probe."""
        while True:
            with self._lock:
                admission = self._circuit.admit(time.monotonic(), is_patient=self._is_patient)
                if admission.wait <= 0:
                    return admission.is_probe
                waiter = self._bell.listen()
            await self._bell.heard(waiter, admission.wait)

    async def _ready(self, size: int) -> RateBooking | None:
        """Slots, and what the request takes of its minute, booked at the moment in which it has both."""
        pace = self._pace
        if pace is None:
            await self._slots()
            return None
        tokens = pace.estimate(size)
        async with pace.turn:
            while True:
                await pace.ready(tokens)
                await self._slots()
                booked = pace.book(tokens)
                if booked is not None:
                    return booked
                self._give_back()

    async def _slots(self) -> None:
        if self._own is not None:
            await self._own.__aenter__()
        try:
            if self._common is not None:
                await self._common.__aenter__()
        except BaseException:
            if self._own is not None:
                self._own.release()
            raise

    def _give_back(self) -> None:
        if self._common is not None:
            self._common.release()
        if self._own is not None:
            self._own.release()

    def _probed(self, is_probe: bool) -> None:
        if is_probe:
            with self._lock:
                self._circuit.probed(time.monotonic())
                self._bell.ring()
