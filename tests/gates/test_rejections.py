"""The gates bite: what is wrong with a task is planted, and it has to be rejected for exactly that."""

from typing import Any

import pytest

from skillweave.schema.combination import Combination
from synth.gates.golden import check_golden
from synth.tasks.replay import Rejected, run_golden
from tests.gates.clinic_tasks import (
    APPOINTMENTS,
    MOVE,
    OWN_APPOINTMENT,
    SLOT_4,
    SLOTS,
    WORLD,
    a_combination,
    a_move,
    a_template,
    call,
    judged,
    reason,
    said,
    value,
    with_tools,
)

TOGGLE: dict[str, Any] = {
    "name": "toggle_reminders",
    "description": "Switch reminders to the other state.",
    "kind": "write",
    "effects": [
        {
            "rule": "R30",
            "sql": "UPDATE patient SET wants_reminders = NOT wants_reminders WHERE patient_id = :caller",
            "says": "Reminders are switched over.",
        }
    ],
    "returns": {"rows": "one", "select": "SELECT patient_id, wants_reminders FROM patient WHERE patient_id = :caller"},
}
FEES = {"fact": "told_1", "noun": "fee", "values": [1250], "type": "integer", "unit": "cents"}
TELL_FEE = {"call": 1, "column": "amount_cents", "noun": "fee", "ask": ["the fee"]}
OPEN_FEE = said(0, None, None, None, "list_fees", fee_id="FEE-0001")


def reminders(wanted: bool) -> Combination:
    return a_combination([call("set_reminders", wanted=(wanted, "user"))], values=[value(0, "wanted", wanted)])


def test_a_sound_move_passes_with_its_figures() -> None:
    found = judged(a_move())
    assert [change.table for change in found.criteria.state] == ["appointment", "slot", "slot"]
    assert found.gates.golden == {"replays": 2, "calls": 3, "changes": 3}
    assert found.gates.not_already_true == {"doing_nothing": {"state": 0.0, "communicate": 1.0}}
    assert found.gates.grounded["grounded"] == 2
    assert found.criteria.reward_basis == ["state", "policy"]


def test_a_sound_question_passes() -> None:
    asked = a_combination([call("list_fees")], kind="inform", rows=[OPEN_FEE], communicate=[FEES])
    found = judged(asked, template=a_template(kind="inform", tell=[TELL_FEE]))
    assert found.criteria.reward_basis == ["state", "communicate", "policy"]
    assert found.criteria.state == []


def test_a_sound_task_that_signs_in_passes() -> None:
    facts = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
    signing_in = call("identify_patient", **{name: (fact, "user") for name, fact in facts.items()})
    wish = call("set_reminders", wanted=(False, "user"))
    made = a_combination(
        [signing_in, wish], login="conversation", credentials=facts, values=[value(1, "wanted", False)]
    )
    assert judged(made).gates.grounded["user"] == 3
    assert reason(made.model_copy(update={"credentials": {}})) == "argument without source"


def test_gate_1_a_golden_call_that_fails() -> None:
    taken = SLOT_4.model_copy(update={"key": "SLO-0005"})
    move = call(
        "move_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"), slot_id=("SLO-0005", "user")
    )
    made = a_combination([APPOINTMENTS, SLOTS, move], rows=[OWN_APPOINTMENT, taken])
    assert reason(made) == "golden call fails"


def test_gate_1_a_looked_up_result_that_is_not_what_the_world_gives() -> None:
    with WORLD.sharing():
        value = run_golden(WORLD, a_move()).results[-1].value
        assert isinstance(value, dict)
        check_golden(WORLD, a_move(), run_golden(WORLD, a_move()))
        value["slot_id"] = "SLO-0001"
        with pytest.raises(Rejected, match="golden replay differs"):
            check_golden(WORLD, a_move(), run_golden(WORLD, a_move()))


def test_gate_2_a_goal_that_is_reached_already() -> None:
    assert reason(reminders(False)) is None
    assert reason(reminders(True)) == "already true"


def test_gate_2_a_question_with_nothing_to_tell() -> None:
    assert reason(a_combination([call("list_fees")], kind="inform")) == "already true"


def test_gate_3_a_write_without_outcome() -> None:
    again = call("set_reminders", wanted=(True, "user"))
    made = a_combination(
        [APPOINTMENTS, SLOTS, MOVE, again],
        rows=[OWN_APPOINTMENT, SLOT_4],
        values=[value(3, "wanted", True)],
        steps=[2, 3],
    )
    assert reason(made) == "write without outcome"


def test_gate_3_an_undo_pair() -> None:
    world, toggle = with_tools(TOGGLE), call("toggle_reminders")
    once = a_combination([APPOINTMENTS, SLOTS, MOVE, toggle], rows=[OWN_APPOINTMENT, SLOT_4], steps=[2, 3])
    assert reason(once, world=world) is None
    twice = once.model_copy(update={"golden": [*once.golden, toggle], "steps": [2, 3, 4]})
    assert reason(twice, world=world) == "undo pair"


def test_gate_3_writes_that_undo_each_other_only_together() -> None:
    step = {
        "name": "turn_dial",
        "description": "",
        "kind": "write",
        "effects": [
            {
                "rule": "R31",
                "sql": "UPDATE slot SET price_cents = (price_cents + 1500) % 4500 WHERE slot_id = 'SLO-0001'",
                "says": "",
            }
        ],
        "returns": {"rows": "one", "select": "SELECT slot_id FROM slot WHERE slot_id = 'SLO-0001'"},
    }
    world, turn = with_tools(step), call("turn_dial")
    # From 4500 the dial goes 1500, 3000, 0, 1500: four turns are one, and three of them are none.
    patch = [
        {
            "table": "slot",
            "op": "update",
            "key": {"slot_id": "SLO-0001"},
            "before": {"price_cents": 4500},
            "after": {"price_cents": 0},
        }
    ]
    assert reason(a_combination([turn], patch=patch), world=world) is None
    assert reason(a_combination([turn] * 4, patch=patch, steps=[0, 1, 2, 3]), world=world) == "undo pair"


def test_gate_3_a_read_without_use() -> None:
    rows = [row.model_copy(update={"call": 3}) for row in (OWN_APPOINTMENT, SLOT_4)]
    made = a_combination([APPOINTMENTS, SLOTS, call("list_fees"), MOVE], rows=rows)
    assert reason(made) == "read without use"


def test_gate_3_a_read_that_is_part_of_the_goal_and_tells_nothing() -> None:
    made = a_move(steps=[0, 2])
    assert reason(made) is None
    rows = [row.model_copy(update={"call": 3}) for row in (OWN_APPOINTMENT, SLOT_4)]
    idle = a_combination([APPOINTMENTS, SLOTS, call("list_fees"), MOVE], rows=rows, steps=[2, 3])
    assert reason(idle) == "read without use"


@pytest.mark.parametrize(
    "source",
    [
        None,
        "user",
        "env",
        "call 1 [3].slot_id",
        "call 1 [2].starts_at",
        "policy R4",
        "computed 1 + 1",
        "a guess",
    ],
)
def test_gate_6_an_argument_without_source(source: str | None) -> None:
    grounding = {**MOVE.grounding} | ({"slot_id": source} if source else {})
    if source is None:
        del grounding["slot_id"]
    made = a_move(golden=[APPOINTMENTS, SLOTS, MOVE.model_copy(update={"grounding": grounding})])
    # Golden calls are bound again: what stands elsewhere in a result may be no slot at all.
    assert reason(made) == ("golden call fails" if source == "call 1 [2].starts_at" else "argument without source")


def test_gate_6_a_value_that_the_user_gives_for_something_else() -> None:
    made = reminders(False)
    assert reason(made.model_copy(update={"values": [value(0, "other", False)]})) == "argument without source"
    assert reason(made.model_copy(update={"values": [value(0, "wanted", 0)]})) == "argument without source"


def test_gate_6_a_row_of_a_list_that_nobody_speaks_of() -> None:
    assert reason(a_move(rows=[OWN_APPOINTMENT])) == "row not told apart"


def test_gate_6_words_that_fit_two_rows_of_the_list() -> None:
    vague = said(2, "slot_id", "Slot", "SLO-0004", "find_slots", dentist_name="Dr Iyer")
    assert reason(a_move(rows=[OWN_APPOINTMENT, vague])) == "row not told apart"


def by_day(**columns: Any) -> Combination:
    """The slots are asked for by a day, which only the golden call names."""
    slots = call("find_slots", date=("2025-01-22", "user"))
    move = MOVE.model_copy(update={"grounding": {**MOVE.grounding, "slot_id": "call 1 [0].slot_id"}})
    slot = said(2, "slot_id", "Slot", "SLO-0004", "find_slots", **columns)
    return a_move(
        golden=[APPOINTMENTS, slots, move], rows=[OWN_APPOINTMENT, slot], values=[value(1, "date", "2025-01-22")]
    )


def test_gate_6_words_that_fit_a_row_which_the_read_shows_when_called_otherwise() -> None:
    assert reason(by_day(starts_at="2025-01-22 14:30:00")) is None
    assert reason(by_day(dentist_name="Dr Iyer")) == "second lawful end state"


PAIR: dict[str, Any] = {
    "name": "hold_pair",
    "description": "Hold two slots of one day.",
    "kind": "write",
    "parameters": [
        {"name": name, "type": "string", "refers_to": "Slot.slot_id", "description": ""}
        for name in ("early_id", "late_id")
    ],
    "guards": [
        {
            "rule": "R32",
            "concern": "integrity",
            "holds": "(SELECT COUNT(*) FROM slot a JOIN slot b ON date(a.starts_at) = date(b.starts_at) "
            "WHERE a.slot_id = :early_id AND b.slot_id = :late_id AND a.is_free AND b.is_free) = 1",
            "error": "not_one_day",
            "says": "",
        }
    ],
    "effects": [
        {"rule": "R33", "sql": "UPDATE slot SET is_free = 0 WHERE slot_id IN (:early_id, :late_id)", "says": ""},
    ],
    "returns": {"rows": "one", "select": "SELECT slot_id FROM slot WHERE slot_id = :early_id"},
}


def a_pair(**changes: Any) -> Combination:
    slots = call("find_slots", date=("2025-01-23", "user"))
    hold = call("hold_pair", early_id=("SLO-0006", "call 0 [0].slot_id"), late_id=("SLO-0007", "call 0 [1].slot_id"))
    rows = [
        said(1, "early_id", "Slot", "SLO-0006", "find_slots", dentist_name="Dr Iyer"),
        said(1, "late_id", "Slot", "SLO-0007", "find_slots", dentist_name="Dr Hale"),
    ]
    return a_combination([slots, hold], rows=rows, values=[value(0, "date", "2025-01-23")], **changes)


def test_gate_6_two_rows_that_only_together_may_be_taken_for_others() -> None:
    world = with_tools(PAIR)
    assert reason(a_pair(), world=world) is None
    cell = {"is_free": True}
    freed = [{"table": "slot", "op": "update", "key": {"slot_id": "SLO-0005"}, "before": cell, "after": cell}]
    assert reason(a_pair(patch=freed), world=world) == "second lawful end state"
