"""What a person wants and knows: what is kept back, and what is said at once."""

from random import Random
from typing import Any

from skillweave.schema.combination import Combination
from skillweave.schema.request import KnownFact
from skillweave.schema.task import Persona
from skillweave.schema.template import TemplateCall
from synth.tasks.requests import request_of
from tests.gates.clinic_tasks import APPOINTMENTS, WORLD, a_combination, a_move, a_template, call, said, value

ANA = Persona(name="Ana Lopez", age=43, style="brief", patience=3)


def known(combination: Combination, tool: str) -> dict[str, KnownFact]:
    template = a_template(calls=[TemplateCall(tool=tool)])
    found = request_of(WORLD.blueprint, template, combination, ANA, Random(1))
    return {thing.id: thing for thing in found.known}


def a_cancellation(**arguments: Any) -> Combination:
    words = said(1, "appointment_id", "Appointment", "APT-0001", "list_appointments", starts_at="2025-01-21 12:30:00")
    cancel = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"), reason=("travel", ""))
    return a_combination([APPOINTMENTS, cancel], rows=[words], values=[value(1, "reason", "travel")], **arguments)


def test_what_goes_into_an_optional_argument_is_volunteered() -> None:
    found = known(a_cancellation(), "cancel_appointment")
    assert [thing.value for thing in found.values() if thing.volunteered] == ["travel"]


def test_a_look_up_does_not_give_away_what_is_left_out() -> None:
    dentist = said(1, "dentist", "Receipt", "REC-1", "list_fees", dentist_name="Dr Iyer")
    move = a_move()
    rows = [dentist, *move.rows]
    left_out = a_move(rows=rows, kind="clarify", withheld=[{"call": 2, "parameter": "slot_id"}])
    found = known(left_out, "move_appointment")
    assert found["slot.dentist_name"].withheld
    assert found["receipt.dentist_name"].withheld
    assert not found["appointment.starts_at"].withheld
    assert not known(a_move(rows=rows), "move_appointment")["receipt.dentist_name"].withheld


def test_a_day_of_birth_is_said_with_its_year() -> None:
    signing_in = a_cancellation(credentials={"date_of_birth": "2025-01-02"})
    assert "2025" in known(signing_in, "cancel_appointment")["me.date_of_birth"].words
