"""The self-test: the evaluator says of every variant what it must, and one that is broken is found out."""

import pytest

from evaluator.cli.selftest import run_selftest
from evaluator.scoring.evaluate import CheckSettings, Evaluator
from evaluator.scoring.selftest import selftest_outcomes
from skillweave.base.errors import ConfigError
from skillweave.schema.score import CommunicateCheck, StateCheck
from skillweave.world.dataset import Dataset
from tests.evaluator.trials import replace_check
from tests.evaluator.variants.clinic import dataset_of, every_task


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset_of(tmp_path_factory.mktemp("variants") / "outputs")


@pytest.mark.parametrize("id", [task.id for task in every_task()])
def test_all_expectations_hold(dataset: Dataset, id: str) -> None:
    evaluator = Evaluator(dataset, dataset, CheckSettings())
    wrong = [
        f"{outcome.name}: {outcome.said}, not {sorted(outcome.classes) or 'passed'}"
        for outcome in selftest_outcomes(dataset, evaluator, dataset.tasks[id])
        if not outcome.has_right_class
    ]
    assert not wrong


def test_it_prints_a_table_and_says_how_much_is_right(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_selftest(dataset.store.root, tasks=["*-move", "*-price"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["variant", "must", "tasks", "made", "as", "expected", "right", "class"]
    assert ["golden", "pass", "2", "2", "2"] in [line.split() for line in lines]
    assert lines[-1].endswith("variants of 2 tasks of 2: none not as expected")


def test_processes_change_nothing(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    some = ["*-move", "*-late", "*-price"]
    alone = run_selftest(dataset.store.root, tasks=some), capsys.readouterr().out
    together = run_selftest(dataset.store.root, tasks=some, workers=2), capsys.readouterr().out
    assert alone == together


def test_a_state_check_that_passes_all_is_caught(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_check(monkeypatch, "state", lambda _: StateCheck(score=1.0))
    assert run_selftest(dataset.store.root, tasks=["*-move"]) == 1
    assert "SmallClinic-move: passed, and must be missing_write" in capsys.readouterr().out


def test_a_communicate_check_that_fails_all_is_caught(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_check(monkeypatch, "communicate", lambda _: CommunicateCheck(score=0.0, missing=["told_1"]))
    assert run_selftest(dataset.store.root, tasks=["*-price"]) == 1
    assert ", and must pass" in capsys.readouterr().out


def test_the_tasks_are_limited_and_chosen(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    run_selftest(dataset.store.root, limit=1)
    assert "of 1 tasks of 1" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="--tasks 'Nowhere-\\*' matches none of the 24 tasks"):
        run_selftest(dataset.store.root, tasks=["Nowhere-*"])
