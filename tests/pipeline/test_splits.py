"""Splits of a finished dataset: nothing is in two of them, and what is held out is for testing as a whole."""

import json
from dataclasses import replace
from pathlib import Path

from skillweave.config.sections import SplitsConfig
from skillweave.schema.reports import Diversity
from skillweave.schema.template import TaskTemplate
from skillweave.world.dataset import Dataset
from synth.artifacts import QUERIES
from synth.reports.duplicates import split_faults
from synth.tasks.splits import families_of
from tests.pipeline.downstream import Downstream

HOTEL = "CityHotel"


def test_nothing_is_in_two_splits(small: Path) -> None:
    tasks = list(Dataset(small).tasks.values())
    found = [
        TaskTemplate.model_validate(template)
        for path in sorted((small / "task_templates").glob("*.json"))
        for template in json.loads(path.read_text())
    ]
    # Two worlds are too few for all three.
    assert {task.split for task in tasks} > {"train"}
    assert split_faults(tasks, families_of(found)) == []


def test_the_report_counts_the_tasks(small: Path) -> None:
    tasks = Dataset(small).tasks
    found = Diversity.model_validate_json((small / "report" / "diversity.json").read_text())
    assert {name: world.tasks for name, world in found.worlds.items()} == {
        name: len(list(tasks.of(name))) for name in tasks.worlds
    }
    assert found.duplicates is not None
    assert found.duplicates.tasks == found.tasks + found.duplicates.exact + found.duplicates.near
    assert found.wording.skeletons is not None
    assert found.wording.skeletons > 0.5


def test_a_domain_that_is_held_out_is_all_for_testing(line: Downstream) -> None:
    line.setting = replace(line.setting, splits=SplitsConfig(holdout_domains=[HOTEL]))
    assert line.run("s17", HOTEL).state == "done"
    assert {task.split for task in line.read(QUERIES, HOTEL)} == {"test"}


def test_a_domain_that_is_not_there_is_told_in_a_line(line: Downstream) -> None:
    line.setting = replace(line.setting, splits=SplitsConfig(holdout_domains=["CityHostel"]))
    record = line.run("s05")
    assert (record.state, record.reasons) == (
        "failed",
        ["splits.holdout_domains names 'CityHostel', which is no domain of this run; did you mean 'CityHotel'?"],
    )
