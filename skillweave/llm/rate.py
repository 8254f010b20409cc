"""So many a minute, of requests or of tokens, in the order in which they ask.

Promised is: what is booked within any 60 seconds is never more than the limit, and what is booked at one moment never
more than `BURST` seconds' worth. An amount that is larger than that by itself waits until nothing else counts, and what
it takes beyond its share is then waited for by those behind it. Amounts may be estimates; a correction counts from when
it is made. Whoever asks says what time it is, so that nothing here waits or reads a clock. Not safe across threads.
"""

from collections import deque
from dataclasses import dataclass

MINUTE = 60.0
BURST = 3.0
"""Seconds' worth that may go at once after a quiet time."""
MOMENT = 1e-6
"""Seconds that are as good as none; clocks and sums of fractions are no more exact."""


@dataclass
class Booking:
    """What one request took of a rate."""

    moment: float
    amount: float


class Rate:
    def __init__(self, per_minute: float) -> None:
        self._limit = per_minute
        self._refill = per_minute / MINUTE
        # The smallest amount fits, or nothing would ever go.
        self._burst = max(1.0, BURST * self._refill)
        self._level = self._burst
        self._filled_at = 0.0
        self._booked: deque[Booking] = deque()
        self._sum = 0.0

    def wait(self, now: float, amount: float) -> float:
        """Seconds until so much can be booked, 0 if it can be now."""
        self._move_on(now)
        short = min(amount, self._burst) - self._level
        wait = max(short / self._refill, self._until_room(now, amount))
        return wait if wait > MOMENT else 0.0

    def book(self, now: float, amount: float) -> Booking:
        """Take it, after `wait` said 0."""
        self._move_on(now)
        booking = Booking(now, 0.0)
        self._booked.append(booking)
        self.correct(booking, amount)
        return booking

    def correct(self, booking: Booking, amount: float) -> None:
        """It took so much, as is known now."""
        more = amount - booking.amount
        booking.amount = amount
        self._level = min(self._burst, self._level - more)
        if self._booked and booking.moment >= self._booked[0].moment:
            self._sum += more

    def _move_on(self, now: float) -> None:
        self._level = min(self._burst, self._level + (now - self._filled_at) * self._refill)
        self._filled_at = now
        while self._booked and self._booked[0].moment <= now - MINUTE:
            self._sum -= self._booked.popleft().amount
        if not self._booked:
            # Sums of fractions drift.
            self._sum = 0.0

    def _until_room(self, now: float, amount: float) -> float:
        """Seconds until enough of the last minute is over; a larger amount than a minute's needs all of it over."""
        room = self._limit - self._sum
        if amount <= room or not self._booked:
            return 0.0
        for booking in self._booked:
            room += booking.amount
            if amount <= room:
                return booking.moment + MINUTE - now
        return self._booked[-1].moment + MINUTE - now
