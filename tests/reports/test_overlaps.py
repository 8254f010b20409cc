"""Overlaps: whatever two splits have in common is found, on each axis that splits claim to keep apart."""

from typing import Any

import pytest

from skillweave.schema.task import Task
from synth.reports.duplicates import AXES, Axis, overlaps, split_faults
from tests.evaluator.tasks import BASE
from tests.reports.tasks_with_openings import told

MOVE = ("move_appointment", {"appointment_id": "APT-0001"})
OTHER = ("move_appointment", {"appointment_id": "APT-0002"})


def two(**other: Any) -> list[Task]:
    """A task of train and one of test that have nothing in common but what is said."""
    calls = other.pop("calls", [OTHER])
    text, name = other.pop("text", "Please move mine."), other.pop("name", "Bo Ek")
    fields = {"template": "SmallClinic/cancel", "split": "test", **other}
    return [told("a", "Move it, please.", MOVE, name="Ana Lopez"), told("b", text, *calls, name=name, **fields)]


def test_splits_that_share_nothing_have_no_overlap() -> None:
    assert overlaps(two()) == {axis: [] for axis in AXES}
    assert split_faults(two()) == []


@pytest.mark.parametrize(
    ("axis", "same"),
    [
        ("template", {"template": "SmallClinic/move"}),
        ("person", {"name": "Ana Lopez"}),
        ("instance", {"calls": [MOVE]}),
        ("message", {"text": "move  it, PLEASE."}),
    ],
)
def test_what_two_splits_share_is_found(axis: Axis, same: dict[str, Any]) -> None:
    found = overlaps(two(**same))
    assert [name for name in AXES if found[name]] == [axis]
    (line,) = split_faults(two(**same))
    assert line.startswith(f"the same {axis} is in two splits: ")
    assert line.endswith("b in test, a in train")


def test_templates_of_one_family_are_one() -> None:
    families = {"SmallClinic/cancel": ["SmallClinic/move"]}
    assert overlaps(two(), families)["template"]


def test_a_task_of_a_domain_that_is_held_out_has_to_be_in_test() -> None:
    assert split_faults(two(), holdouts=["SmallClinic"]) == ["a is of 'SmallClinic', which is held out, and in train"]


def test_other_worlds_share_nothing() -> None:
    assert split_faults(two(world="LargeClinic", name="Ana Lopez", calls=[MOVE], text="Move it, please.")) == []


def test_calls_that_name_nothing_are_no_instance() -> None:
    listing = [told("a", "My list?", ("list_mine", {}), name="A"), told("b", "Mine?", ("list_mine", {}), split="test")]
    assert overlaps(listing)["instance"] == []


def test_what_is_undecided_is_not_in_test() -> None:
    gates = BASE["gates"] | {"grounded": {"unique": "undecided"}}
    assert split_faults(two(gates=gates)) == ["b: whether its outcome is unique is undecided, and it is in test"]
