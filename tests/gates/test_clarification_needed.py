"""What a request leaves out: it has to be asked for only where it decides something."""

from typing import Any

import pytest

from skillweave.schema.combination import Combination
from synth.gates.clarification_needed import OTHERS, check_clarification, no_clarification_reason
from synth.tasks.criteria import criteria_of
from synth.tasks.replay import Rejected, run_golden
from tests.gates.clinic_tasks import APPOINTMENTS, WORLD, a_combination, a_move, call, reason, said, value

ANOTHER = {
    "table": "appointment",
    "op": "insert",
    "key": {"appointment_id": "APT-0009"},
    "after": {
        "appointment_id": "APT-0009",
        "patient_id": "PAT-0001",
        "slot_id": "SLO-0003",
        "status": "scheduled",
        "cancel_reason": None,
        "note": None,
        "booked_at": "2025-01-02 09:00:00",
    },
}
"""A second appointment of Ana's."""


def figure(combination: Combination) -> Any:
    made = run_golden(WORLD, combination)
    assert made.succeeded
    return check_clarification(WORLD, combination, criteria_of(WORLD, combination, made))["withheld"]


def left_out(call: int, parameter: str, **changes: Any) -> Combination:
    return a_move(kind="clarify", withheld=[{"call": call, "parameter": parameter}], **changes)


def a_cancellation(**changes: Any) -> Combination:
    """Ana cancels her appointment and says why."""
    words = said(1, "appointment_id", "Appointment", "APT-0001", "list_appointments", starts_at="2025-01-21 12:30:00")
    cancel = call(
        "cancel_appointment",
        appointment_id=("APT-0001", "call 0 [0].appointment_id"),
        reason=("travel", "user"),
    )
    base = {"rows": [words], "values": [value(1, "reason", "travel")]}
    return a_combination([APPOINTMENTS, cancel], **{**base, **changes})


def test_a_row_of_which_there_are_several_is_asked_for() -> None:
    assert figure(left_out(2, "slot_id")) == [{"call": 2, "parameter": "slot_id", "readings": 1 + OTHERS}]


def test_a_row_of_which_there_is_one_needs_no_asking() -> None:
    alone = left_out(2, "appointment_id")
    with pytest.raises(Rejected, match="nothing to ask for"):
        figure(alone)
    assert no_clarification_reason(WORLD, alone) == "nothing to ask for"


def test_my_appointment_is_asked_for_once_there_are_two() -> None:
    two = left_out(2, "appointment_id", patch=[ANOTHER])
    assert figure(two) == [{"call": 2, "parameter": "appointment_id", "readings": 2}]
    assert no_clarification_reason(WORLD, two) is None


def test_my_appointment_is_no_task_to_be_done_once_there_are_two() -> None:
    vague = said(2, "appointment_id", "Appointment", "APT-0001", "list_appointments", status="scheduled")
    slot = next(row for row in a_move().rows if row.parameter == "slot_id")
    assert reason(a_move(rows=[vague, slot], patch=[ANOTHER])) in ("row not told apart", "second lawful end state")


def test_a_row_that_nobody_is_shown_is_no_other_reading() -> None:
    others = {**ANOTHER, "after": {**ANOTHER["after"], "patient_id": "PAT-0002"}}  # type: ignore[dict-item]
    assert no_clarification_reason(WORLD, left_out(2, "appointment_id", patch=[others])) == "nothing to ask for"


def test_a_value_of_which_others_would_do_is_asked_for() -> None:
    choice = a_cancellation(kind="clarify", withheld=[{"call": 1, "parameter": "reason"}])
    assert figure(choice) == [{"call": 1, "parameter": "reason", "readings": 3}]


def test_what_leaves_nothing_out_is_nothing_to_clarify() -> None:
    assert no_clarification_reason(WORLD, a_move(kind="clarify")) == "nothing to ask for"


def test_other_kinds_have_no_such_figure() -> None:
    made = run_golden(WORLD, a_move())
    assert check_clarification(WORLD, a_move(), criteria_of(WORLD, a_move(), made)) == {}
