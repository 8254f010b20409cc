"""Whether a task's outcome is the only right one: proved, or undecided where the search for another was cut short."""

import pytest

from skillweave.schema.combination import Combination
from synth.gates import unique as gate
from synth.tasks.criteria import criteria_of
from synth.tasks.replay import run_golden
from tests.gates.clinic_tasks import WORLD, a_combination, a_move, a_template, call, said

TEMPLATE = a_template(
    kind="inform",
    calls=[{"tool": "find_slots"}],
    tell=[{"call": 1, "column": "dentist_name", "noun": "dentist", "ask": ["the dentist"]}],
)


def unique(combination: Combination) -> object:
    made = run_golden(WORLD, combination)
    template = TEMPLATE if combination.kind == "inform" else a_template()
    return gate.check_unique(WORLD, combination, template, criteria_of(WORLD, combination, made), made)["unique"]


def a_question() -> Combination:
    """Ana asks who works at a time."""
    return a_combination(
        [call("find_slots")],
        kind="inform",
        rows=[said(0, None, None, None, "find_slots", starts_at="2025-01-22 14:30:00")],
        communicate=[{"fact": "told_1", "noun": "dentist", "values": ["Dr Iyer"], "type": "string"}],
    )


def test_what_was_searched_to_the_end_is_proved() -> None:
    assert unique(a_move()) == "proved"
    assert unique(a_question()) == "proved"


def test_more_ways_to_look_than_were_tried_leave_it_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synth.tasks.replay.MOST_VIEWS", 2)
    assert unique(a_question()) == "undecided"


def test_rows_that_no_read_was_found_to_show_leave_it_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    vague = said(2, "appointment_id", "Appointment", "APT-0001", "list_appointments", status="scheduled")
    slot = next(row for row in a_move().rows if row.parameter == "slot_id")
    combination = a_move(rows=[vague, slot])
    assert unique(combination) == "proved"
    monkeypatch.setattr(gate, "MOST_READINGS", 1)
    assert unique(combination) == "undecided"
