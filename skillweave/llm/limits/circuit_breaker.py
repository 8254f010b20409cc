"""Whether an endpoint can be asked: it can, it wants a pause, or it is down.

After some failures in a row that speak of the endpoint, not of one request, the circuit opens: only one probe at
growing intervals is sent until something is answered. The caller says what time it is; nothing here waits or reads
a clock. Not safe across threads.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from skillweave.base.errors import OutageError

RETRY_AFTER_STATUSES = (429, 503, 529)
"""Of answers that may ask for it."""


def retry_after_seconds(status: int, headers: Mapping[str, str], now: datetime) -> float:
    """Seconds, 0 where nothing (or nothing of sense) is asked for; `now` with its zone.

    `retry-after-ms` is read before `retry-after`, which is a number of seconds or a date.
    """
    if status not in RETRY_AFTER_STATUSES:
        return 0.0
    given = headers.get("retry-after", "")
    seconds = _number(headers.get("retry-after-ms", "")) / 1000 or _number(given) or _until(given, headers, now)
    return max(0.0, seconds)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _until(text: str, headers: Mapping[str, str], now: datetime) -> float:
    """From the date of the answer, if it has one, since the endpoint's clock may differ from ours."""
    moment = _date(text)
    return 0.0 if moment is None else (moment - (_date(headers.get("date", "")) or now)).total_seconds()


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # A date in GMT, as HTTP has it, may come without a zone.
    return moment if moment.tzinfo is not None else None


FAILURES = 3
"""In a row, and the circuit opens."""
FIRST_INTERVAL = 1.0
LONGEST_INTERVAL = 30.0
"""Seconds between probes, each interval twice the one before."""
LONGEST_HURRY = 60.0
"""Seconds that an endpoint which asked for it is left alone by who has somebody else to ask."""
GOES_ON = "what is answered is saved, and the same command goes on with it"


class EndpointFailure(NamedTuple):
    why: str
    source: int
    """Equal for tries of the same request, which may be what the endpoint cannot stand."""
    is_certain: bool
    """Whether no request can be the cause: the endpoint was not reached, or something before it says that it is."""


class Admission(NamedTuple):
    wait: float
    """Seconds until it is worth asking again; 0: go."""
    is_probe: bool = False


class CircuitBreaker:
    def __init__(self, name: str, outage_s: float) -> None:
        self._name = name
        self._outage_s = outage_s
        self._failures = 0
        self._last: EndpointFailure | None = None
        self._is_clear = False
        """Whether the failures cannot all be the fault of one request."""
        self._since = 0.0
        self._next_probe = 0.0
        self._interval = FIRST_INTERVAL
        self._is_probed = False
        self._quiet_until = 0.0
        self.is_open = False

    @property
    def is_quiet(self) -> bool:
        """Whether everybody may go at once."""
        return not self.is_open and not self._quiet_until

    @property
    def has_failed(self) -> bool:
        """Whether nothing was answered since the last failure."""
        return self._last is not None

    def admit(self, now: float, *, is_patient: bool) -> Admission:
        """Whether a request may be sent. Raises OutageError where that would take too long."""
        quiet = self._quiet_until - now
        if quiet > 0:
            return self._quieten(quiet, is_patient)
        self._quiet_until = 0.0
        if not self.is_open:
            return Admission(0.0)
        if now >= self._next_probe and not self._is_probed:
            self._is_probed = True
            return Admission(0.0, is_probe=True)
        left = self._since + self._outage_s - now
        if left <= 0 or not is_patient:
            raise self._outage(now, is_patient)
        return Admission(left if self._is_probed else min(left, self._next_probe - now))

    def leave_alone(self, now: float, seconds: float) -> None:
        """The endpoint asked for it."""
        self._quiet_until = max(self._quiet_until, now + seconds)

    def answered(self) -> bool:
        """The endpoint lives. Whether that ends an outage."""
        was_open = self.is_open
        self._failures, self._last, self._is_clear = 0, None, False
        self.is_open = self._is_probed = False
        return was_open

    def failed(self, now: float, failure: EndpointFailure) -> bool:
        """Whether that begins an outage."""
        if self._last is None:
            self._since = now
        self._is_clear |= failure.is_certain or (self._last is not None and failure.source != self._last.source)
        self._failures += 1
        self._last = failure
        if self.is_open or self._failures < FAILURES or not self._is_clear:
            return False
        self.is_open = True
        self._interval = FIRST_INTERVAL
        self._next_probe = now + self._interval
        return True

    def probed(self, now: float) -> None:
        """The probe has ended; where it was not answered, the next one comes later."""
        if self.is_open:
            self._is_probed = False
            self._interval = min(2 * self._interval, LONGEST_INTERVAL)
            self._next_probe = now + self._interval

    def _quieten(self, seconds: float, is_patient: bool) -> Admission:
        most = self._outage_s if is_patient else min(LONGEST_HURRY, self._outage_s)
        if seconds > most:
            raise OutageError(
                f"{self._name}: wants no request for {seconds:.0f} seconds, and no more than {most:g} are waited for "
                f"(llm.outage_s); {GOES_ON}"
            )
        return Admission(seconds)

    def _outage(self, now: float, is_patient: bool) -> OutageError:
        since = datetime.now().astimezone() - timedelta(seconds=now - self._since)
        why = self._last.why if self._last is not None else "no answer"
        waited = f"waited for {self._outage_s:g} seconds (llm.outage_s)" if is_patient else "another author is at hand"
        return OutageError(f"{self._name}: down since {since:%H:%M:%S} ({why}); {waited}; {GOES_ON}")
