import copy
from collections.abc import Callable
from typing import Any

import pytest

from skillweave.schema.blueprint import Blueprint
from skillweave.world.contract import ContractProblem, problems
from tests.world.clinic import a_blueprint, blueprint_data

Change = Callable[[dict[str, Any]], object]


def found_after(change: Change) -> list[ContractProblem]:
    data = copy.deepcopy(blueprint_data())
    change(data)
    return problems(Blueprint.model_validate(data))


def tool(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in data["tools"] if one["name"] == name)


def attribute(data: dict[str, Any], entity: str, name: str) -> dict[str, Any]:
    owner = next(one for one in [*data["entities"], *data["relationships"]] if one["name"] == entity)
    return next(one for one in owner["attributes"] if one["name"] == name)


def guard_of(data: dict[str, Any], holds: str) -> dict[str, Any]:
    guard: dict[str, Any] = tool(data, "pay_fee")["guards"][0]
    guard["holds"] = holds
    return guard


def effect_of(data: dict[str, Any], sql: str) -> None:
    tool(data, "pay_fee")["effects"][0]["sql"] = sql


def returns_of(data: dict[str, Any], rows: str, select: str) -> None:
    tool(data, "list_fees")["returns"] = {"rows": rows, "select": select}


def reworded(data: dict[str, Any], place: int) -> None:
    data["guards"][place] = {**data["guards"][place], "says": "Other words."}


def event_of(data: dict[str, Any], pick: str, effect: str) -> None:
    data["events"] = [{"name": "no_show", "pick": pick, "effects": [effect]}]


def price_by(data: dict[str, Any], sql: str) -> None:
    attribute(data, "Slot", "price_cents")["generate"] = {"sql": sql}


def examples_of(data: dict[str, Any], *rows: dict[str, Any]) -> None:
    tool(data, "cancel_appointment")["examples"] = [*rows]


PICK = "SELECT appointment_id, booked_at, note FROM appointment ORDER BY appointment_id"
BROKEN: list[tuple[str, str, Change]] = [
    ("entity 'slot' occurs 2", "blueprint", lambda d: d["relationships"].append({**d["entities"][1], "name": "SLOT"})),
    ("tool 'pay_fee' occurs 2", "blueprint", lambda d: d["tools"].append({**tool(d, "pay_fee"), "name": "Pay_Fee"})),
    (
        "occurs 2",
        "tool pay_fee",
        lambda d: tool(d, "pay_fee")["parameters"].append(tool(d, "pay_fee")["parameters"][0]),
    ),
    ("core_entity 'Nobody'", "blueprint", lambda d: d.update(core_entity="Nobody")),
    ("takes no 'why'", "cancel_appointment, examples", lambda d: examples_of(d, {"why": "I am ill."})),
    ("names a row", "cancel_appointment, examples", lambda d: examples_of(d, {"appointment_id": "APT-0001"})),
    ("must be one of illness", "cancel_appointment, examples", lambda d: examples_of(d, {"reason": "boredom"})),
    ("the same parameters", "cancel_appointment, examples", lambda d: examples_of(d, {"reason": "other"}, {})),
    ("must be a person", "blueprint", lambda d: d.update(core_entity="Slot")),
    ("is the key", "entity Slot", lambda d: attribute(d, "Slot", "slot_id").update(type="integer")),
    ("enum needs type string", "Slot", lambda d: attribute(d, "Slot", "price_cents").update(enum=["a"])),
    ("names no key", "Fee", lambda d: attribute(d, "Fee", "patient_id").update(references="Patient.email")),
    ("names no key", "Fee", lambda d: attribute(d, "Fee", "patient_id").update(references="Person.id")),
    ("initial 'lost'", "Appointment", lambda d: attribute(d, "Appointment", "status").update(initial="lost")),
    ("must be nullable", "Slot", lambda d: attribute(d, "Slot", "is_free")["generate"].update(empty=0.5)),
    ("does not parse", "price_cents, generate.sql", lambda d: price_by(d, "100 * is_free AND (")),
    ("does not parse", "price_cents, generate.sql", lambda d: price_by(d, "1) FROM slot WHERE (1")),
    ("must be an expression", "price_cents, generate.sql", lambda d: price_by(d, "SELECT 1")),
    ("no such column", "price_cents, generate.sql", lambda d: price_by(d, "100 * is_cheap")),
    ("unknown binding :caller", "price_cents, generate.sql", lambda d: price_by(d, "length(:caller)")),
    ("clock", "price_cents, generate.sql", lambda d: price_by(d, "julianday(CURRENT_TIMESTAMP)")),
    ("unknown table 'offer'", "price_cents, generate.sql", lambda d: price_by(d, "(SELECT MIN(price) FROM offer)")),
    ("exactly one auth tool", "blueprint", lambda d: tool(d, "list_fees").update(kind="auth")),
    ("two matching facts", "identify", lambda d: tool(d, "identify_patient")["parameters"][0].update(required=False)),
    (
        "must return 'patient_id'",
        "identify",
        lambda d: tool(d, "identify_patient")["returns"].update(select="SELECT :email AS x, :date_of_birth AS y"),
    ),
    (
        "unknown binding :caller",
        "identify",
        lambda d: tool(d, "identify_patient")["guards"][0].update(holds=":caller = :email AND :date_of_birth > ''"),
    ),
    ("needs effects", "pay_fee", lambda d: tool(d, "pay_fee").update(effects=[])),
    ("has no effects", "pay_fee", lambda d: tool(d, "pay_fee").update(kind="read")),
    ("bound by the engine", "set_reminders", lambda d: tool(d, "set_reminders")["parameters"][0].update(name="now")),
    ("enum needs type string", "pay_fee", lambda d: tool(d, "pay_fee")["parameters"][1].update(enum=["a"])),
    ("names no key", "pay_fee", lambda d: tool(d, "pay_fee")["parameters"][0].update(refers_to="Fee.patient_id")),
    (
        "no SQL of the tool uses it",
        "pay_fee",
        lambda d: tool(d, "pay_fee")["parameters"].append({"name": "why", "type": "string", "description": ""}),
    ),
    ("held by the tool", "pay_fee", lambda d: tool(d, "pay_fee")["guards"][0].update(enforced_by="agent")),
    ("engine's own", "pay_fee", lambda d: tool(d, "pay_fee")["guards"][0].update(error="unknown_tool")),
    ("the rule says", "move", lambda d: reworded(tool(d, "move_appointment"), 3)),
    (
        "held by the tool here",
        "R19",
        lambda d: tool(d, "drop_reminder")["guards"].append(
            {**tool(d, "pay_fee")["guards"][1], "concern": "fee", "enforced_by": "agent", "holds": "1"}
        ),
    ),
    ("unknown binding :fee", "guard R18", lambda d: guard_of(d, "EXISTS (SELECT 1 FROM fee WHERE fee_id = :fee)")),
    ("no such column", "guard R18", lambda d: guard_of(d, "EXISTS (SELECT 1 FROM fee WHERE fee = :fee_id)")),
    ("function 'soundex'", "guard R18", lambda d: guard_of(d, "soundex(:fee_id) = 'x'")),
    ("reads the clock", "guard R18", lambda d: guard_of(d, "julianday() > 1")),
    ("must be an expression", "guard R18", lambda d: guard_of(d, "SELECT 1")),
    ("must be one INSERT", "effect R20", lambda d: effect_of(d, "SELECT 1")),
    ("needs a WHERE", "effect R20", lambda d: effect_of(d, "UPDATE fee SET is_paid = 1")),
    (
        "shared attribute",
        "effect R20",
        lambda d: effect_of(d, "UPDATE patient SET email = :fee_id WHERE patient_id = :now"),
    ),
    ("changes the key", "effect R20", lambda d: effect_of(d, "UPDATE fee SET fee_id = :now WHERE fee_id = :fee_id")),
    ("persons whom", "effect R20", lambda d: effect_of(d, "DELETE FROM patient WHERE patient_id = :fee_id")),
    (
        "leaves out 'channel'",
        "effect R20",
        lambda d: effect_of(d, "INSERT INTO reminder (reminder_id, appointment_id) VALUES (:new_id_2, :fee_id)"),
    ),
    (
        "numbered",
        "pay_fee",
        lambda d: effect_of(
            d, "INSERT INTO reminder (reminder_id, appointment_id, channel) VALUES (:new_id_3, :fee_id, 'x')"
        ),
    ),
    ("keys no inserted row", "pay_fee", lambda d: effect_of(d, "UPDATE slot SET dentist_name = :new_id_2 WHERE 1")),
    ("needs an ORDER BY", "list_fees", lambda d: returns_of(d, "many", "SELECT fee_id FROM fee")),
    ("needs a name", "list_fees", lambda d: returns_of(d, "one", "SELECT count(*) FROM fee")),
    ("column 'fee_id' occurs 2", "list_fees", lambda d: returns_of(d, "one", "SELECT fee_id, fee_id FROM fee")),
    ("unknown binding :new_id", "list_fees", lambda d: returns_of(d, "one", "SELECT :new_id AS x")),
    ("unknown binding :now", "invariant", lambda d: d["invariants"][0].update(never="SELECT 1 AS x WHERE :now > ''")),
    ("must be one SELECT", "invariant", lambda d: d["invariants"][0].update(never="DELETE FROM fee WHERE 1")),
    ("unknown binding :slot_id", "no_show", lambda d: event_of(d, PICK, "DELETE FROM slot WHERE slot_id = :slot_id")),
    ("gives the text :note", "no_show", lambda d: event_of(d, PICK, "DELETE FROM fee WHERE date(:note) = :now")),
]


@pytest.mark.parametrize(("message", "where", "change"), BROKEN, ids=[message for message, _, _ in BROKEN])
def test_what_cannot_run_is_a_fatal_problem_that_names_its_place(message: str, where: str, change: Change) -> None:
    fatal = [problem for problem in found_after(change) if problem.fatal]
    assert any(message in problem.message and where in problem.where for problem in fatal), fatal


def test_the_clinic_has_no_problems() -> None:
    assert problems(a_blueprint()) == []


def test_an_expression_sees_its_row_other_tables_and_the_moment() -> None:
    other = "(SELECT COUNT(*) FROM appointment a WHERE a.slot_id = slot.slot_id)"
    assert found_after(lambda d: price_by(d, f"100 * is_free + (starts_at > :now) + {other}")) == []


def test_an_event_binds_what_it_picked() -> None:
    lawful = (
        "UPDATE appointment SET note = :note WHERE appointment_id = :appointment_id AND date(:booked_at) < date(:now)"
    )
    assert found_after(lambda data: event_of(data, PICK, lawful)) == []


ODD: list[tuple[str, str, Change]] = [
    (
        "implied by the later guard R18",
        "pay_fee, guard R30",
        lambda d: tool(d, "pay_fee")["guards"].insert(
            0,
            {
                **tool(d, "pay_fee")["guards"][0],
                "rule": "R30",
                "holds": "EXISTS (SELECT fee_id FROM fee WHERE fee_id = :fee_id)",
            },
        ),
    ),
    (
        "no effect shows it",
        "drop_reminder, parameter why",
        lambda d: (
            tool(d, "drop_reminder")["parameters"].append({"name": "why", "type": "string", "description": ""}),
            tool(d, "drop_reminder")["guards"][1].update(holds=":why <> ''"),
        ),
    ),
    (
        "nobody writes the value 'lost'",
        "status",
        lambda d: attribute(d, "Appointment", "status")["enum"].append("lost"),
    ),
    (
        "slot.price_cents, which nobody generates",
        "guard R18",
        lambda d: (
            attribute(d, "Slot", "price_cents").pop("generate"),
            guard_of(d, "EXISTS (SELECT 1 FROM slot WHERE price_cents > 5 AND :fee_id = '')"),
        ),
    ),
]


@pytest.mark.parametrize(("message", "where", "change"), ODD, ids=[message for message, _, _ in ODD])
def test_what_runs_and_is_odd_is_a_note(message: str, where: str, change: Change) -> None:
    found = found_after(change)
    assert not any(problem.fatal for problem in found), found
    assert any(message in problem.message and where in problem.where for problem in found), found
