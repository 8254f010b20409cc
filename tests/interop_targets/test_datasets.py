"""`datasets`, old and new, loads a dataset's own folder and its exports, as their cards say."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from interop.export.command import SPLITS
from interop.export.registry import FORMATS
from skillweave.world.dataset import Dataset
from tests.interop.export.exports import export
from tests.interop_targets.conftest import Exports
from tests.interop_targets.environments import DATASETS_3, LIGHT, TargetEnvironment
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


VERSIONS = pytest.mark.parametrize("version", [LIGHT, DATASETS_3], ids=["5", "3.6"])


@VERSIONS
@pytest.mark.parametrize("format", FORMATS)
def test_the_lines_of_a_card_load_all_rows(exports: Exports, format: str, version: TargetEnvironment) -> None:
    folder = exports(format)
    loaded = in_target(version, "card_loads.py", folder)
    assert loaded["version"].startswith("5." if version is LIGHT else "3.6.")
    if loaded["splits"]:
        assert loaded["splits"] == {path.stem: rows_of(path) for path in folder.glob("*.*") if path.stem in SPLITS}
    else:
        [file] = folder.glob("train.json*")
        assert loaded["rows"] == json_rows(file)


@VERSIONS
def test_the_card_of_an_export_of_one_split_loads_that_split(
    small: Path, trajectories: Path, tmp_path: Path, version: TargetEnvironment
) -> None:
    for format in ("openai", "agenttraj", "ms-swift"):
        to = tmp_path / format
        done = export(format, small, to, "--split", "test", "--where", "all", rollouts=trajectories)
        assert done.returncode == 0, done.stderr
        loaded = in_target(version, "card_loads.py", to)
        assert loaded["splits"] or loaded["rows"]


def json_rows(file: Path) -> list[Any]:
    """The rows of a file of JSON or JSON Lines."""
    text = file.read_text("utf-8")
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    return list(found["tasks"] if isinstance(found, dict) else found)


def rows_of(file: Path) -> int:
    """How many rows a file has."""
    return int(parquet.read_metadata(file).num_rows) if file.suffix == ".parquet" else len(json_rows(file))
