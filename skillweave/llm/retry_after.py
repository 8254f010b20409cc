"""How long an endpoint asks to be left alone, as its answer's headers say it."""

import math
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

STATUSES = (429, 503, 529)
"""Of answers that may ask for it."""


def asked_pause(status: int, headers: Mapping[str, str], now: datetime) -> float:
    """Seconds, 0 where nothing (or nothing of sense) is asked for; `now` with its zone.

    `retry-after-ms` is read before `retry-after`, which is a number of seconds or a date.
    """
    if status not in STATUSES:
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
