"""Whether an endpoint can be asked: it can, it wants a pause, or it is down.

After some failures in a row that speak of the endpoint, not of one request, the circuit opens: only one probe at
growing intervals is sent until something is answered. The caller says what time it is; nothing here waits or reads
a clock. Not safe across threads.

Where nothing ever answered, the address may be wrong or the server not started: that is said within seconds. An
endpoint that has answered before, if only with an error, is waited for.

The SDKs read `retry-after` only for their own retries, which are off: a pause has to hold for all requests.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from skillweave.base.errors import OutageError, UnreachedError

FAILURES = 3
"""Failures in a row that open the circuit."""
FIRST_INTERVAL = 1.0
LONGEST_INTERVAL = 30.0
"""Seconds between probes; each interval is twice the one before."""
FIRST_CONTACT_S = 5.0
"""Seconds for which an endpoint is tried that was never reached."""
LONGEST_IMPATIENT_PAUSE = 60.0
"""Longest pause in seconds that a request waits for if another author can be asked."""
RESUMES = "once it answers again, the same command goes on"
RETRY_AFTER_STATUSES = (429, 503, 529)
"""Statuses of answers whose headers may ask for a pause."""


class EndpointFailure(NamedTuple):
    """A request that the endpoint did not answer."""

    why: str
    source: int
    """Equal for tries of the same request, which may be what the endpoint cannot handle."""
    is_certain: bool
    """Whether no request can be the cause: the endpoint was not reached, or a proxy before it says that it is down."""
    is_unreached: bool = False
    """Whether nothing of the endpoint was heard: there may be none."""


class Admission(NamedTuple):
    """Whether a request may be sent."""

    wait: float
    """Seconds after which to ask again; 0: it may be sent."""
    is_probe: bool = False
    waits_for: str = ""
    """What is waited for, in a few words."""
    until: float = 0.0
    """Until when at most, by the caller's clock."""


class CircuitBreaker:
    """The state of one endpoint, as its answers and failures tell it."""

    def __init__(self, name: str, outage_s: float) -> None:
        """Args:
        name: What messages call the endpoint.
        outage_s: Seconds that a request waits for an endpoint that is down.
        """
        self._name = name
        self._outage_s = outage_s
        self._failures = 0
        self._last: EndpointFailure | None = None
        self._is_endpoint_at_fault = False
        """Whether the failures cannot all come from one request."""
        self._since = 0.0
        self._next_probe = 0.0
        self._interval = FIRST_INTERVAL
        self._is_probed = False
        self._pause_until = 0.0
        self.is_open = False
        self.was_reached = False
        """Whether anything was ever heard of the endpoint."""

    @property
    def is_calm(self) -> bool:
        """Whether every request may go at once."""
        return not self.is_open and not self._pause_until

    @property
    def has_failed(self) -> bool:
        """Whether nothing was answered since the last failure."""
        return self._last is not None

    @property
    def patience_s(self) -> float:
        """Seconds that a request waits for the endpoint."""
        return self._outage_s if self.was_reached else min(self._outage_s, FIRST_CONTACT_S)

    def admit(self, now: float, *, is_patient: bool) -> Admission:
        """Say whether a request may be sent.

        Args:
            now: Seconds, by the caller's clock.
            is_patient: Whether the request waits for an endpoint that is down.

        Raises:
            OutageError: Waiting would take too long.
        """
        pause = self._pause_until - now
        if pause > 0:
            return self._after_pause(pause, is_patient)
        self._pause_until = 0.0
        if not self.is_open:
            return Admission(0.0)
        if now >= self._next_probe and not self._is_probed:
            self._is_probed = True
            return Admission(0.0, is_probe=True)
        until = self._since + self.patience_s
        left = until - now
        if left <= 0 or not is_patient:
            raise self._outage(now, is_patient)
        waits_for = f"{self._name}, {self._down(now)}"
        return Admission(left if self._is_probed else min(left, self._next_probe - now), False, waits_for, until)

    def pause(self, now: float, seconds: float) -> None:
        """Send nothing for so long: the endpoint asked for it."""
        self._pause_until = max(self._pause_until, now + seconds)

    def answered(self) -> bool:
        """Note an answer. Whether it ends an outage."""
        was_open = self.is_open
        self.was_reached = True
        self._failures, self._last, self._is_endpoint_at_fault = 0, None, False
        self.is_open = self._is_probed = False
        return was_open

    def failed(self, now: float, failure: EndpointFailure) -> bool:
        """Note a failure. Whether it begins an outage."""
        if self._last is None:
            self._since = now
        self.was_reached |= not failure.is_unreached
        is_other_request = self._last is not None and failure.source != self._last.source
        self._is_endpoint_at_fault |= failure.is_certain or is_other_request
        self._failures += 1
        self._last = failure
        if self.is_open or self._failures < FAILURES or not self._is_endpoint_at_fault:
            return False
        self.is_open = True
        self._interval = FIRST_INTERVAL
        self._next_probe = now + self._interval
        return True

    def end_probe(self, now: float) -> None:
        """Note that the probe has ended; if it was not answered, the next one comes later."""
        if self.is_open:
            self._is_probed = False
            self._interval = min(2 * self._interval, LONGEST_INTERVAL)
            self._next_probe = now + self._interval

    def _after_pause(self, seconds: float, is_patient: bool) -> Admission:
        most = self._outage_s if is_patient else min(LONGEST_IMPATIENT_PAUSE, self._outage_s)
        if seconds > most:
            raise OutageError(
                f"{self._name}: wants no request for {seconds:.0f} seconds, and no more than {most:g} are waited for "
                f"(llm.outage_s); {RESUMES}"
            )
        return Admission(seconds, False, f"{self._name}, which asked for a pause", self._pause_until)

    def _down(self, now: float) -> str:
        since = datetime.now().astimezone() - timedelta(seconds=now - self._since)
        why = self._last.why if self._last is not None else "no answer"
        return f"down since {since:%H:%M:%S} ({why})"

    def _outage(self, now: float, is_patient: bool) -> OutageError:
        if not self.was_reached:
            why = self._last.why if self._last is not None else "no answer"
            tried = f" in {now - self._since:.0f} seconds of trying" if is_patient else ""
            return UnreachedError(
                f"{self._name}: {why}; it never answered{tried}; start the server, or correct base_url; {RESUMES}"
            )
        waited = f"waited for {self._outage_s:g} seconds (llm.outage_s)" if is_patient else "another author is at hand"
        return OutageError(f"{self._name}: {self._down(now)}; {waited}; {RESUMES}")


def retry_after_seconds(status: int, headers: Mapping[str, str], now: datetime) -> float:
    """How long an endpoint asks not to be sent anything.

    Args:
        status: HTTP status of its answer.
        headers: Of its answer; `retry-after-ms` is read before `retry-after`, a number of seconds or a date.
        now: With its time zone; used if the answer has no date of its own.

    Returns:
        Seconds; 0 if it asks for no pause, or for something that cannot be read.
    """
    if status not in RETRY_AFTER_STATUSES:
        return 0.0
    value = headers.get("retry-after", "")
    seconds = _number(headers.get("retry-after-ms", "")) / 1000 or _number(value) or _until(value, headers, now)
    return max(0.0, seconds)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _until(text: str, headers: Mapping[str, str], now: datetime) -> float:
    """Seconds from the date of the answer, if it has one, since the endpoint's clock may differ from ours."""
    moment = _date(text)
    return 0.0 if moment is None else (moment - (_date(headers.get("date", "")) or now)).total_seconds()


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # A date in GMT, as HTTP has it, may come without a zone.
    return moment if moment.tzinfo is not None else None
