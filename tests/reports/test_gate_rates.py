"""Rates of false pass and false fail, from a dataset's files."""

from pathlib import Path

import pytest

from evaluator.report.statistics import wilson
from skillweave.base.errors import ArtifactError
from skillweave.base.manifest import ItemRecord, Manifest
from skillweave.base.store import Store
from skillweave.schema.evaluation import HeldOutReport, VariantCount
from skillweave.schema.task import Task
from skillweave.world.dataset import Dataset
from synth.gates.variants import check_variants
from synth.reports.rule_coverage import HELD_OUT, GateRates, gate_rates
from tests.evaluator.variants.clinic import every_task
from tests.rollout.offline_agents.clinic import WORLD, a_dataset


def tried(task: Task) -> Task:
    """The task with what the gates found of it."""
    found = check_variants(WORLD, task)
    gates = task.gates.model_copy(update={"mutants": found.mutants, "equivalents": found.equivalents})
    return task.model_copy(update={"gates": gates})


def rates(outputs: Path) -> GateRates:
    dataset = Dataset(outputs)
    return gate_rates(dataset, [*dataset.tasks.values()])


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return a_dataset(tmp_path / "outputs", [tried(task) for task in every_task()[:3]]).store.root


def second_set(dataset: str) -> bytes:
    report = HeldOutReport(
        dataset=dataset,
        tasks=3,
        mutants={"a_day_off": VariantCount(made=150, right=149), "range": VariantCount(made=50, right=50)},
        equivalents={"padded": VariantCount(made=40, right=40)},
        survivors=[],
    )
    return report.model_dump_json().encode()


def test_the_first_set_s_figures_are_added_up(outputs: Path) -> None:
    found = rates(outputs)
    made = [check_variants(WORLD, task).mutants["made"] for task in every_task()[:3]]
    assert [found.mutants, found.fewest_mutants] == [sum(map(int, map(str, made))), min(map(int, map(str, made)))]
    assert sum(found.mutant_sorts.values()) == found.mutants
    assert found.equivalents >= 3 * found.fewest_equivalents >= 18
    assert (found.false_pass.wrong, found.false_pass.tried) == (0, 3)
    assert found.second_false_pass is None


def test_what_was_dropped_counts(outputs: Path) -> None:
    manifest = Manifest(Store(outputs))
    dropped = {"mutant passes": 2, "equivalent fails": 1, "undo pair": 9}
    manifest.put(ItemRecord(step="s16_task_filtering", key="SmallClinic", state="done", rejected=dropped))
    manifest.save()
    found = rates(outputs)
    assert (found.false_pass.wrong, found.false_fail.wrong, found.false_pass.tried) == (2, 1, 6)
    assert found.false_pass.interval == wilson(2, 6)


def test_the_second_set_counts_on_this_very_dataset_alone(outputs: Path) -> None:
    (outputs / "evaluation").mkdir()
    (outputs / HELD_OUT).write_bytes(second_set(Dataset(outputs).digest))
    found = rates(outputs)
    assert found.second_false_pass is not None
    assert found.second_false_fail is not None
    assert (found.second_false_pass.wrong, found.second_false_pass.tried) == (1, 200)
    assert found.second_false_pass.rate == 0.005
    assert found.second_false_fail.rate == 0
    (outputs / HELD_OUT).write_bytes(second_set("another"))
    assert rates(outputs).second_false_pass is None


def test_a_damaged_file_is_told(outputs: Path) -> None:
    (outputs / "evaluation").mkdir()
    (outputs / HELD_OUT).write_bytes(b'{"tasks": "many"}')
    with pytest.raises(ArtifactError, match=HELD_OUT):
        rates(outputs)


def test_a_dataset_from_before_these_gates_has_none(tmp_path: Path) -> None:
    found = rates(a_dataset(tmp_path / "outputs", every_task()[:2]).store.root)
    assert (found.mutants, found.equivalents, found.fewest_mutants) == (0, 0, 0)
