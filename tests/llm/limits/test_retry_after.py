from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from skillweave.llm.limits.circuit_breaker import retry_after_seconds

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
DATE = "Sun, 01 Mar 2026 12:00:30 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": DATE}, 30.0),
        ({"retry-after": DATE, "date": "Sun, 01 Mar 2026 12:00:20 GMT"}, 10.0),
        ({"retry-after": DATE, "date": "yesterday"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 0.0),
        ({"retry-after": "Sun, 99 Mar 99999 12:00:30 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_seconds_milliseconds_and_dates_are_read_and_nonsense_is_not(
    headers: Mapping[str, str], seconds: float
) -> None:
    assert retry_after_seconds(429, headers, NOW) == seconds


@pytest.mark.parametrize(("status", "seconds"), [(429, 7.0), (503, 7.0), (529, 7.0), (500, 0.0), (200, 0.0)])
def test_only_some_statuses_may_ask_for_it(status: int, seconds: float) -> None:
    assert retry_after_seconds(status, {"retry-after": "7"}, NOW) == seconds
