"""The curve of a skill run: scores over the steps, in the coordinates of the page's plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple

from learn.skill.run_files import ShownStep

LEFT, RIGHT, TOP, BOTTOM = 52.0, 700.0, 14.0, 250.0
"""The plot's frame."""
GUIDED_AT = 0.5
"""Where guidance is shown between the step before it and the one after."""
MOST_LABELS = 12
"""Steps that have a label on the axis."""
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Distances between the ticks of the axis of scores."""


class CurvePoint(NamedTuple):
    """A score at a step, in the plot's coordinates."""

    x: float
    y: float
    words: str
    is_accepted: bool


@dataclass(frozen=True)
class ScoreCurve:
    """The scores over the steps, in the plot's coordinates."""

    ticks: Sequence[tuple[float, str]]
    steps: Sequence[tuple[float, int]]
    current: Sequence[tuple[float, float]]
    best: Sequence[tuple[float, float]]
    candidates: Sequence[CurvePoint]
    guided: Sequence[CurvePoint]
    """The current skill after guidance was put into it."""


def curve_of(
    steps: Sequence[ShownStep], baseline: float | None, guided: Mapping[int, float] | None = None
) -> ScoreCurve | None:
    """The curve of scores; None if no step has one.

    Args:
        steps: The steps, in their order.
        baseline: The score of the first skill, if it is known.
        guided: Step -> the score of the current skill after the guidance that followed it.
    """
    start = [(0.0, baseline)] if baseline is not None else []
    after = [(step + GUIDED_AT, score) for step, score in sorted((guided or {}).items())]
    taken = [(float(one.step), one.current_score) for one in steps if one.current_score is not None]
    current = sorted([*start, *taken, *after])
    best = [*start, *((float(one.step), one.best_score) for one in steps if one.best_score is not None)]
    tried = [(one, one.candidate_gate_score) for one in steps if one.candidate_gate_score is not None]
    scores = [score for _, score in [*current, *best, *tried]]
    if not scores:
        return None
    ticks = _axis(min(scores), max(scores))
    low, high = ticks[0], ticks[-1]
    last = max([one.step for one in steps], default=0) or 1
    end = max([float(last), *(place for place, _ in after)])

    def x(step: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * step / end, 1)

    def y(score: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * (score - low) / (high - low), 1)

    every = -(-last // MOST_LABELS)
    return ScoreCurve(
        ticks=[(y(tick), f"{tick:g}") for tick in ticks],
        steps=[(x(step), step) for step in range(0, last + 1, every)],
        current=[(x(step), y(score)) for step, score in current],
        best=[(x(step), y(score)) for step, score in best],
        candidates=[
            CurvePoint(x(one.step), y(score), f"step {one.step}: {score:.3f}, {one.verdict}", one.is_accepted)
            for one, score in tried
        ],
        guided=[CurvePoint(x(place), y(score), f"with guidance: {score:.3f}", True) for place, score in after],
    )


def _axis(low: float, high: float) -> list[float]:
    """Round values around the scores, four to eight of them, at least a tenth in all."""
    middle = (low + high) / 2
    low, high = min(low, middle - 0.05), max(high, middle + 0.05)
    step = next(step for step in _STEPS if high - low <= 6 * step)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(at * step, 3) for at in range(first, last + 1)]
