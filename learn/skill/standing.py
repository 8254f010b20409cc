"""Standing: how a skill does on validation or test, and whether it does better than another."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.report.statistics import Interval, bootstrap, wilson
from learn.config import GateConfig
from learn.skill.gate import GateDecision, decide, gain_p, gate_score
from learn.skill.records import PartScore, RejectReason
from learn.skill.scores import Row, mean_scores
from learn.skill.trials import Trials, by_item
from rollout.trajectory import skill_text

KILO = 1000


class Standing(NamedTuple):
    """A skill's score on validation."""

    score: float
    """What the gate compares: the metric, less the penalty for size."""
    hard: float
    soft: float
    by_item: Mapping[str, float]
    """Item -> the metric, as a mean over its trials."""


class Verdict(NamedTuple):
    """What the gate says of a candidate."""

    decision: GateDecision
    gain_p: float
    """Share of the resamples of validation in which the candidate is no better."""
    reason: RejectReason | None
    """Why it is rejected."""


class Validation:
    """Scores skills on validation, each text once, and compares them."""

    def __init__(self, settings: GateConfig, trials: Trials, ids: Sequence[str], seed: int) -> None:
        """Args:
        settings: When a candidate is accepted.
        trials: Tries skills.
        ids: The items of validation.
        seed: Seed of the bootstrap.
        """
        self._settings = settings
        self._trials = trials
        self._ids = ids
        self._seed = seed
        self._known: dict[str, Standing] = {}

    @property
    def count(self) -> int:
        """How many different skills were scored."""
        return len(self._known)

    async def of(self, skill: str) -> Standing:
        """Score a skill. Skills that agents read alike are one.

        Raises:
            ProviderError, StopError, TooManyLostError: As `Trials.rows`.
        """
        text = skill_text(skill)
        if text not in self._known:
            rows = await self._trials.rows(skill, self._ids, range(self._settings.trials))
            self._known[text] = self._standing(rows, text)
        return self._known[text]

    def _standing(self, rows: Sequence[Row], text: str) -> Standing:
        settings = self._settings
        hard, soft = mean_scores(rows)
        score = gate_score(hard, soft, settings.metric, settings.mixed_weight)
        hards, softs = by_item(rows, "hard"), by_item(rows, "soft")
        by_metric = {id: gate_score(hards[id], softs[id], settings.metric, settings.mixed_weight) for id in hards}
        return Standing(score - settings.size_penalty * len(text) / KILO, hard, soft, by_metric)

    def verdict(self, candidate: Standing, current: Standing, best: Standing, key: str) -> Verdict:
        """Whether a candidate takes the place of the current skill.

        Args:
            candidate: The candidate.
            current: The current skill.
            best: The best skill.
            key: What is compared, as the seed of the bootstrap.
        """
        settings = self._settings
        decision = decide(candidate.score, current.score, best.score, use_gate=settings.use_gate)
        p = gain_p(candidate.by_item, current.by_item, seed=f"{self._seed}/{key}")
        if decision.action == "reject":
            return Verdict(decision, p, "no_gain")
        if settings.use_gate and settings.rule == "significant" and p > settings.level:
            return Verdict(GateDecision("reject", current.score, best.score, False), p, "chance")
        return Verdict(decision, p, None)


def part_score(rows: Sequence[Row], seed: int) -> PartScore:
    """How a skill did on a part of the items, with an interval over the items."""
    hard, soft = mean_scores(rows)
    hards = by_item(rows, "hard")
    low, high = _interval([hards[id] for id in sorted(hards)], seed)
    types: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        types[row.task_type or "all"].append(row.hard)
    by_type = {name: sum(values) / len(values) for name, values in sorted(types.items())}
    return PartScore(hard=hard, soft=soft, n=len(hards), low=low, high=high, by_type=by_type)


def _interval(values: Sequence[float], seed: int) -> Interval:
    """95 % interval of a mean over items: Wilson's if each passed or failed, otherwise by a bootstrap."""
    if not values:
        return Interval(0.0, 1.0)
    if all(value in (0, 1) for value in values):
        return wilson(int(sum(values)), len(values))
    return bootstrap(values, seed=seed)
