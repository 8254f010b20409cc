"""Which tasks a run holds conversations in: by id, by split, and spread over kinds, worlds and levels."""

from collections import Counter
from pathlib import Path

import pytest

from rollout.cli.run import selected
from rollout.offline.user import offline_user
from rollout.task import TaskList
from rollout.world.source import ContractOpener, WorldTasks
from skillweave.base.errors import ConfigError
from skillweave.schema.task import Task
from tests.rollout.offline_agents.clinic import a_dataset, tasks


@pytest.fixture
def source(tmp_path: Path) -> WorldTasks:
    """Two tasks of the split `test`; the others are of `train`."""
    given = [
        Task.model_validate({**task.model_dump(mode="json"), "split": "test" if at < 2 else "train"})
        for at, task in enumerate(tasks())
    ]
    dataset = a_dataset(tmp_path / "outputs", given)
    return WorldTasks(dataset, opener=ContractOpener(dataset), user=offline_user())


def test_a_split_is_chosen_beside_ids_and_a_limit(source: WorldTasks) -> None:
    assert selected(source, [], None, "test") == ["SmallClinic-cancel", "SmallClinic-move"]
    assert selected(source, ["*-m*"], None, "test") == ["SmallClinic-move"]
    assert selected(source, [], 1, "test") == ["SmallClinic-cancel"]
    assert len(selected(source, [], None)) == len(tasks())


def test_a_split_without_tasks_is_named(source: WorldTasks) -> None:
    with pytest.raises(ConfigError, match="no task is of the split 'validation'"):
        selected(source, [], None, "validation")


def test_a_source_without_splits_has_none_to_choose() -> None:
    with pytest.raises(ConfigError, match=r"--split .* are of no split"):
        selected(TaskList("own/1", {}), [], None, "test")


KINDS = {"do": 60, "refuse": 12, "inform": 10, "clarify": 6, "unavailable": 2}


@pytest.fixture
def mixed(tmp_path: Path) -> WorldTasks:
    """Ninety tasks of five kinds, most of them of one."""
    given = [
        Task.model_validate(
            {
                **tasks()[0].model_dump(mode="json"),
                "id": f"SmallClinic-{kind}{number}",
                "kind": kind,
                "difficulty": {"calls": 1, "writes": 1, "domains": 1, "facts": 0, "level": 1 + number % 5},
            }
        )
        for kind, count in KINDS.items()
        for number in range(count)
    ]
    dataset = a_dataset(tmp_path / "outputs", given)
    return WorldTasks(dataset, opener=ContractOpener(dataset), user=offline_user())


def test_a_limit_takes_each_kind_equally_often_as_far_as_there_are_tasks(mixed: WorldTasks) -> None:
    chosen = selected(mixed, [], 30)
    kinds = Counter(mixed.record(id).kind for id in chosen)
    assert kinds == {"do": 8, "refuse": 7, "inform": 7, "clarify": 6, "unavailable": 2}
    assert set(Counter(mixed.record(id).difficulty.level for id in chosen if "do" in id).values()) == {1, 2}


def test_a_larger_limit_replaces_nothing_and_none_takes_all(mixed: WorldTasks) -> None:
    for limit in range(1, 90):
        assert selected(mixed, [], limit) == selected(mixed, [], limit + 1)[:limit]
    assert sorted(selected(mixed, [], 90)) == sorted(selected(mixed, [], None)) == sorted(mixed.ids())


def test_a_value_that_matches_in_another_split_alone_leaves_nothing_to_choose(source: WorldTasks) -> None:
    with pytest.raises(ConfigError, match="no task of those that --tasks names is of the split 'test'"):
        selected(source, ["SmallClinic-price"], None, "test")
