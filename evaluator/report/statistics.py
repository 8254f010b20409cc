"""Statistics of pass rates: exact estimators, intervals by bootstrap over tasks, and the significance of a difference.

Tasks are the units: trials of one task are no independent evidence. Chance comes from a seed.
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
"""Values drawn one by one for one interval; tasks of many values get fewer resamples, but FEWEST_RESAMPLES."""
FEWEST_RESAMPLES = 200
MOST_BITS = 2**35
"""Bits that an exact test may add up; beyond, FLIPS random signs stand for all."""
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
    """Of a difference between paired values."""

    difference: float
    """Mean of the second less mean of the first."""
    interval: Interval
    """By bootstrap over the pairs."""
    p: float
    """Two-sided: how often random signs of the differences give a mean as far from 0."""
    is_exact: bool
    """Whether all signs were counted; else a seeded sample of them."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k trials passes, of n trials with c passes: 1 - C(n-c, k) / C(n, k)."""
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of k trials pass, of n trials with c passes: C(c, k) / C(n, k)."""
    return comb(c, k) / comb(n, k)


def wilson(successes: int, n: int, *, z: float = 1.959963984540054) -> Interval:
    """The score interval of a rate, of n > 0 trials; `z` for 95 %. It is of use where the rate is 0 or 1, too.

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
    """An interval for each measure, all from the same resamples. `rows`: how many tasks are worth what.

    Tasks that are worth the same are drawn together, so that work grows with the different rows and not with the tasks.
    """
    ordered = sorted(rows)
    counts = [rows[row] for row in ordered]
    total = sum(counts)
    draw, made = _drawing(counts, resamples)
    random = Random(f"bootstrap/{seed}")
    columns = list(zip(*ordered, strict=True))
    means: list[list[float]] = [[] for _ in columns]
    for _ in range(made):
        drawn = draw(random)
        for found, column in zip(means, columns, strict=True):
            found.append(sum(map(mul, drawn, column)) / total)
    return [_percentiles(found, level) for found in means]


def _percentiles(means: list[float], level: float) -> Interval:
    means.sort()
    # A rounding error must not move the position.
    cut = floor(len(means) * (1 - level) / 2 + 1e-9)
    return Interval(means[cut], means[-1 - cut])


def _drawing(counts: Sequence[int], resamples: int) -> tuple[_Draw, int]:
    """How a resample is drawn, as a number for each row, and how many are."""
    total = sum(counts)
    if total > _CROWD * len(counts):
        return lambda random: multinomial(random, counts), resamples
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    kinds = range(len(counts))

    def draw(random: Random) -> Sequence[int]:
        found = Counter(random.choices(places, k=total))
        return [found[place] for place in kinds]

    return draw, min(resamples, max(FEWEST_RESAMPLES, MOST_DRAWS // total))


def multinomial(random: Random, counts: Sequence[int]) -> list[int]:
    """As many draws with replacement as there are in `counts`; how many fall on each."""
    left = weight = sum(counts)
    found = []
    for count in counts[:-1]:
        drawn = binomial(random, left, count / weight)
        found.append(drawn)
        left -= drawn
        weight -= count
    return [*found, left]


def binomial(random: Random, n: int, p: float) -> int:
    """How many of n trials succeed, each with the chance p. The distribution is the binomial one, not a likeness.

    Few successes are found by the gaps between them; many by transformed rejection (W. Hörmann, The generation of
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
    """Whether the means of `b` and `a` differ by more than chance. Pairs, at least one; fractions keep ties exact.

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
    # Signs give sum(weights) - 2 * (sum of the weights that lose): far out iff that sum is at most this.
    most = (sum(weights) - observed) // 2
    if max(weights) == 1:
        return 2 * _subsets_up_to(len(weights), most) / 2 ** len(weights), True
    if len(weights) * (len(weights) + 1) * (most + 1) <= MOST_BITS:
        return 2 * _subsets_of(weights, most) / 2 ** len(weights), True
    return _sampled_flips(Counter(weights), observed, Random(f"flips/{seed}")), False


def _subsets_up_to(n: int, most: int) -> int:
    """Subsets of n things that hold at most so many."""
    count = found = 1
    for size in range(1, most + 1):
        count = count * (n - size + 1) // size
        found += count
    return found


def _subsets_of(weights: Sequence[int], most: int) -> int:
    """Subsets whose weights add up to at most `most`.

    How many there are of each sum stands in one long number, a field for each sum, so that a weight is one addition.
    """
    width = len(weights) // 8 + 1
    inside = (1 << (8 * width * (most + 1))) - 1
    sums = 1
    for weight in [weight for weight in weights if weight <= most]:
        sums = (sums + (sums << (8 * width * weight))) & inside
    fields = sums.to_bytes(width * (most + 1), "little")
    return sum(int.from_bytes(fields[at : at + width], "little") for at in range(0, len(fields), width))


def _sampled_flips(weights: Mapping[int, int], observed: int, random: Random) -> float:
    """The share of random signs that go as far, the signs as observed counted in: never 0, and never too small."""
    ordered = sorted(weights.items())
    hits = 0
    for _ in range(FLIPS):
        total = sum(weight * (2 * binomial(random, count, 0.5) - count) for weight, count in ordered)
        hits += abs(total) >= observed
    return (hits + 1) / (FLIPS + 1)
