"""The second set: other operators, sorted by a comparison of their own, and what is reported of survivors."""

from collections.abc import Sequence

import pytest

from evaluator.cli.selftest import run_held_out
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import held_out_variants_of, held_out_verdicts, variants_of
from evaluator.variants.executor import VariantExecutor
from evaluator.variants.held_out import reaches
from skillweave.schema.contract import ANY, NEW, RowChange
from skillweave.schema.evaluation import HeldOutReport
from skillweave.schema.score import CommunicateCheck, StateCheck
from skillweave.schema.task import Task
from skillweave.world import compare as scoring
from skillweave.world.compare import ComparisonLookup, RowChangeDifference
from skillweave.world.dataset import Dataset
from tests.evaluator.trials import replace_check
from tests.evaluator.variants.clinic import dataset_of, every_task
from tests.evaluator.variants.test_variants import reaches_goal
from tests.rollout.offline_agents.clinic import WORLD

_SORTS = """claimed_only two_wrong_arguments stranger_row other_tool half_and_another done_and_undone looked_elsewhere
range hundredfold digits_swapped half_a_day_off a_day_off a_year_off reads_between reads_twice permuted_calls other_json
written_again_in_vain one_by_one told_twice other_format_1 noted looked_twice recorded_first recorded_thrice
recorded_after_words recorded_then_handed_over rule_in_small_letters rule_without_letter rule_in_a_read rule_in_note
corrected_record recorded_and_handed_over_otherwise rule_of_like_number two_other_rules three_rules
handed_over_for_no_tool declined_in_between declined_first declined_afterwards done_and_handed_over_by_rule long_summary
wished_and_no_tool wished_some_time_ago no_summary reason_in_summary other_case wished_and_another_reason
agreed_to_a_human wish_unheard told_in_passing agreed_to_several told_after_a_vague_yes agreed_before left_to_chance
refused_twice repeated_by_the_agent told_what_is_known"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset_of(tmp_path_factory.mktemp("held_out") / "outputs")


def task_of(name: str) -> Task:
    return next(task for task in every_task() if task.id == f"SmallClinic-{name}")


@pytest.mark.parametrize("id", [task.id for task in every_task()])
def test_the_evaluator_says_of_each_what_it_must(dataset: Dataset, id: str) -> None:
    evaluator = Evaluator(dataset, dataset, CheckSettings(floors=False))
    found = list(held_out_verdicts(dataset, evaluator, dataset.tasks[id]))
    assert found
    assert [word.survivor for word in found if word.survivor] == []


def test_what_is_expected_is_true_by_execution() -> None:
    for task in every_task():
        for one in held_out_variants_of(WORLD, task):
            reached, broken = reaches_goal(WORLD, task, one.variant)
            assert reached is not bool(one.differs), one
            assert not one.variant.passes or (reached and not broken), one


def test_every_sort_applies_somewhere_and_none_is_of_the_first_set() -> None:
    found = {one.variant.name for task in every_task() for one in held_out_variants_of(WORLD, task)}
    assert found >= {*_SORTS.split()}
    assert not found & {variant.name for task in every_task() for variant in variants_of(WORLD, task)}


def test_the_same_task_gives_the_same_variants() -> None:
    for name in ("both", "paid", "two"):
        assert list(held_out_variants_of(WORLD, task_of(name))) == list(held_out_variants_of(WORLD, task_of(name)))


def an_insert(id: int, **cells: object) -> RowChange:
    return RowChange.model_validate(
        {"table": "appointment", "op": "insert", "key": {"appointment_id": {NEW: id}}, "after": cells}
    )


def test_the_reading_knows_rows_by_what_they_hold() -> None:
    task = task_of("move")
    one, other = an_insert(1, slot_id="SLO-0001"), an_insert(2, slot_id="SLO-0004")
    demanded = task.criteria.model_copy(update={"state": [one, other]})
    executor = VariantExecutor(WORLD, task.model_copy(update={"criteria": demanded}))
    assert reaches(executor, [an_insert(1, slot_id="SLO-0004"), an_insert(2, slot_id="SLO-0001")])
    assert not reaches(executor, [one])
    assert not reaches(executor, [one, an_insert(2, slot_id="SLO-0003")])


def test_the_reading_lets_be_what_the_task_leaves_open() -> None:
    task = task_of("move")
    opened = an_insert(1, slot_id="SLO-0001", cancel_reason={ANY: True})
    executor = VariantExecutor(
        WORLD, task.model_copy(update={"criteria": task.criteria.model_copy(update={"state": [opened]})})
    )
    assert reaches(executor, [an_insert(1, slot_id="SLO-0001", cancel_reason="anything")])
    assert not reaches(executor, [an_insert(1, slot_id="SLO-0003", cancel_reason="anything")])


def test_a_comparison_that_ignores_deletes_wherever_it_is_used_is_caught(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the check and the first set believe it; the second set reads end states on its own."""
    sound = scoring.compare

    def blind(
        expected: Sequence[RowChange], actual: Sequence[RowChange], comparison: ComparisonLookup
    ) -> RowChangeDifference:
        sides = [[change for change in side if change.op != "delete"] for side in (expected, actual)]
        return sound(sides[0], sides[1], comparison)

    for user in (
        "evaluator.checks.state",
        "evaluator.variants.executor",
        "evaluator.replay.golden",
        "evaluator.replay.golden",
    ):
        monkeypatch.setattr(f"{user}.compare", blind, raising=False)
    task = dataset.tasks["SmallClinic-both"]
    found = held_out_verdicts(dataset, Evaluator(dataset, dataset, CheckSettings(floors=False)), task)
    survivors = [word.survivor for word in found if word.survivor]
    assert survivors
    assert all(one.must == "fail" for one in survivors)
    assert any('"delete"' in row for one in survivors for row in one.differs)


def test_a_survivor_is_told_and_written_down(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_check(monkeypatch, "state", lambda _: StateCheck(score=1))
    assert run_held_out(dataset.store.root, tasks=["*-move"]) == 1
    assert "SmallClinic-move: claimed_only must fail: no write was made" in capsys.readouterr().out
    assert run_held_out(dataset.store.root) == 1
    report = HeldOutReport.model_validate_json((dataset.store.root / "evaluation/held_out.json").read_bytes())
    first = next(one for one in report.survivors if one.task == "SmallClinic-move")
    assert first.must == "fail"
    assert first.differs
    assert "state check" in first.why
    assert report.mutants["claimed_only"].right < report.mutants["claimed_only"].made


def test_values_that_are_taken_for_right_are_survivors(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_check(monkeypatch, "communicate", lambda _: CommunicateCheck(score=1))
    evaluator = Evaluator(dataset, dataset, CheckSettings(floors=False))
    found = [word.survivor for word in held_out_verdicts(dataset, evaluator, dataset.tasks["SmallClinic-price"])]
    assert any(one is not None and one.why == "nothing is found wrong by state, communicate, policy" for one in found)


def test_a_table_and_the_rates_are_printed(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_held_out(dataset.store.root, limit=4) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["variant", "must", "made", "as", "expected"]
    assert lines[-2].endswith("; 4 tasks")
    assert lines[-2].count("100.00%, 95%") == 2


def test_a_part_of_the_tasks_leaves_the_figures_of_all_alone(dataset: Dataset) -> None:
    file = dataset.store.root / "evaluation/held_out.json"
    run_held_out(dataset.store.root)
    before = file.read_bytes()
    run_held_out(dataset.store.root, limit=1)
    assert file.read_bytes() == before


def test_processes_change_nothing(dataset: Dataset) -> None:
    file = dataset.store.root / "evaluation/held_out.json"
    found = []
    for workers in (1, 2):
        run_held_out(dataset.store.root, workers=workers)
        found.append(file.read_bytes())
    assert found[0] == found[1]
