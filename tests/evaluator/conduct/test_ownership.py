"""What is done for somebody else."""

from copy import deepcopy
from typing import Any

from evaluator.checks.policy import check_policy
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.message import Message
from skillweave.schema.task import GoldenCall
from skillweave.world.replay import replay
from skillweave.world.world import World
from tests.evaluator.conversations import a_conversation, agent, user
from tests.evaluator.tasks import a_task
from tests.world.clinic import a_world, blueprint_data

GIVE = {
    "name": "give_fee",
    "description": "Charge a fee.",
    "kind": "write",
    "parameters": [
        {"name": "patient_id", "type": "string", "refers_to": "Patient.patient_id", "description": "Who pays."},
        {"name": "appointment_id", "type": "string", "refers_to": "Appointment.appointment_id", "description": "For."},
    ],
    "guards": [],
    "effects": [
        {
            "rule": "R30",
            "sql": "INSERT INTO fee (fee_id, patient_id, appointment_id, amount_cents, is_paid) "
            "VALUES (:new_id, :patient_id, :appointment_id, 500, 0)",
            "says": "A fee is charged.",
        }
    ],
    "returns": {"rows": "one", "select": "SELECT fee_id FROM fee WHERE fee_id = :new_id"},
}


def a_careless_world() -> World:
    """The clinic, whose tools ask nobody whose appointment it is."""
    blueprint = deepcopy(blueprint_data())
    for tool in blueprint["tools"]:
        tool["guards"] = [guard for guard in tool.get("guards", []) if guard["rule"] != "R2"]
    blueprint["tools"].append(GIVE)
    return a_world(Blueprint.model_validate(blueprint))


WORLD = a_careless_world()


def violations(*calls: tuple[str, Any], golden: list[GoldenCall] | None = None, **task: Any) -> list[str]:
    golden = golden or []
    state = replay(WORLD, a_task(golden=golden, **task)).changes
    demanded = a_task(golden=golden, criteria={"state": state, "reward_basis": ["state"]}, **task)
    messages: list[Message] = [user("Hello"), *(agent(None, call) for call in calls)]
    return check_policy(a_conversation(WORLD, demanded, *messages)).violations


def test_a_change_of_somebody_elses_row_names_table_key_and_person() -> None:
    cancel = ("cancel_appointment", {"appointment_id": "APT-0002"})
    assert "appointment APT-0002 of PAT-0002 in call 0 (cancel_appointment)" in violations(cancel)
    assert violations(("cancel_appointment", {"appointment_id": "APT-0001"})) == []


def test_a_new_row_for_somebody_else_is_told_from_one_for_the_user() -> None:
    own = ("give_fee", {"patient_id": "PAT-0001", "appointment_id": "APT-0001"})
    other = ("give_fee", {"patient_id": "PAT-0003", "appointment_id": "APT-0001"})
    assert violations(own) == []
    assert violations(own, other) == ["fee FEE-0010 of PAT-0003 in call 1 (give_fee)"]


def test_what_the_task_demands_is_not_held_against_the_agent() -> None:
    golden = [GoldenCall(tool="give_fee", arguments={"patient_id": "PAT-0003", "appointment_id": "APT-0001"})]
    assert violations(("give_fee", golden[0].arguments), golden=golden) == []
    other = ("give_fee", {"patient_id": "PAT-0002", "appointment_id": "APT-0001"})
    assert violations(other, golden=golden) == ["fee FEE-0009 of PAT-0002 in call 0 (give_fee)"]


def test_a_row_that_the_task_brings_belongs_to_whom_it_names() -> None:
    row = {
        "appointment_id": "APT-0009",
        "patient_id": "PAT-0003",
        "slot_id": "SLO-0007",
        "status": "scheduled",
        "cancel_reason": None,
        "note": None,
        "booked_at": "2025-01-10 08:00:00",
    }
    brought = {"table": "appointment", "op": "insert", "key": {"appointment_id": "APT-0009"}, "after": row}
    start = {"database": "database/SmallClinic.sqlite", "digest": "", "patch": [brought]}
    found = violations(("cancel_appointment", {"appointment_id": "APT-0009"}), initial_state=start)
    assert found[-1] == "appointment APT-0009 of PAT-0003 in call 0 (cancel_appointment)"


def test_signing_in_as_somebody_else_is_an_action_for_somebody_else() -> None:
    ana = {"email": "ana@example.com", "date_of_birth": "1981-03-01"}
    ben = {"email": "ben@example.com", "date_of_birth": "1982-03-02"}
    golden = [GoldenCall(tool="identify_patient", arguments=dict(ana))]
    nobody = {"CURRENT_DATE": "2025-01-20", "LOGGED_IN_USER": None, "LOGGED_IN_NAME": None}
    wrong = violations(("identify_patient", ben), golden=golden, login="conversation", env_variables=nobody)
    assert wrong == ["signed in as PAT-0002, and the user is PAT-0001"]
    assert violations(("identify_patient", ana), golden=golden, login="conversation", env_variables=nobody) == []
    assert violations(golden=golden, login="conversation", env_variables=nobody) == []
