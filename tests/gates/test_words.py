"""Gates on what is told and on who asks: nothing that could be answered, or filled in, in two ways gets through."""

from typing import Any

from skillweave.schema.combination import Combination
from skillweave.schema.contract import ANY
from skillweave.schema.template import TaskTemplate
from tests.gates.clinic_tasks import (
    APPOINTMENTS,
    MOVE,
    OWN_APPOINTMENT,
    RULES,
    SLOT_4,
    SLOTS,
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

ALSO_TAKEN: dict[str, Any] = {
    "parameters": [
        {"name": "date", "type": "date", "required": False, "description": "Only this day."},
        {"name": "taken", "type": "boolean", "required": False, "description": "Taken ones too."},
    ],
    "returns": {
        "rows": "many",
        "select": "SELECT s.slot_id, s.starts_at, s.dentist_name, s.price_cents FROM slot s "
        "WHERE (s.is_free OR :taken) AND (:date IS NULL OR date(s.starts_at) = :date) ORDER BY s.slot_id",
    },
}
DENTIST = a_template(
    kind="inform", tell=[{"call": 1, "column": "dentist_name", "noun": "dentist", "ask": ["the dentist"]}]
)


def ask_dentist(**columns: Any) -> Combination:
    """Ana asks who works on 22 January, in the one slot of that day that costs 60.00."""
    return a_combination(
        [call("find_slots", date=("2025-01-22", "user"))],
        kind="inform",
        rows=[said(0, None, None, None, "find_slots", **columns)],
        communicate=[{"fact": "told_1", "noun": "dentist", "values": ["Dr Iyer"], "type": "string"}],
        values=[value(0, "date", "2025-01-22")],
    )


def test_a_question_that_another_view_answers_otherwise_is_rejected() -> None:
    world = with_tools(find_slots=ALSO_TAKEN)
    asked = ask_dentist(price_cents=6000)
    assert reason(asked, world=world, template=DENTIST) is None
    cells = {"before": {"price_cents": 4500}, "after": {"price_cents": 6000}}
    dearer = [{"table": "slot", "op": "update", "key": {"slot_id": "SLO-0005"}, **cells}]
    alike = Combination.model_validate({**asked.model_dump(), "patch": dearer})
    assert reason(alike, world=world, template=DENTIST) == "second true answer"


def test_a_day_that_is_asked_about_is_no_other_view() -> None:
    assert reason(ask_dentist(price_cents=6000), template=DENTIST) is None


def test_a_fact_that_the_golden_calls_do_not_return_is_rejected() -> None:
    asked = ask_dentist(price_cents=6000)
    fact = asked.communicate[0].model_copy(update={"values": ["Dr Hale"]})
    assert reason(asked.model_copy(update={"communicate": [fact]}), template=DENTIST) == "golden tells another value"


def test_a_fact_that_the_user_says_is_rejected() -> None:
    assert reason(ask_dentist(dentist_name="Dr Iyer"), template=DENTIST) == "told value is known already"


def test_a_fact_that_can_be_guessed_is_rejected() -> None:
    free = a_template(kind="inform", tell=[{"call": 1, "column": "is_free", "noun": "slot", "ask": ["if it is free"]}])
    asked = ask_dentist(price_cents=6000)
    fact = asked.communicate[0].model_copy(update={"values": [True], "type": "boolean"})
    assert reason(asked.model_copy(update={"communicate": [fact]}), template=free) == "told value can be guessed"


def test_a_row_of_a_question_s_argument_that_fits_two_rows_is_rejected() -> None:
    """The end state is the same whichever row is meant; the answer is not."""
    fee_of = {
        "name": "find_fee",
        "description": "The fee of an appointment.",
        "kind": "read",
        "parameters": [
            {"name": "slot_id", "type": "string", "refers_to": "Slot.slot_id", "description": "The slot."},
        ],
        "returns": {"rows": "one", "select": "SELECT starts_at FROM slot WHERE slot_id = :slot_id"},
    }
    world = with_tools(fee_of)
    slots = call("find_slots", date=("2025-01-22", "user"))
    golden = [slots, call("find_fee", slot_id=("SLO-0004", "call 0 [0].slot_id"))]
    tell = a_template(kind="inform", tell=[{"call": 1, "column": "starts_at", "noun": "start", "ask": ["the start"]}])
    fact = {"fact": "told_1", "noun": "start", "values": ["2025-01-22 14:30:00"], "type": "datetime"}
    row = said(1, "slot_id", "Slot", "SLO-0004", "find_slots", dentist_name="Dr Iyer")
    asked = a_combination(
        golden, kind="inform", rows=[row], communicate=[fact], values=[value(0, "date", "2025-01-22")]
    )
    assert reason(asked, world=world, template=tell) == "second lawful end state"


def a_move_with_its_start(**told: Any) -> tuple[Combination, TaskTemplate]:
    """Ana moves her appointment, and asks when it starts; she says of it who sees her."""
    goal = {"call": 1, "column": "starts_at", "noun": "start", "ask": ["the start"], **told}
    template = a_template(
        calls=[{"tool": "list_appointments"}, {"tool": "move_appointment"}], tell=[goal], reasons=["So."]
    )
    mine = {"dentist_name": "Dr Iyer"}
    made = a_move(
        steps=[0, 2],
        rows=[
            said(0, None, None, None, "list_appointments", **mine),
            said(2, "appointment_id", "Appointment", "APT-0001", "list_appointments", **mine),
            SLOT_4,
        ],
        communicate=[{"fact": "told_1", "noun": "start", "values": ["2025-01-21 12:30:00"], "type": "datetime"}],
    )
    return made, template


def test_a_fact_that_later_calls_change_is_rejected() -> None:
    made, template = a_move_with_its_start()
    assert reason(made, template=template) == "told value does not last"


def test_a_fact_that_is_asked_as_it_stood_may_change() -> None:
    made, template = a_move_with_its_start(was=True)
    assert reason(made, template=template) is None


def test_a_fact_that_later_calls_leave_as_it_is_may_be_asked() -> None:
    made, template = a_move_with_its_start(column="appointment_id")
    fact = made.communicate[0].model_copy(update={"values": ["APT-0001"], "type": "string"})
    assert reason(made.model_copy(update={"communicate": [fact]}), template=template) is None


def test_facts_that_sign_in_two_persons_are_rejected() -> None:
    by_name = {
        "parameters": [
            {"name": "full_name", "type": "string", "description": ""},
            {"name": "date_of_birth", "type": "date", "description": ""},
        ],
        "guards": [],
        "returns": {
            "rows": "one",
            "select": "SELECT patient_id FROM patient WHERE full_name = :full_name "
            "AND date_of_birth = :date_of_birth ORDER BY patient_id LIMIT 1",
        },
    }
    world = with_tools(identify_patient=by_name)
    facts = {"full_name": "Ana Lopez", "date_of_birth": "1981-03-01"}
    signing_in = call("identify_patient", **{name: (fact, "user") for name, fact in facts.items()})
    wish = call("set_reminders", wanted=(False, "user"))
    made = a_combination(
        [signing_in, wish], login="conversation", credentials=facts, values=[value(1, "wanted", False)]
    )
    assert reason(made, world=world) is None
    before = {"full_name": "Ben Okoro", "date_of_birth": "1982-03-02"}
    twin = [{"table": "patient", "op": "update", "key": {"patient_id": "PAT-0002"}, "before": before, "after": facts}]
    twins = Combination.model_validate({**made.model_dump(), "patch": twin})
    assert reason(twins, world=world) == "credentials fit another person"


def test_gate_7_a_rule_that_only_the_agent_holds() -> None:
    book = call("book_appointment", slot_id=("SLO-0004", "call 0 [2].slot_id"))
    again = call("book_appointment", slot_id=("SLO-0006", "call 0 [3].slot_id"))
    rows = [
        SLOT_4.model_copy(update={"call": 1}),
        said(2, "slot_id", "Slot", "SLO-0006", "find_slots", starts_at="2025-01-23 16:30:00"),
    ]
    twice = a_combination([SLOTS, book, again], rows=rows, steps=[1, 2], open_columns={"appointment": ["note"]})
    assert reason(twice) == "golden breaks a rule"
    once = a_combination([SLOTS, book], rows=rows[:1], open_columns={"appointment": ["note"]})
    found = judged(once)
    assert found.gates.lawful["agent_rules_in_play"] == ["R6"]
    assert found.criteria.reward_basis == ["state", "policy"]


def test_gate_7_a_rule_that_the_policy_does_not_state() -> None:
    for rule in ("R5", "R15"):
        assert reason(a_move(), stated=[other for other in RULES if other != rule]) == "rule not in the policy"


def test_a_free_argument_a_slot_booked_and_then_left() -> None:
    book = call("book_appointment", slot_id=("SLO-0004", "call 0 [2].slot_id"))
    move = call(
        "move_appointment",
        appointment_id=("APT-0009", "call 1 appointment_id"),
        slot_id=("SLO-0006", "call 0 [3].slot_id"),
    )
    rows = [
        SLOT_4.model_copy(update={"call": 1}),
        said(2, "slot_id", "Slot", "SLO-0006", "find_slots", starts_at="2025-01-23 16:30:00"),
    ]
    assert reason(a_combination([SLOTS, book, move], rows=rows, steps=[1, 2])) == "free argument"


def test_two_writes_of_one_tool_in_another_order_leave_no_argument_free() -> None:
    cells = {"patient_id": "PAT-0001", "slot_id": "SLO-0007", "status": "scheduled", "booked_at": "2025-01-13 08:00:00"}
    row = {"appointment_id": "APT-0003", **cells, "cancel_reason": None, "note": None}
    second = [{"table": "appointment", "op": "insert", "key": {"appointment_id": "APT-0003"}, "after": row}]
    look = call("list_appointments", status=("scheduled", "user"))
    first = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
    other = call("cancel_appointment", appointment_id=("APT-0003", "call 2 [0].appointment_id"))
    days = {1: ("APT-0001", "2025-01-21 12:30:00"), 3: ("APT-0003", "2025-01-23 17:30:00")}
    both = a_combination(
        [look, first, look, other],
        patch=second,
        steps=[1, 3],
        values=[value(0, "status", "scheduled"), value(2, "status", "scheduled")],
        rows=[
            said(at, "appointment_id", "Appointment", key, "list_appointments", starts_at=day)
            for at, (key, day) in days.items()
        ],
        open_columns={"appointment": ["cancel_reason"]},
    )
    assert reason(both) is None


def test_an_argument_that_no_effect_shows() -> None:
    mood = {"name": "mood", "type": "string", "description": "How the patient feels.", "observable": False}
    wanted = {"name": "wanted", "type": "boolean", "description": ""}
    world = with_tools(set_reminders={"parameters": [wanted, mood]})
    wish = call("set_reminders", wanted=(False, "user"), mood=("well", "user"))
    values = [value(0, "wanted", False), value(0, "mood", "well")]
    assert reason(a_combination([wish], values=values), world=world) == "unobservable argument"


def a_cancellation(**changes: Any) -> Combination:
    cancel = call("cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"))
    rows = [OWN_APPOINTMENT.model_copy(update={"call": 1})]
    base = {"rows": rows, "open_columns": {"appointment": ["cancel_reason"]}}
    golden = changes.pop("golden", [APPOINTMENTS, cancel])
    return a_combination(golden, **{**base, **changes})


def test_a_preference_that_nobody_has_stays_open_and_is_tried() -> None:
    found = judged(a_cancellation())
    assert {"open_arguments": 1, "filled": 3}.items() <= found.gates.equivalents.items()
    cancelled = next(change for change in found.criteria.state if change.table == "appointment")
    assert cancelled.after == {"status": "cancelled", "cancel_reason": {ANY: True}}


def test_a_column_that_should_be_open_and_is_compared_is_rejected() -> None:
    assert reason(a_cancellation(open_columns={})) == "open argument matters"
    unwanted = a_cancellation(open_columns={}, values=[value(1, "reason", None)])
    assert reason(unwanted) is None


def test_an_open_argument_that_stands_in_the_way_of_a_later_call_is_rejected() -> None:
    guard = {
        "rule": "R34",
        "concern": "eligibility",
        "holds": "NOT EXISTS (SELECT 1 FROM appointment WHERE patient_id = :caller AND cancel_reason = 'other')",
        "error": "no_reminders_now",
        "says": "",
    }
    world = with_tools(set_reminders={"guards": [guard]})
    made = a_cancellation()
    wish = call("set_reminders", wanted=(False, "user"))
    both = made.model_copy(
        update={"golden": [*made.golden, wish], "values": [value(2, "wanted", False)], "steps": [1, 2]}
    )
    assert reason(both) is None
    assert reason(both, world=world) == "open argument matters"


def test_a_column_that_is_open_although_the_user_says_it_is_rejected() -> None:
    cancel = call(
        "cancel_appointment", appointment_id=("APT-0001", "call 0 [0].appointment_id"), reason=("illness", "user")
    )
    made = a_cancellation(golden=[APPOINTMENTS, cancel], values=[value(1, "reason", "illness")])
    assert reason(made) == "said argument not compared"
    assert reason(made.model_copy(update={"open_columns": {}})) is None


def test_the_same_row_named_twice_has_to_fit_all_that_is_said_of_it() -> None:
    vague = SLOT_4.model_copy(update={"columns": {"starts_at": "2025-01-22 14:30:00"}})
    assert MOVE.grounding["slot_id"] == "call 1 [2].slot_id"
    assert reason(a_move(rows=[OWN_APPOINTMENT, SLOT_4, vague])) is None


def test_a_fact_of_a_row_that_no_longer_fits_its_words_does_not_last() -> None:
    goal = {"call": 1, "column": "dentist_name", "noun": "dentist", "ask": ["the dentist"]}
    template = a_template(
        calls=[{"tool": "list_appointments"}, {"tool": "move_appointment"}], tell=[goal], reasons=["So."]
    )
    mine = {"starts_at": "2025-01-21 12:30:00"}
    move = call(
        "move_appointment",
        appointment_id=("APT-0001", "call 0 [0].appointment_id"),
        slot_id=("SLO-0007", "call 1 [4].slot_id"),
    )
    made = a_move(
        golden=[APPOINTMENTS, SLOTS, move],
        steps=[0, 2],
        rows=[
            said(0, None, None, None, "list_appointments", **mine),
            said(2, "appointment_id", "Appointment", "APT-0001", "list_appointments", **mine),
            said(2, "slot_id", "Slot", "SLO-0007", "find_slots", starts_at="2025-01-23 17:30:00"),
        ],
        communicate=[{"fact": "told_1", "noun": "dentist", "values": ["Dr Iyer"], "type": "string"}],
    )
    assert reason(made, template=template) == "told value does not last"
