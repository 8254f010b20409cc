"""Instances of a world of one domain are sought until there are enough, and no template is passed over in silence."""

from pathlib import Path

from synth.tasks.selection import ENOUGH, Selection, SelectionInput, choose_instances
from tests.gates.clinic_tasks import WORLD
from tests.tasks.test_builder import template

GOALS = [template("cancel_appointment", id=f"cancel_{number}") for number in range(2)]
OTHERS = [template("cancel_appointment", id=f"nobody_{number}", kind="unavailable") for number in range(4)]


def chosen(folder: Path, enough: int) -> Selection:
    templates = [*GOALS, *OTHERS]
    file = folder / "clinic.sqlite"
    file.write_bytes(WORLD.content)
    most, splits = {one.id: 1 for one in templates}, {one.id: "train" for one in templates}
    inputs = SelectionInput(WORLD.blueprint, file, WORLD.now, templates, most, splits, "7", enough)  # type: ignore[arg-type]
    return choose_instances(inputs, lambda *_: None, lambda *_: None)


def test_other_kinds_than_goals_stop_at_their_share_of_what_is_enough(tmp_path: Path) -> None:
    selection = chosen(tmp_path, 10)
    found = [*dict.fromkeys(one.template for one in selection.combinations)]
    assert found == ["cancel_0", "cancel_1", "nobody_0", "nobody_1"]
    assert {one.template: one.reason for one in selection.lacking} == {"nobody_2": ENOUGH, "nobody_3": ENOUGH}


def test_without_a_number_every_template_is_tried(tmp_path: Path) -> None:
    selection = chosen(tmp_path, 0)
    assert {one.template for one in selection.combinations} == {one.id for one in [*GOALS, *OTHERS]}
    assert not selection.lacking
