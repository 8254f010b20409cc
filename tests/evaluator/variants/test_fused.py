"""Variants of tasks that lie across companies: the evaluator says of each what it must."""

from pathlib import Path

import pytest

from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import SelftestOutcome, selftest_outcomes
from skillweave.schema.contract import Enforcer
from tests.rollout.fused.companies import a_dataset, tasks

ENFORCERS: tuple[Enforcer, ...] = ("tool", "agent")


def found(folder: Path, enforced_by: Enforcer) -> list[SelftestOutcome]:
    """The evaluator's word on each variant of each task."""
    dataset = a_dataset(folder / "outputs", tasks(enforced_by), enforced_by)
    evaluator = Evaluator(dataset, dataset, CheckSettings())
    return [one for task in dataset.tasks.values() for one in selftest_outcomes(dataset, evaluator, task)]


@pytest.mark.parametrize("enforced_by", ENFORCERS)
def test_all_expectations_hold_and_leaving_out_what_a_rule_demands_fails(tmp_path: Path, enforced_by: Enforcer) -> None:
    every = found(tmp_path, enforced_by)
    assert [f"{one.task_id} {one.name}: {one.said}" for one in every if not one.has_right_class] == []
    left_out = [one for one in every if one.name == "demanded_left_out"]
    assert len(left_out) == len(tasks(enforced_by))
    assert {one.class_ for one in left_out} == {"missing_write" if enforced_by == "tool" else "policy_violation"}


def test_doing_afterwards_what_a_rule_of_the_policy_demands_first_fails(tmp_path: Path) -> None:
    late = [one for one in found(tmp_path, "agent") if one.name == "swapped_writes"]
    assert [one.class_ for one in late] == ["policy_violation"]


def test_of_the_callers_own_rows_another_is_a_wrong_one(tmp_path: Path) -> None:
    rows = [one for one in found(tmp_path, "agent") if one.name == "wrong_row"]
    assert {one.class_ for one in rows} == {"wrong_entity"}
