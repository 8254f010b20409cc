from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt
from random import Random
from statistics import mean

import pytest

from evaluator.report import statistics
from evaluator.report.statistics import (
    Row,
    binomial,
    bootstrap,
    bootstrap_rows,
    multinomial,
    paired,
    pass_at_k,
    pass_hat_k,
    wilson,
)


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_and_pass_hat_k_are_what_all_subsets_of_the_trials_say(n: int) -> None:
    for c, k in product(range(n + 1), range(1, n + 1)):
        trials = [True] * c + [False] * (n - c)
        subsets = list(combinations(trials, k))
        assert pass_at_k(n, c, k) == pytest.approx(mean(map(any, subsets)), abs=1e-15)
        assert pass_hat_k(n, c, k) == pytest.approx(mean(map(all, subsets)), abs=1e-15)


def test_the_estimators_are_exact_where_the_binomials_are_large() -> None:
    assert pass_at_k(5000, 1, 2500) == 0.5
    assert pass_hat_k(5000, 4999, 2500) == 0.5


BRUTE: list[list[float]] = [
    [0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0, 1.0],
    [0.0, 0.2, 0.4, 0.4, 1.0],
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.9],
]


def all_means(values: Sequence[float]) -> list[float]:
    return sorted(sum(sorted(drawn)) / len(drawn) for drawn in product(values, repeat=len(values)))


@pytest.mark.parametrize("drawn_together", [False, True])
@pytest.mark.parametrize("values", BRUTE)
def test_the_interval_lies_where_all_resamples_say(
    values: list[float], drawn_together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_CROWD", 0 if drawn_together else 1000)
    every = all_means(values)
    for level in (0.5, 0.8, 0.95):
        found = bootstrap(values, seed=7, resamples=20_000, level=level)
        tail = (1 - level) / 2
        # Four standard errors of a share among the resamples.
        slack = 4 * sqrt(tail * (1 - tail) / 20_000)
        for end, share in ((found.low, tail), (found.high, 1 - tail)):
            below = bisect_left(every, end - 1e-9) / len(every)
            up_to = bisect_right(every, end + 1e-9) / len(every)
            assert below - slack <= share <= up_to + slack


def test_a_resample_of_many_tasks_is_as_wide_as_the_standard_error() -> None:
    found = bootstrap([1.0] * 30_000 + [0.0] * 70_000, seed=1)
    width = 1.96 * sqrt(0.3 * 0.7 / 100_000)
    assert found.low == pytest.approx(0.3 - width, abs=0.1 * width)
    assert found.high == pytest.approx(0.3 + width, abs=0.1 * width)


def test_values_that_all_differ_are_resampled_too() -> None:
    values = [place / 1999 for place in range(2000)]
    width = 1.96 * sqrt(1 / 12 / 2000)
    found = bootstrap(values, seed=1, resamples=1000)
    assert (found.high - found.low) / 2 == pytest.approx(width, rel=0.15)


def test_the_interval_is_of_the_seed_and_not_of_the_order() -> None:
    values = [0.0, 0.2, 0.4, 1.0, 1.0] * 20
    shuffled = Random(3).sample(values, len(values))
    assert bootstrap(values, seed=1, resamples=200) == bootstrap(shuffled, seed=1, resamples=200)
    assert bootstrap(values, seed=1, resamples=200) != bootstrap(values, seed=2, resamples=200)


def test_measures_share_their_resamples() -> None:
    rows: dict[Row, int] = {(0.0, 1.0): 5, (1.0, 0.0): 3}
    first, second = bootstrap_rows(rows, seed=1)
    assert second.low == pytest.approx(1 - first.high)
    assert second.high == pytest.approx(1 - first.low)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (7, 0.3), (40, 0.9), (30, 0.5), (400, 0.05), (1000, 0.73), (200, 0.5)])
def test_binomial_draws_have_the_binomial_distribution(n: int, p: float) -> None:
    random = Random(11)
    draws = 20_000
    found = Counter(binomial(random, n, p) for _ in range(draws))
    assert set(found) <= set(range(n + 1))
    above = expected = 0.0
    for k in range(n + 1):
        above += found[k] / draws
        expected += comb(n, k) * p**k * (1 - p) ** (n - k)
        # Kolmogorov's bound at one in ten thousand.
        assert abs(above - expected) < 2.23 / sqrt(draws)


def test_certain_draws_are_certain() -> None:
    random = Random(1)
    assert [binomial(random, n, p) for n, p in ((0, 0.5), (9, 0.0), (9, 1.0))] == [0, 0, 9]


def test_multinomial_draws_are_of_all_and_fall_by_weight() -> None:
    random = Random(5)
    totals = [0, 0, 0]
    for _ in range(4000):
        drawn = multinomial(random, [1, 2, 7])
        assert sum(drawn) == 10
        totals = [total + number for total, number in zip(totals, drawn, strict=True)]
    assert [total / 40_000 for total in totals] == pytest.approx([0.1, 0.2, 0.7], abs=0.01)


def by_all_signs(differences: Sequence[Fraction]) -> float:
    observed = abs(sum(differences, Fraction(0)))
    far = 0
    for signs in product((1, -1), repeat=len(differences)):
        total = sum((sign * value for sign, value in zip(signs, differences, strict=True)), Fraction(0))
        far += abs(total) >= observed
    return far / float(2 ** len(differences))


@pytest.mark.parametrize("seed", range(12))
def test_the_p_value_is_that_of_all_signs(seed: int) -> None:
    random = Random(seed)
    trials = random.choice((1, 2, 3, 5))
    a, b = ([Fraction(random.randint(0, trials), trials) for _ in range(9)] for _ in range(2))
    found = paired(a, b)
    assert found.is_exact
    assert found.p == pytest.approx(by_all_signs([y - x for x, y in zip(a, b, strict=True)]))
    assert found.difference == pytest.approx(float(mean(b) - mean(a)))
    assert paired(b, a).p == found.p


def test_tasks_with_different_numbers_of_trials_are_compared_exactly() -> None:
    a = [Fraction(1, 3), Fraction(1, 7), Fraction(0), Fraction(2, 5), Fraction(1, 2)]
    b = [Fraction(1, 2), Fraction(6, 7), Fraction(1, 5), Fraction(1, 5), Fraction(3, 4)]
    assert paired(a, b).p == pytest.approx(by_all_signs([y - x for x, y in zip(a, b, strict=True)]))


def test_one_trial_a_task_gives_the_exact_test_of_mcnemar() -> None:
    a = [Fraction(1)] * 3 + [Fraction(0)] * 12 + [Fraction(1)] * 50
    b = [Fraction(0)] * 3 + [Fraction(1)] * 12 + [Fraction(1)] * 50
    assert paired(a, b).p == pytest.approx(2 * sum(comb(15, k) for k in range(4)) / 2**15)


def test_no_difference_is_no_evidence() -> None:
    same = [Fraction(1, 2)] * 5
    assert paired(same, same) == (0.0, (0.0, 0.0), 1.0, True)
    assert paired([Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]).p == 1.0


def test_all_to_one_side_is_exact_however_odd_the_fractions() -> None:
    b = [Fraction(1, n) for n in range(1, 60)]
    found = paired([Fraction(0)] * len(b), b)
    assert (found.p, found.is_exact) == (2 / 2**59, True)


def test_a_sample_of_the_signs_comes_close_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(2)
    a = [Fraction(random.randint(0, 5), 5) for _ in range(80)]
    b = [min(Fraction(1), rate + Fraction(random.choice((-1, 0, 0, 1, 2)), 5)) for rate in a]
    exact = paired(a, b)
    monkeypatch.setattr(statistics, "MOST_BITS", 0)
    sampled = paired(a, b)
    assert (exact.is_exact, sampled.is_exact) == (True, False)
    assert sampled.p == pytest.approx(exact.p, abs=4 * sqrt(exact.p / 20_000))
    assert paired(a, b) == sampled


def test_the_interval_of_a_difference_is_by_pairs() -> None:
    a = [Fraction(place % 3, 4) for place in range(40)]
    b = [rate + Fraction(1, 4) for rate in a]
    assert paired(a, b).interval == (0.25, 0.25)


def test_the_score_interval_of_a_rate() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(300, 300) == pytest.approx((0.9874, 1.0), abs=1e-4)
