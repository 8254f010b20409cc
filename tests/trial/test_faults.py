"""Rows that people could not ask for: the contracts' author is told which read, and why."""

import pytest

from synth.trial.faults import hidden_rows, indistinguishable_rows
from tests.gates.clinic_tasks import WORLD, with_tools

PAIRED = "SELECT {} FROM slot s JOIN patient p WHERE s.is_free ORDER BY s.starts_at, s.slot_id, p.patient_id"


def slots(select: str) -> dict[str, object]:
    """Another search for slots."""
    return {"parameters": [], "returns": {"rows": "many", "select": select}}


def test_rows_that_can_be_told_apart_are_no_fault_even_where_they_are_listed_in_pairs() -> None:
    assert [*indistinguishable_rows(WORLD)] == []
    paired = with_tools(find_slots=slots(PAIRED.format("s.slot_id, s.starts_at, s.dentist_name, p.full_name")))
    assert [*indistinguishable_rows(paired)] == []


@pytest.mark.parametrize(
    ("select", "why"),
    [
        (
            PAIRED.format("s.slot_id, p.full_name"),
            "have nothing alike that tells them from others, since it joins each with patient (slot_id SLO-",
        ),
        (
            "SELECT s.slot_id, s.price_cents > 0 AS costs FROM slot s ORDER BY s.slot_id",
            "are the same as others in all that people could say of them",
        ),
    ],
)
def test_rows_of_which_nobody_can_say_which_are_told(select: str, why: str) -> None:
    found = [*indistinguishable_rows(with_tools(find_slots=slots(select)))]
    assert [fault.name for fault in found] == ["book_appointment", "move_appointment"]
    assert found[0].says.startswith("book_appointment.slot_id names a row of Slot, and nobody can say which: of ")
    assert why in found[0].says
    assert found[0].says.endswith("Let a read list one row for each Slot, with what people call it by")
    assert (found[0].fatal, found[0].tools) == (False, ("find_slots",))


@pytest.mark.parametrize(
    ("select", "why"),
    [
        (
            "SELECT s.slot_id FROM slot s JOIN appointment a ON a.slot_id = s.slot_id ORDER BY s.slot_id",
            "find_slots shows them only where they are joined with what is the customer's own",
        ),
        (
            "SELECT a.slot_id, a.status FROM appointment a ORDER BY a.appointment_id",
            "find_slots shows them only as what other rows refer to (appointment.slot_id)",
        ),
        (
            "SELECT p.full_name, s.slot_id FROM patient p JOIN slot s ORDER BY s.slot_id, p.patient_id",
            "find_slots shows them only beside rows of Patient, in a row for each of those",
        ),
    ],
)
def test_where_else_the_key_of_rows_stands_that_no_read_lists_is_told(select: str, why: str) -> None:
    world = with_tools(find_slots=slots(select))
    says = next(fault.says for fault in hidden_rows(world.blueprint) if "slot_id names" in fault.says)
    assert why in says
    assert "Let a read list rows of slot, one for each with its slot_id straight from the table" in says


def test_a_key_that_no_read_returns_is_told() -> None:
    select = "SELECT a.appointment_id FROM appointment a ORDER BY a.appointment_id"
    world = with_tools(
        find_slots=slots("SELECT s.starts_at FROM slot s ORDER BY s.starts_at"), list_appointments=slots(select)
    )
    says = next(fault.says for fault in hidden_rows(world.blueprint) if "slot_id names" in fault.says)
    assert "nobody can find one: no read returns Slot.slot_id" in says
