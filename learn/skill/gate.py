"""The gate: one score for a candidate, and whether the candidate takes the place of the current skill."""

from collections import Counter
from collections.abc import Mapping
from operator import mul
from random import Random
from typing import Literal, NamedTuple

from evaluator.report.statistics import RESAMPLES, multinomial
from learn.config import GateMetric
from skillweave.base.errors import ConfigError

GateAction = Literal["accept_new_best", "accept", "reject", "force_accept"]
ROUNDING = 1e-9
"""A smaller sum of gains is none, but an error of rounding."""


class GateDecision(NamedTuple):
    """What the gate says, and the scores after it."""

    action: GateAction
    current: float
    """Score of the current skill after the decision."""
    best: float
    """Score of the best skill after the decision."""
    is_best: bool
    """Whether the candidate is the best skill now."""

    @property
    def is_accepted(self) -> bool:
        """Whether the candidate is the current skill now."""
        return self.action != "reject"


def gate_score(hard: float, soft: float, metric: GateMetric, weight: float = 0.5) -> float:
    """One score of the mean scores.

    Args:
        hard: Mean of the hard scores.
        soft: Mean of the soft scores.
        metric: hard, soft, or mixed: between the two.
        weight: Weight of soft in `mixed`, from 0 to 1; what lies outside is brought to the nearer end.

    Raises:
        ConfigError: There is no such metric.
    """
    if metric == "mixed":
        share = max(0.0, min(1.0, float(weight)))
        return (1.0 - share) * float(hard) + share * float(soft)
    if metric not in ("hard", "soft"):
        raise ConfigError(f"unknown gate metric {metric!r}; should be hard, soft or mixed")
    return float(hard if metric == "hard" else soft)


def decide(candidate: float, current: float, best: float, *, use_gate: bool = True) -> GateDecision:
    """Compare a candidate's score with those of the current and of the best skill. Only a gain is accepted.

    Args:
        candidate: The candidate's score. NaN is no gain.
        current: Score of the current skill.
        best: Score of the best skill.
        use_gate: If false, the candidate is accepted whatever its score; the best one is kept all the same.
    """
    if not use_gate:
        return GateDecision("force_accept", candidate, candidate if candidate > best else best, candidate > best)
    if not candidate > current:
        return GateDecision("reject", current, best, False)
    if candidate > best:
        return GateDecision("accept_new_best", candidate, candidate, True)
    return GateDecision("accept", candidate, best, False)


def gain_p(
    candidate: Mapping[str, float], current: Mapping[str, float], *, seed: int | str, resamples: int = RESAMPLES
) -> float:
    """How likely chance alone explains a gain: a paired bootstrap over the items that both were tried on.

    Args:
        candidate: Item -> score with the candidate.
        current: Item -> score with the current skill.
        seed: Makes the resamples the same each time.
        resamples: Number of resamples, at least 1.

    Returns:
        The share of resamples whose mean difference is no gain; 1 without common items.
    """
    gains = Counter(candidate[item] - current[item] for item in candidate.keys() & current.keys())
    if not gains:
        return 1.0
    values, counts = zip(*sorted(gains.items()), strict=True)
    random = Random(f"gain/{seed}")
    without = 0
    for _ in range(resamples):
        gain: float = sum(map(mul, values, multinomial(random, counts)))
        without += gain <= ROUNDING
    return without / resamples
