"""`datasets` loads a dataset's own folder and its export for hubs, every configuration and split of their cards."""

from pathlib import Path

import pytest

from skillweave.world.dataset import Dataset
from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import LIGHT
from tests.interop_targets.target import in_target

pytestmark = pytest.mark.interop


def counts(small: Path) -> dict[str, int]:
    """Tasks of each split."""
    splits = [task.split for task in Dataset(small).tasks.values()]
    return {split: splits.count(split) for split in set(splits)}


def test_the_outputs_folder_loads_as_its_card_says(small: Path) -> None:
    loaded = in_target(LIGHT, "load_splits.py", small)
    assert loaded["default"] == counts(small)
    assert all(rows for splits in loaded.values() for rows in splits.values())


@pytest.mark.parametrize("format", ["hub", "verl", "skyrl"])
def test_exports_of_tasks_have_all_tasks_by_split(small: Path, exports: Exports, format: str) -> None:
    assert in_target(LIGHT, "load_splits.py", exports(format))["default"] == counts(small)


@pytest.mark.parametrize("format", ["openai", "trl-sft", "ms-swift", "dpo"])
def test_exports_of_trajectories_load_as_their_cards_say(exports: Exports, format: str) -> None:
    folder = exports(format)
    lines = {file.stem: len(file.read_text("utf-8").splitlines()) for file in folder.glob("*.jsonl")}
    assert in_target(LIGHT, "load_splits.py", folder)["default"] == lines
