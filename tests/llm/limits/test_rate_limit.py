from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillweave.llm.limits.rate_limit import BURST, TokenBucket


def sent(limit: float, amounts: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """When each goes, and how much: asked for in order, each so long after the one before, as soon as it may."""
    rate, now, went = TokenBucket(limit), 1000.0, []
    for pause, amount in amounts:
        now += pause
        while (wait := rate.wait(now, amount)) > 0:
            now += wait
        rate.book(now, amount)
        went.append((now, amount))
    return went


def most_in_a_minute(went: list[tuple[float, float]]) -> float:
    return max(sum(amount for when, amount in went if start <= when < start + 59.999) for start, _ in went)


@pytest.mark.parametrize("limit", [0.5, 1, 3, 60, 600])
def test_requests_go_at_the_rate_and_never_more_in_a_minute(limit: float) -> None:
    count = max(4, round(3 * limit))
    went = sent(limit, [(0.0, 1)] * count)
    assert most_in_a_minute(went) <= max(limit, 1)
    took = went[-1][0] - went[0][0]
    assert took <= (count - 1) * 60 / limit + 0.001
    # The whole rate is used, but for what may go at once.
    assert took >= (count - 1 - max(1.0, limit * BURST / 60)) * 60 / limit


def test_a_burst_is_a_few_seconds_worth() -> None:
    went = sent(600, [(0.0, 1)] * 50)
    assert sum(when == went[0][0] for when, _ in went) == 30
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(went[30:])]
    assert gaps == pytest.approx([0.1] * 19)


@given(
    st.floats(20, 5000),
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 7.0, 61.0]), st.integers(1, 2000)), min_size=1, max_size=30),
)
def test_no_minute_has_more_than_the_limit_but_for_one_that_is_larger_by_itself(
    limit: float, amounts: list[tuple[float, float]]
) -> None:
    went = sent(limit, amounts)
    assert len(went) == len(amounts)
    for start, first in went:
        window = [amount for when, amount in went if start <= when < start + 59.999]
        assert sum(window) <= limit + 1e-6 or window == [first]


def test_what_is_larger_than_the_limit_waits_until_nothing_else_counts() -> None:
    rate = TokenBucket(100)
    rate.book(0.0, 1)
    assert rate.wait(10.0, 250) == pytest.approx(50.0)
    assert rate.wait(60.0, 250) == 0
    rate.book(60.0, 250)
    # It took two and a half minutes' worth.
    assert rate.wait(120.0, 1) == pytest.approx(88.0, abs=1.5)


def test_a_correction_counts_at_once() -> None:
    rate = TokenBucket(600)
    booking = rate.book(0.0, 600)
    assert rate.wait(1.0, 30) == pytest.approx(59)
    rate.correct(booking, 10)
    assert rate.wait(1.0, 30) < 1
    rate.correct(booking, 590)
    assert rate.wait(1.0, 30) > 50
