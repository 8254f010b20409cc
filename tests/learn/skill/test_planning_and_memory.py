"""Batches, splits, the step buffer and the comparison of two epochs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learn.skill.memory import (
    StepEntry,
    categories,
    compared,
    failure_patterns,
    render_entries,
    shortened,
    top_up_order,
)
from learn.skill.planning import epoch_plan, minibatches, split_counts, steps_per_epoch
from learn.skill.replies import FailureKind
from learn.skill.scores import Row, mean_scores
from skillweave.base.errors import ConfigError

SIZES = st.integers(1, 7)


def a_row(id: str, hard: float, reason: str = "") -> Row:
    return Row(id=id, hard=hard, soft=hard, fail_reason=reason)


@given(size=st.integers(1, 30), batch=SIZES, accumulation=st.integers(1, 3), seed=st.integers(0, 99), epoch=SIZES)
def test_an_epoch_tries_every_item(size: int, batch: int, accumulation: int, seed: int, epoch: int) -> None:
    ids = [f"i{number}" for number in range(size)]
    plan = epoch_plan(ids, batch_size=batch, accumulation=accumulation, seed=seed, epoch=epoch)
    assert len(plan) == steps_per_epoch(size, batch, accumulation) * accumulation
    assert {id for part in plan for id in part.ids} == set(ids)
    assert all(1 <= len(part.ids) <= batch for part in plan)
    assert len({part.seed for part in plan}) == len(plan)
    assert plan == epoch_plan(ids, batch_size=batch, accumulation=accumulation, seed=seed, epoch=epoch)


@given(items=st.lists(st.integers()), size=SIZES, seed=st.none() | st.integers(0, 9))
def test_minibatches_hold_every_item_once(items: list[int], size: int, seed: int | None) -> None:
    groups = minibatches(items, size, seed)
    assert sorted(item for group in groups for item in group) == sorted(items)
    assert all(len(group) == size for group in groups[:-1])


@given(total=st.integers(0, 500), ratio=st.lists(st.integers(1, 20), min_size=3, max_size=3))
def test_split_counts_add_up_and_are_off_by_less_than_one(total: int, ratio: list[int]) -> None:
    counts = split_counts(total, ratio)
    assert sum(counts) == total
    assert all(abs(count - total * part / sum(ratio)) < 1 for count, part in zip(counts, ratio, strict=True))


def test_a_ratio_with_nothing_in_a_part_is_refused() -> None:
    with pytest.raises(ConfigError, match="whole numbers above 0"):
        split_counts(10, [1, 0, 1])


def test_scores_are_means_and_nothing_scores_zero() -> None:
    assert mean_scores([a_row("a", 1), a_row("b", 0.5)]) == (0.75, 0.75)
    assert mean_scores([]) == (0, 0)


ROWS = [
    a_row("1", 0, "policy: late"),
    a_row("2", 0, "tool"),
    a_row("3", 0, "policy: again"),
    a_row("4", 0.2),
    a_row("5", 0),
]


def patterns(*labels: FailureKind) -> list[tuple[str, list[str]]]:
    return [(pattern.pattern, pattern.task_ids) for pattern in failure_patterns(ROWS, labels)]


def test_failures_are_grouped_by_what_stands_before_the_colon() -> None:
    assert patterns() == [("policy", ["1", "3"]), ("tool", ["2"]), ("unknown", ["5"])]


def test_a_label_describes_the_reason_that_it_names() -> None:
    label = FailureKind(failure_type="Tool", description="a wrong name")
    assert patterns(label)[1] == ("Tool: a wrong name", ["2"])


def test_labels_without_names_describe_reasons_only_if_it_is_clear_which() -> None:
    one, two, three = (FailureKind(failure_type=name) for name in ("A", "B", "C"))
    assert [name for name, _ in patterns(one, two, three)] == ["A", "B", "C"]
    assert [name for name, _ in patterns(one, two)] == ["policy", "tool", "unknown"]


def test_the_step_buffer_tells_what_was_rejected() -> None:
    entry = StepEntry(
        step=3,
        action="reject",
        n_total=8,
        n_fail=2,
        failure_patterns=failure_patterns(ROWS[:1]),
        score_before=0.5,
        score_after=0.25,
        edits=["append: x"],
    )
    text = render_entries([entry])
    assert "Step 3: reject (2 of 8 failed)" in text
    assert "1 failed: policy" in text
    assert "0.500 -> 0.250" in text
    assert "1. append: x" in text
    assert render_entries([]) == ""


def test_an_item_is_compared_by_whether_most_of_its_rollouts_pass() -> None:
    previous = [a_row("a", 0), a_row("b", 1), a_row("c", 1), a_row("c", 0), a_row("c", 0)]
    current = [a_row("a", 0.4), a_row("c", 1)]
    kinds = categories(previous, current, ["a", "b", "c", "d"])
    assert kinds == {"a": "improved", "b": "regressed", "c": "improved", "d": "persistent_fail"}
    assert compared(kinds, "changed", 2) == ["a", "b"]
    assert compared(kinds, "unchanged") == ["d"]
    assert compared(kinds, "mixed") == ["a", "b", "c", "d"]
    with pytest.raises(ConfigError, match="unknown longitudinal_pair_policy 'some'"):
        compared(kinds, "some")  # type: ignore[arg-type]


def test_items_that_were_tried_are_not_topped_up_with() -> None:
    order = top_up_order(["a", "b", "c", "d"], ["b"], seed=3)
    assert sorted(order) == ["a", "c", "d"]
    assert order == top_up_order(["a", "b", "c", "d"], ["b"], seed=3)


def test_notes_are_never_lost_to_a_bad_answer() -> None:
    notes = ["a", "b"]
    assert [shortened(notes, answer) for answer in (["c"], [], None, ["x", "y", "z"])] == [["c"], notes, notes, notes]
