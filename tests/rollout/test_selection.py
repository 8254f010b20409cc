"""Which tasks a run holds conversations in: by id, by split, and spread over the worlds."""

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
