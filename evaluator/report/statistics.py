"""Statistics of pass rates: exact estimators, intervals by bootstrap over tasks, and the significance of a difference.

Tasks are the units, because trials of one task are not independent. Random draws come from a seed.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import comb, floor, gcd, lcm, lgamma, log, log1p, sqrt
from operator import mul
from random import Random
from typing import NamedTuple

RESAMPLES = 2_000
LEVEL = 0.95
MOST_DRAWS = 20_000_000
"""Most values to draw one by one for one interval: more values get fewer resamples, at least FEWEST_RESAMPLES."""
FEWEST_RESAMPLES = 200
MOST_BITS = 2**35
"""Most bits that an exact test adds up; larger tests sample FLIPS random signs."""
FLIPS = 20_000
_CROWD = 40
"""Tasks of one value from which drawing their number is faster than drawing each."""

Row = tuple[float, ...]
"""The values of one task in several measures."""
_Draw = Callable[[Random], Sequence[int]]


class Interval(NamedTuple):
    low: float
    high: float


class Significance(NamedTuple):
    """The significance of a difference between paired values."""

    difference: float
    """Mean of the second values minus mean of the first."""
    interval: Interval
    """Interval by bootstrap over the pairs."""
    p: float
    """Two-sided p value: how often random signs of the differences give a mean at least as far from 0."""
    is_exact: bool
    """Whether the test counted all signs; else it drew a seeded sample."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k trials passes, of n trials with c passes: 1 - C(n-c, k) / C(n, k)."""
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of k trials pass, of n trials with c passes: C(c, k) / C(n, k)."""
    return comb(c, k) / comb(n, k)


def wilson(successes: float, n: int, *, z: float = 1.959963984540054) -> Interval:
    """Wilson's score interval of a rate over n > 0 trials; the default `z` gives 95 %. Also valid for rates 0 and 1.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    rate, square = successes / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half
    return Interval(low, 1.0 if successes == n else centre + half)


def bootstrap(
    values: Sequence[float], *, seed: int | str, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The percentile interval of the mean; one value for each task, and at least one."""
    rows: Counter[Row] = Counter((value,) for value in values)
    return bootstrap_rows(rows, seed=seed, resamples=resamples, level=level)[0]


def bootstrap_rows(
    rows: Mapping[Row, int], *, seed: int | str, resamples: int = RESAMPLES, level: float = LEVEL
) -> list[Interval]:
    """An interval for each measure, all from the same resamples. `rows` maps the values of a task to a number of tasks.

    Tasks with equal values are drawn together, so that work grows with the number of different rows, not of tasks.
    """
    ordered = sorted(rows)
    counts = [rows[row] for row in ordered]
    total = sum(counts)
    draw, repetitions = _drawing(counts, resamples)
    random = Random(f"bootstrap/{seed}")
    columns = list(zip(*ordered, strict=True))
    means: list[list[float]] = [[] for _ in columns]
    for _ in range(repetitions):
        drawn = draw(random)
        for measure_means, column in zip(means, columns, strict=True):
            measure_means.append(sum(map(mul, drawn, column)) / total)
    return [_percentiles(measure_means, level) for measure_means in means]


def _percentiles(means: list[float], level: float) -> Interval:
    means.sort()
    # A rounding error must not change the position.
    cut = floor(len(means) * (1 - level) / 2 + 1e-9)
    return Interval(means[cut], means[-1 - cut])


def _drawing(counts: Sequence[int], resamples: int) -> tuple[_Draw, int]:
    """The function that draws a resample, as a number for each row, and the number of resamples."""
    total = sum(counts)
    if total > _CROWD * len(counts):
        return lambda random: multinomial(random, counts), resamples
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    kinds = range(len(counts))

    def draw(random: Random) -> Sequence[int]:
        counter = Counter(random.choices(places, k=total))
        return [counter[place] for place in kinds]

    return draw, min(resamples, max(FEWEST_RESAMPLES, MOST_DRAWS // total))


def multinomial(random: Random, counts: Sequence[int]) -> list[int]:
    """Draw `sum(counts)` times with replacement; return how many draws fall on each count."""
    left = weight = sum(counts)
    numbers = []
    for count in counts[:-1]:
        drawn = binomial(random, left, count / weight)
        numbers.append(drawn)
        left -= drawn
        weight -= count
    return [*numbers, left]


def binomial(random: Random, n: int, p: float) -> int:
    """Draw how many of n trials succeed, each with the chance p, exactly from the binomial distribution.

    For few successes, draw the gaps between them; for many, use transformed rejection (W. Hörmann, The generation of
    binomial random variates, 1993: algorithm BTRS).
    """
    if p > 0.5:
        return n - binomial(random, n, 1 - p)
    if n <= 0 or p <= 0:
        return 0
    return _by_gaps(random, n, p) if n * p < 10 else _by_rejection(random, n, p)


def _by_gaps(random: Random, n: int, p: float) -> int:
    scale = log1p(-p)
    place = successes = 0
    while True:
        place += floor(log1p(-random.random()) / scale) + 1
        if place > n:
            return successes
        successes += 1


def _by_rejection(random: Random, n: int, p: float) -> int:
    spread = sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    certain = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    odds = log(p / (1 - p))
    mode = floor((n + 1) * p)
    at_mode = lgamma(mode + 1) + lgamma(n - mode + 1)
    while True:
        u = random.random() - 0.5
        v = 1 - random.random()
        edge = 0.5 - abs(u)
        if edge <= 0:
            continue
        k = floor((2 * a / edge + b) * u + n * p + 0.5)
        if not 0 <= k <= n:
            continue
        if edge >= 0.07 and v <= certain:
            return k
        height = log(v * alpha / (a / (edge * edge) + b))
        if height <= at_mode - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * odds:
            return k


def paired(a: Sequence[Fraction], b: Sequence[Fraction], *, seed: int | str = 0) -> Significance:
    """Test whether the means of `b` and `a` differ by more than chance. `a` and `b` must not be empty.

    The p value is that of the sign-flip test; with one trial a task it is McNemar's exact test.
    """
    differences = [second - first for first, second in zip(a, b, strict=True)]
    interval = bootstrap([float(value) for value in differences], seed=seed)
    p, is_exact = _sign_flips(differences, seed)
    return Significance(float(sum(differences) / len(differences)), interval, p, is_exact)


def _sign_flips(differences: Sequence[Fraction], seed: int | str) -> tuple[float, bool]:
    """The p value, and whether it is exact."""
    scale = lcm(*(value.denominator for value in differences))
    whole = [int(value * scale) for value in differences if value]
    if not sum(whole):
        return 1.0, True
    unit = gcd(*whole)
    weights = [abs(value) // unit for value in whole]
    observed = abs(sum(whole)) // unit
    # Signs give sum(weights) - 2 * (sum of the negative weights): as extreme iff that sum is at most this.
    most = (sum(weights) - observed) // 2
    if max(weights) == 1:
        return 2 * _subsets_up_to(len(weights), most) / 2 ** len(weights), True
    if len(weights) * (len(weights) + 1) * (most + 1) <= MOST_BITS:
        return 2 * _subsets_of(weights, most) / 2 ** len(weights), True
    return _sampled_flips(Counter(weights), observed, Random(f"flips/{seed}")), False


def _subsets_up_to(n: int, most: int) -> int:
    """Number of subsets of n things with at most `most` members."""
    count = total = 1
    for size in range(1, most + 1):
        count = count * (n - size + 1) // size
        total += count
    return total


def _subsets_of(weights: Sequence[int], most: int) -> int:
    """Number of subsets whose weights add up to at most `most`.

    One long integer holds the count of each sum in a field of its own, so that each weight needs one addition.
    """
    width = len(weights) // 8 + 1
    inside = (1 << (8 * width * (most + 1))) - 1
    sums = 1
    for weight in [weight for weight in weights if weight <= most]:
        sums = (sums + (sums << (8 * width * weight))) & inside
    fields = sums.to_bytes(width * (most + 1), "little")
    return sum(int.from_bytes(fields[at : at + width], "little") for at in range(0, len(fields), width))


def _sampled_flips(weights: Mapping[int, int], observed: int, random: Random) -> float:
    """The share of random signs that are as extreme, including the observed signs, so that it is never 0."""
    ordered = sorted(weights.items())
    hits = 0
    for _ in range(FLIPS):
        total = sum(weight * (2 * binomial(random, count, 0.5) - count) for weight, count in ordered)
        hits += abs(total) >= observed
    return (hits + 1) / (FLIPS + 1)
