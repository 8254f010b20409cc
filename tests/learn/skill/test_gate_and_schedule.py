"""The gate, its bootstrap, and the budgets of edits."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learn.config import LrScheduler
from learn.skill.gate import decide, gain_p, gate_score
from learn.skill.schedule import autonomous_budget, budget_at, read_count
from skillweave.base.errors import ConfigError

SCORES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("metric", "weight", "score"), [("hard", 0.5, 0.2), ("soft", 0.5, 0.6), ("mixed", 0.25, 0.3), ("mixed", -3, 0.2)]
)
def test_the_metric_decides_which_score_counts(metric: str, weight: float, score: float) -> None:
    assert gate_score(0.2, 0.6, metric, weight) == pytest.approx(score)  # type: ignore[arg-type]


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown gate metric 'best'; should be hard, soft or mixed"):
        gate_score(0, 0, "best")  # type: ignore[arg-type]


@given(candidate=SCORES, current=SCORES, gap=SCORES, use_gate=st.booleans())
def test_the_best_score_never_falls_and_only_gains_pass_the_gate(
    candidate: float, current: float, gap: float, use_gate: bool
) -> None:
    best = current + gap
    decision = decide(candidate, current, best, use_gate=use_gate)
    assert decision.best == max(best, candidate)
    assert decision.is_best == (candidate > best)
    assert decision.is_accepted == (candidate > current or not use_gate)
    assert decision.current == (candidate if decision.is_accepted else current)


def test_a_score_that_is_no_number_is_no_gain() -> None:
    assert decide(float("nan"), 0.5, 0.5).action == "reject"
    assert decide(float("nan"), 0.5, 0.5, use_gate=False).best == 0.5


def test_the_bootstrap_is_sure_of_uniform_gains_and_unsure_of_mixed_ones() -> None:
    items = [f"i{number}" for number in range(20)]
    zero, one = dict.fromkeys(items, 0.0), dict.fromkeys(items, 1.0)
    mixed = {item: float(number % 2) for number, item in enumerate(items)}
    other = {item: float((number + 1) % 2) for number, item in enumerate(items)}
    assert gain_p(one, zero, seed=1) == 0
    assert gain_p(zero, zero, seed=1) == gain_p(zero, one, seed=1) == gain_p({}, one, seed=1) == 1
    assert 0.4 < gain_p(mixed, other, seed=1) < 0.7
    assert gain_p(mixed, other, seed=1) == gain_p(mixed, other, seed=1) != gain_p(mixed, other, seed=2)


def test_only_common_items_are_compared() -> None:
    assert gain_p({"a": 1.0, "b": 0.0}, {"a": 0.0, "c": 1.0}, seed=0) == 0


@given(
    scheduler=st.sampled_from(["constant", "linear", "cosine"]),
    total=st.integers(0, 30),
    ends=st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_budgets_fall_from_the_most_to_the_least(scheduler: LrScheduler, total: int, ends: tuple[int, int]) -> None:
    least, most = sorted(ends)
    budgets = [budget_at(step, total, scheduler=scheduler, most=most, least=least) for step in range(1, total + 3)]
    assert budgets == sorted(budgets, reverse=True)
    assert all(least <= budget <= most for budget in budgets)
    assert budgets[-1] == (most if scheduler == "constant" or total <= 1 else least)


def test_the_autonomous_schedule_sets_no_limit_and_unknown_ones_are_refused() -> None:
    assert budget_at(1, 9, scheduler="autonomous", most=4, least=2) == 999
    with pytest.raises(ConfigError, match="unknown schedule 'step'"):
        budget_at(1, 9, scheduler="step", most=4, least=2)  # type: ignore[arg-type]
    assert set(get_args(LrScheduler)) == {"constant", "linear", "cosine", "autonomous"}


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (3, 3),
        ("3", 3),
        ("at most 2, not 5", 2),
        (-4, 0),
        (2.9, 2),
        (True, None),
        (None, None),
        ("none", None),
        ([], None),
    ],
)
def test_a_count_is_read_from_what_models_write(written: object, count: int | None) -> None:
    assert read_count(written) == count  # type: ignore[arg-type]


def test_the_optimizer_cannot_choose_more_than_there_is() -> None:
    assert autonomous_budget(9, 3) == (3, 9, False)
    assert autonomous_budget(None, 3) == (0, 0, True)
