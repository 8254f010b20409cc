"""No way around: what is declined, or offered by no tool, is not reached by lawful calls with another one first."""

import copy
from functools import partial
from typing import Any

import pytest

from skillweave.schema.combination import Combination
from skillweave.schema.contract import RowChange
from skillweave.schema.template import TaskTemplate
from skillweave.world.world import World
from synth.gates.indirect_route import check_indirect_route, indirect_route_reason
from synth.tasks.combinations import combinations_of
from synth.tasks.kinds import NoInstance
from tests.gates.clinic_tasks import a_move, a_template, judged, reason, with_tools
from tests.tasks.test_builder import template
from tests.world.clinic import APPOINTMENT, ROWS, WRITES

PEOPLE = ["PAT-0001", "PAT-0002", "PAT-0003"]


def guards(tool: str) -> list[dict[str, Any]]:
    return copy.deepcopy(next(one for one in WRITES if one["name"] == tool)["guards"])


def a_rule(rule: str, holds: str) -> dict[str, Any]:
    """A rule that only the policy holds."""
    named = {"rule": rule, "concern": "eligibility", "holds": holds, "error": "not_now", "says": "So it is."}
    return {**named, "enforced_by": "agent"}


def first(world: World, made: TaskTemplate, *callers: str) -> Combination:
    """The first combination of a template."""
    found = combinations_of(world, made, callers or PEOPLE, 1, "7")
    return next(one for one in found if isinstance(one, Combination))


def of_ana(world: World, made: TaskTemplate) -> Combination:
    return first(world, made, "PAT-0001")


def hiding(combination: Combination, *tools: str) -> Combination:
    return combination.model_copy(update={"hidden": [*combination.hidden, *tools]})


def first_calls(world: World, combination: Combination) -> Any:
    return check_indirect_route(world, combination)["roundabout"]["first_calls"]  # type: ignore[index,call-overload]


# Booking, by a rule in the place of the quota.
BOOK = template("book_appointment", kind="refuse", forbidden="R6")
SCHEDULED = "SELECT COUNT(*) FROM appointment WHERE patient_id = :caller AND status = 'scheduled'"
SOON = (
    "SELECT 1 FROM appointment a JOIN slot s ON s.slot_id = a.slot_id WHERE a.patient_id = :caller "
    "AND a.status = 'scheduled' AND julianday(s.starts_at) - julianday(:now) < 2"
)


def booking(holds: str) -> World:
    return with_tools(book_appointment={"guards": [*guards("book_appointment")[:-1], a_rule("R6", holds)]})


PAID_UP = booking("NOT EXISTS (SELECT 1 FROM fee WHERE patient_id = :caller AND NOT is_paid)")
ONE_ONLY = booking(f"({SCHEDULED}) < 1")
NOTHING_SOON = booking(f"NOT EXISTS ({SOON})")


def test_what_is_lawful_once_a_bill_is_paid_is_no_refusal() -> None:
    made = first(PAID_UP, BOOK)
    assert indirect_route_reason(PAID_UP, made) == "lawful after another call"
    assert reason(made, world=PAID_UP, template=BOOK) == "lawful after another call"


def test_a_call_that_is_not_offered_opens_no_way() -> None:
    made = hiding(first(PAID_UP, BOOK), "pay_fee")
    assert indirect_route_reason(PAID_UP, made) is None


def test_nobody_gives_up_another_appointment_unasked() -> None:
    """Cancelling the one that there is would make room under the quota."""
    made = first(ONE_ONLY, BOOK)
    assert indirect_route_reason(ONE_ONLY, made) is None
    assert reason(made, world=ONE_ONLY, template=BOOK) is None


def test_a_row_that_is_not_asked_about_opens_the_way_too() -> None:
    """The appointment that lies too near is moved, to another slot than the one that is wanted."""
    made = of_ana(NOTHING_SOON, BOOK)
    assert indirect_route_reason(NOTHING_SOON, made) == "lawful after another call"
    assert indirect_route_reason(NOTHING_SOON, hiding(made, "move_appointment")) is None


def test_a_combination_that_something_leads_to_is_passed_over() -> None:
    found = [*combinations_of(PAID_UP, BOOK, PEOPLE, 5, "7", misfit=partial(indirect_route_reason, PAID_UP))]
    assert "lawful after another call" in [str(one) for one in found if isinstance(one, NoInstance)]
    assert not [one for one in found if isinstance(one, Combination)]


def test_a_task_that_is_carried_out_has_no_way_around() -> None:
    assert check_indirect_route(ONE_ONLY, a_move()) == {}
    assert indirect_route_reason(ONE_ONLY, a_move()) is None


# Moving, with a rule of its own.
MOVE = template("move_appointment", kind="refuse", forbidden="R23")
STARTS = "SELECT s.starts_at FROM appointment a JOIN slot s ON s.slot_id = a.slot_id WHERE a.appointment_id ="
EARLY = f"julianday(({STARTS} :appointment_id)) - julianday(:now) >= 2"
DAYS_OFF = f"julianday((SELECT starts_at FROM slot WHERE slot_id = :slot_id)) - julianday(({STARTS} :appointment_id))"
NONE_CANCELLED = "NOT EXISTS (SELECT 1 FROM appointment WHERE patient_id = :caller AND status = 'cancelled')"


def moving(holds: str, **changed: dict[str, Any]) -> World:
    return with_tools(move_appointment={"guards": [*guards("move_appointment"), a_rule("R23", holds)]}, **changed)


TOO_LATE = moving(EARLY)


def test_what_is_cancelled_and_made_anew_is_moved() -> None:
    made = first(TOO_LATE, MOVE)
    assert indirect_route_reason(TOO_LATE, made) == "lawful anew"
    assert reason(made, world=TOO_LATE, template=MOVE) == "lawful anew"


def test_what_cannot_be_made_anew_is_kept() -> None:
    own = [*guards("book_appointment"), a_rule("R24", NONE_CANCELLED)]
    world = moving(EARLY, book_appointment={"guards": own})
    assert reason(first(world, MOVE), world=world, template=MOVE) is None


@pytest.mark.parametrize("tool", ["cancel_appointment", "book_appointment"])
def test_without_one_of_the_two_calls_nothing_is_made_anew(tool: str) -> None:
    assert indirect_route_reason(TOO_LATE, hiding(first(TOO_LATE, MOVE), tool)) is None


def test_what_is_too_far_in_one_step_and_not_in_two_is_no_refusal() -> None:
    world = moving(f"{DAYS_OFF} < 2")
    made = hiding(first(world, MOVE), "cancel_appointment")
    assert indirect_route_reason(world, made) == "lawful after another call"


# Reminders: they can be removed; a world's tools say whether they can be changed, and made anew.
CHANNEL = {"name": "channel", "type": "string", "enum": ["E-mail", "SMS"], "description": "How."}
OWN = (
    "EXISTS (SELECT 1 FROM reminder r JOIN appointment a ON a.appointment_id = r.appointment_id "
    "WHERE r.reminder_id = :reminder_id AND a.patient_id = :caller AND r.channel <> :channel)"
)
OWN_APPOINTMENT = "EXISTS (SELECT 1 FROM appointment WHERE appointment_id = :appointment_id AND patient_id = :caller)"
LIST_REMINDERS: dict[str, Any] = {
    "name": "list_reminders",
    "description": "List the patient's reminders.",
    "kind": "read",
    "returns": {
        "rows": "many",
        "select": "SELECT r.reminder_id, r.channel, s.starts_at FROM reminder r JOIN appointment a ON "
        "a.appointment_id = r.appointment_id JOIN slot s ON s.slot_id = a.slot_id "
        "WHERE a.patient_id = :caller ORDER BY r.reminder_id",
    },
}


def a_write(name: str, parameters: list[Any], guard: dict[str, Any], effect: str, select: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": "It.",
        "kind": "write",
        "parameters": parameters,
        "guards": [guard],
        "effects": [{"rule": guard["rule"].replace("R3", "R2"), "sql": effect, "says": "It is done."}],
        "returns": {"rows": "one", "select": select},
    }


CHANGE_REMINDER = a_write(
    "change_reminder",
    [{"name": "reminder_id", "type": "string", "refers_to": "Reminder.reminder_id", "description": "It."}, CHANNEL],
    {**a_rule("R35", OWN), "enforced_by": "tool"},
    "UPDATE reminder SET channel = :channel WHERE reminder_id = :reminder_id",
    "SELECT reminder_id, channel FROM reminder WHERE reminder_id = :reminder_id",
)


def add_reminder(*more: dict[str, Any]) -> dict[str, Any]:
    """The tool that makes a reminder; it takes an appointment and what else it is told."""
    channel = ":channel" if CHANNEL in more else "'E-mail'"
    return a_write(
        "add_reminder",
        [APPOINTMENT, *more],
        {**a_rule("R36", OWN_APPOINTMENT), "enforced_by": "tool"},
        f"INSERT INTO reminder (reminder_id, appointment_id, channel) VALUES (:new_id, :appointment_id, {channel})",
        "SELECT reminder_id, channel FROM reminder WHERE reminder_id = :new_id",
    )


REMINDERS = a_template(
    kind="unavailable",
    is_hidden=True,
    calls=[
        {
            "tool": "change_reminder",
            "found_by": {"reminder_id": [{"tool": "list_reminders", "column": "reminder_id"}]},
        }
    ],
    referred_by={"list_reminders": ["starts_at"]},
    reasons=["I read no e-mail."],
)
REMADE = with_tools(LIST_REMINDERS, CHANGE_REMINDER, add_reminder(CHANNEL))


def a_change(world: World) -> Combination:
    """Ana wants another channel, and no tool changes it."""
    made = first(world, REMINDERS)
    assert made.hidden == ["change_reminder"]
    return made


def test_what_no_tool_changes_is_reached_where_it_is_removed_and_made_anew() -> None:
    made = a_change(REMADE)
    assert indirect_route_reason(REMADE, made) == "lawful anew"
    assert reason(made, world=REMADE, template=REMINDERS) == "lawful anew"


def test_what_no_tool_changes_or_makes_is_out_of_reach() -> None:
    made = hiding(a_change(REMADE), "add_reminder")
    assert reason(made, world=REMADE, template=REMINDERS) is None


def test_what_is_made_anew_otherwise_than_it_is_wanted_leads_nowhere() -> None:
    """The reminder can be made again, but nobody can say by which channel."""
    world = with_tools(LIST_REMINDERS, CHANGE_REMINDER, add_reminder())
    assert reason(a_change(world), world=world, template=REMINDERS) is None


def test_a_call_that_takes_the_same_words_and_makes_no_such_row_leads_nowhere() -> None:
    note = a_write(
        "note_channel",
        [APPOINTMENT, CHANNEL],
        {**a_rule("R36", OWN_APPOINTMENT), "enforced_by": "tool"},
        "UPDATE appointment SET note = :channel WHERE appointment_id = :appointment_id",
        "SELECT appointment_id FROM appointment WHERE appointment_id = :appointment_id",
    )
    world = with_tools(LIST_REMINDERS, CHANGE_REMINDER, note)
    assert reason(a_change(world), world=world, template=REMINDERS) is None


# Charges: amounts with a limit.
def charging(holds: str, unit: str = "amount_cents") -> tuple[World, TaskTemplate]:
    """A tool that puts an amount on an appointment's account, and the request that breaks its rule."""
    amount = {"name": unit, "type": "integer", "description": "It.", "examples": [400, 600]}
    tool = a_write(
        "add_charge",
        [APPOINTMENT, amount],
        {**a_rule("R37", OWN_APPOINTMENT), "enforced_by": "tool"},
        "INSERT INTO fee (fee_id, patient_id, appointment_id, amount_cents, is_paid) "
        f"VALUES (:new_id, :caller, :appointment_id, :{unit}, 0)",
        "SELECT fee_id, amount_cents FROM fee WHERE fee_id = :new_id",
    )
    tool["guards"].append(a_rule("R38", holds.format(amount=f":{unit}")))
    rows = {"appointment_id": [{"tool": "list_appointments", "column": "appointment_id"}]}
    made = a_template(
        kind="refuse",
        forbidden="R38",
        calls=[{"tool": "add_charge", "found_by": rows}],
        referred_by={"list_appointments": ["starts_at"]},
        reasons=["I need it."],
    )
    return with_tools(tool), made


IN_ALL = "{amount} + (SELECT COALESCE(SUM(f.amount_cents), 0) FROM fee f WHERE f.patient_id = :caller) <= 1850"


@pytest.mark.parametrize("unit", ["amount_cents", "points"])
def test_an_amount_that_is_too_much_at_once_is_asked_for_in_two_parts(unit: str) -> None:
    world, made = charging("{amount} <= 500", unit)
    asked = first(world, made)
    assert indirect_route_reason(world, asked) == "lawful in parts"
    assert reason(asked, world=world, template=made) == "lawful in parts"


def test_an_amount_that_is_too_much_in_all_is_so_in_parts() -> None:
    world, made = charging(IN_ALL)
    for caller in PEOPLE[:2]:
        assert reason(first(world, made, caller), world=world, template=made) is None


def test_days_make_no_sum() -> None:
    world, made = charging("{amount} <= 500", "days")
    assert reason(first(world, made), world=world, template=made) is None


def test_the_figure_counts_the_calls_that_were_tried() -> None:
    made = first(ONE_ONLY, BOOK)
    writes = [tool["name"] for tool in WRITES if tool["name"] != "book_appointment"]
    assert first_calls(ONE_ONLY, hiding(made, *writes)) == 0
    # Reminders on or off change nothing that the rule reads.
    assert first_calls(ONE_ONLY, hiding(made, *(name for name in writes if name != "set_reminders"))) == 0
    whole = first_calls(ONE_ONLY, made)
    assert whole > 0
    assert judged(made, world=ONE_ONLY, template=BOOK).gates.lawful["roundabout"] == {"first_calls": whole}


def test_of_many_ways_the_same_are_tried_each_time() -> None:
    """Few of the slots to which the appointment can be moved open the way; which are tried hangs on the id alone."""
    made = of_ana(NOTHING_SOON, BOOK)
    slots = [
        RowChange(
            table="slot",
            op="insert",
            key={"slot_id": f"SLO-01{number}"},
            after={
                "slot_id": f"SLO-01{number}",
                "starts_at": f"2025-01-20 10:{number}:00",
                "dentist_name": "Dr Hale",
                "is_free": True,
                "price_cents": 4500,
            },
        )
        for number in range(10, 60)
    ]
    alike = [made.model_copy(update={"id": f"{made.template}/{number}", "patch": slots}) for number in range(12)]
    found = [indirect_route_reason(NOTHING_SOON, one) for one in alike]
    assert {*found} == {None, "lawful after another call"}
    assert [indirect_route_reason(NOTHING_SOON, one) for one in alike] == found


def test_the_same_seed_gives_the_same_figure() -> None:
    made = first(ONE_ONLY, BOOK)
    assert check_indirect_route(ONE_ONLY, made) == check_indirect_route(ONE_ONLY, first(ONE_ONLY, BOOK))


def test_what_is_lawful_once_two_bills_are_paid_is_no_refusal() -> None:
    fee = {**ROWS["Fee"][0], "fee_id": "FEE-0009", "amount_cents": 2500}
    second = RowChange(table="fee", op="insert", key={"fee_id": "FEE-0009"}, after=fee)
    made = of_ana(PAID_UP, BOOK).model_copy(update={"patch": [second]})
    assert indirect_route_reason(PAID_UP, made) is not None


def test_an_amount_is_asked_for_in_three_parts() -> None:
    world, made = charging("{amount} <= 500")
    asked = first(world, made)
    assert asked.asked
    for amount, parts in ((900, 2), (1200, 3)):
        more = asked.asked.model_copy(update={"arguments": {**asked.asked.arguments, "amount_cents": amount}})
        assert indirect_route_reason(world, asked.model_copy(update={"asked": more})) == "lawful in parts", parts


def test_a_row_that_a_patch_takes_out_of_play_hides_no_way() -> None:
    gone = RowChange(table="reminder", op="delete", key={"reminder_id": "REM-0001"}, before=ROWS["Reminder"][0])
    made = of_ana(PAID_UP, BOOK).model_copy(update={"patch": [gone]})
    assert indirect_route_reason(PAID_UP, made) == "lawful after another call"
