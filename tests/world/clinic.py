"""A small clinic, by hand: what tests of worlds and of scores stand on.

It has rules of tools and of agents, a deadline, a quota, a fee, a deleted row, a row keyed by a derived id, and two
facts that sign a patient in.
"""

from typing import Any

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World

NOW = "2025-01-20 09:00:00"


def _own(table: str, key: str) -> str:
    return f"EXISTS (SELECT 1 FROM {table} WHERE {key} = :{key} AND patient_id = :caller)"


ENTITIES: list[dict[str, Any]] = [
    {
        "name": "Patient",
        "person": True,
        "prefix": "PAT",
        "attributes": [
            {"name": "patient_id", "type": "string"},
            {"name": "full_name", "type": "string", "shared": True},
            {"name": "email", "type": "string", "unique": True, "shared": True},
            {"name": "date_of_birth", "type": "date", "shared": True},
            {"name": "wants_reminders", "type": "boolean", "generate": {"values": [True, False]}},
        ],
    },
    {
        "name": "Slot",
        "prefix": "SLO",
        "attributes": [
            {"name": "slot_id", "type": "string"},
            {"name": "starts_at", "type": "datetime", "generate": {"low": 0, "high": 30, "times": ["09:30"]}},
            {"name": "dentist_name", "type": "string", "generate": {"fake": "name"}},
            {"name": "is_free", "type": "boolean", "generate": {"values": [True]}},
            {"name": "price_cents", "type": "integer", "unit": "cents", "generate": {"values": [4500, 6000]}},
        ],
    },
]
RELATIONSHIPS: list[dict[str, Any]] = [
    {
        "name": "Appointment",
        "prefix": "APT",
        "attributes": [
            {"name": "appointment_id", "type": "string"},
            {"name": "patient_id", "type": "string", "references": "Patient.patient_id"},
            {"name": "slot_id", "type": "string", "references": "Slot.slot_id"},
            {"name": "status", "type": "string", "enum": ["scheduled", "cancelled"], "initial": "scheduled"},
            {"name": "cancel_reason", "type": "string", "enum": ["illness", "travel", "other"], "nullable": True},
            {"name": "note", "type": "string", "nullable": True, "compare": "free"},
            {"name": "booked_at", "type": "datetime"},
        ],
    },
    {
        "name": "Reminder",
        "prefix": "REM",
        "attributes": [
            {"name": "reminder_id", "type": "string"},
            {"name": "appointment_id", "type": "string", "references": "Appointment.appointment_id"},
            {"name": "channel", "type": "string", "compare": "normalised"},
        ],
    },
    {
        "name": "Fee",
        "prefix": "FEE",
        "attributes": [
            {"name": "fee_id", "type": "string"},
            {"name": "patient_id", "type": "string", "references": "Patient.patient_id"},
            {"name": "appointment_id", "type": "string", "references": "Appointment.appointment_id"},
            {"name": "amount_cents", "type": "integer", "unit": "cents"},
            {"name": "is_paid", "type": "boolean"},
        ],
    },
    {
        "name": "Receipt",
        "prefix": "RCP",
        "attributes": [
            {"name": "receipt_id", "type": "string"},
            {"name": "fee_id", "type": "string", "references": "Fee.fee_id"},
            {"name": "number", "type": "string", "unique": True},
            {"name": "amount_cents", "type": "integer", "unit": "cents"},
            {"name": "paid_at", "type": "datetime"},
        ],
    },
]
APPOINTMENT = {
    "name": "appointment_id",
    "type": "string",
    "refers_to": "Appointment.appointment_id",
    "description": "The appointment.",
}
SLOT = {"name": "slot_id", "type": "string", "refers_to": "Slot.slot_id", "description": "The slot."}
OWN_APPOINTMENT = {
    "rule": "R2",
    "concern": "ownership",
    "holds": _own("appointment", "appointment_id"),
    "error": "not_your_appointment",
    "says": "Patients may only touch their own appointments.",
}
SCHEDULED = {
    "rule": "R3",
    "concern": "integrity",
    "holds": "(SELECT status FROM appointment WHERE appointment_id = :appointment_id) = 'scheduled'",
    "error": "not_scheduled",
    "says": "Only appointments that are scheduled can be changed.",
}
SLOT_EXISTS = {
    "rule": "R4",
    "concern": "existence",
    "holds": "EXISTS (SELECT 1 FROM slot WHERE slot_id = :slot_id)",
    "error": "no_such_slot",
    "says": "The slot must exist.",
}
SLOT_FREE = {
    "rule": "R5",
    "concern": "integrity",
    "holds": "(SELECT is_free FROM slot WHERE slot_id = :slot_id)",
    "error": "slot_taken",
    "says": "The slot must be free.",
}
READS: list[dict[str, Any]] = [
    {
        "name": "identify_patient",
        "description": "Identify a patient by two facts.",
        "kind": "auth",
        "parameters": [
            {"name": "email", "type": "string", "description": "Email address."},
            {"name": "date_of_birth", "type": "date", "description": "Date of birth."},
        ],
        "guards": [
            {
                "rule": "R1",
                "concern": "existence",
                "holds": "EXISTS (SELECT 1 FROM patient WHERE email = :email AND date_of_birth = :date_of_birth)",
                "error": "no_match",
                "says": "Email and date of birth must be those of one patient.",
            }
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT patient_id, full_name, wants_reminders FROM patient WHERE email = :email "
            "AND date_of_birth = :date_of_birth",
        },
    },
    {
        "name": "find_slots",
        "description": "List free slots.",
        "kind": "read",
        "parameters": [
            {"name": "date", "type": "date", "required": False, "description": "Only this day."},
        ],
        "returns": {
            "rows": "many",
            "select": "SELECT s.slot_id, s.starts_at, s.dentist_name, s.is_free, s.price_cents FROM slot s "
            "WHERE s.is_free AND (:date IS NULL OR date(s.starts_at) = :date) ORDER BY s.starts_at, s.slot_id LIMIT 50",
        },
    },
    {
        "name": "list_appointments",
        "description": "List the patient's appointments.",
        "kind": "read",
        "parameters": [
            {
                "name": "status",
                "type": "string",
                "enum": ["scheduled", "cancelled"],
                "required": False,
                "description": "Only these.",
            },
        ],
        "returns": {
            "rows": "many",
            "select": "SELECT a.appointment_id, a.status, s.slot_id, s.starts_at, s.dentist_name FROM appointment a "
            "JOIN slot s ON s.slot_id = a.slot_id WHERE a.patient_id = :caller "
            "AND (:status IS NULL OR a.status = :status) ORDER BY s.starts_at, a.appointment_id",
        },
    },
    {
        "name": "list_fees",
        "description": "List the patient's fees.",
        "kind": "read",
        "returns": {
            "rows": "many",
            "select": "SELECT fee_id, appointment_id, amount_cents, is_paid FROM fee WHERE patient_id = :caller "
            "ORDER BY fee_id",
        },
    },
]
WRITES: list[dict[str, Any]] = [
    {
        "name": "book_appointment",
        "description": "Book a slot.",
        "kind": "write",
        "confirm": True,
        "parameters": [SLOT, {"name": "note", "type": "string", "required": False, "description": "A note."}],
        "guards": [
            SLOT_EXISTS,
            SLOT_FREE,
            {
                "rule": "R6",
                "concern": "quota",
                "holds": "(SELECT COUNT(*) FROM appointment WHERE patient_id = :caller AND status = 'scheduled') < 2",
                "error": "too_many",
                "says": "A patient may have less than 2 scheduled appointments before booking.",
                "enforced_by": "agent",
            },
        ],
        "effects": [
            {
                "rule": "R7",
                "sql": "INSERT INTO appointment (appointment_id, patient_id, slot_id, status, cancel_reason, note, "
                "booked_at) VALUES (:new_id, :caller, :slot_id, 'scheduled', NULL, :note, :now)",
                "says": "A scheduled appointment is made.",
            },
            {"rule": "R8", "sql": "UPDATE slot SET is_free = 0 WHERE slot_id = :slot_id", "says": "The slot is taken."},
            {
                "rule": "R9",
                "sql": "INSERT INTO reminder (reminder_id, appointment_id, channel) SELECT :new_id_2, :new_id, "
                "'E-mail' FROM patient WHERE patient_id = :caller AND wants_reminders",
                "says": "Patients who want reminders get one by e-mail.",
            },
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT a.appointment_id, a.status, s.starts_at FROM appointment a "
            "JOIN slot s ON s.slot_id = a.slot_id WHERE a.appointment_id = :new_id",
        },
    },
    {
        "name": "cancel_appointment",
        "description": "Cancel an appointment.",
        "kind": "write",
        "confirm": True,
        "parameters": [
            APPOINTMENT,
            {
                "name": "reason",
                "type": "string",
                "enum": ["illness", "travel", "other"],
                "required": False,
                "description": "Why.",
            },
        ],
        "guards": [
            OWN_APPOINTMENT,
            SCHEDULED,
            {
                "rule": "R10",
                "concern": "deadline",
                "holds": "julianday((SELECT s.starts_at FROM appointment a JOIN slot s ON s.slot_id = a.slot_id "
                "WHERE a.appointment_id = :appointment_id)) - julianday(:now) >= 1",
                "error": "too_late",
                "says": "Appointments can be cancelled up to 24 hours before they start.",
                "enforced_by": "agent",
            },
        ],
        "effects": [
            {
                "rule": "R11",
                "sql": "UPDATE slot SET is_free = 1 WHERE slot_id = (SELECT slot_id FROM appointment "
                "WHERE appointment_id = :appointment_id)",
                "says": "The slot becomes free.",
            },
            {
                "rule": "R12",
                "sql": "UPDATE appointment SET status = 'cancelled', cancel_reason = :reason "
                "WHERE appointment_id = :appointment_id",
                "says": "The appointment is marked cancelled with the reason given.",
            },
            {
                "rule": "R13",
                "sql": "INSERT INTO fee (fee_id, patient_id, appointment_id, amount_cents, is_paid) "
                "SELECT :new_id, a.patient_id, a.appointment_id, s.price_cents / 2, 0 FROM appointment a "
                "JOIN slot s ON s.slot_id = a.slot_id WHERE a.appointment_id = :appointment_id "
                "AND julianday(s.starts_at) - julianday(:now) < 3",
                "says": "Less than 3 days before the start, 50 % of the price is charged.",
            },
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT a.appointment_id, a.status, a.status = 'cancelled' AS is_cancelled, "
            "(SELECT amount_cents FROM fee WHERE fee_id = :new_id) AS fee_cents FROM appointment a "
            "WHERE a.appointment_id = :appointment_id",
        },
    },
    {
        "name": "move_appointment",
        "description": "Move an appointment to another slot.",
        "kind": "write",
        "parameters": [APPOINTMENT, SLOT],
        "guards": [OWN_APPOINTMENT, SCHEDULED, SLOT_EXISTS, SLOT_FREE],
        "effects": [
            {
                "rule": "R14",
                "sql": "UPDATE slot SET is_free = 1 WHERE slot_id = (SELECT slot_id FROM appointment "
                "WHERE appointment_id = :appointment_id)",
                "says": "The old slot becomes free.",
            },
            {
                "rule": "R15",
                "sql": "UPDATE appointment SET slot_id = :slot_id WHERE appointment_id = :appointment_id",
                "says": "The appointment moves to the new slot.",
            },
            {"rule": "R8", "sql": "UPDATE slot SET is_free = 0 WHERE slot_id = :slot_id", "says": "The slot is taken."},
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT appointment_id, slot_id FROM appointment WHERE appointment_id = :appointment_id",
        },
    },
    {
        "name": "drop_reminder",
        "description": "Delete the reminders of an appointment.",
        "kind": "write",
        "parameters": [APPOINTMENT],
        "guards": [
            OWN_APPOINTMENT,
            {
                "rule": "R16",
                "concern": "existence",
                "holds": "EXISTS (SELECT 1 FROM reminder WHERE appointment_id = :appointment_id)",
                "error": "no_reminder",
                "says": "The appointment must have a reminder.",
            },
        ],
        "effects": [
            {
                "rule": "R17",
                "sql": "DELETE FROM reminder WHERE appointment_id = :appointment_id",
                "says": "Its reminders are deleted.",
            }
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT appointment_id FROM appointment WHERE appointment_id = :appointment_id",
        },
    },
    {
        "name": "pay_fee",
        "description": "Pay a fee.",
        "kind": "write",
        "parameters": [
            {"name": "fee_id", "type": "string", "refers_to": "Fee.fee_id", "description": "The fee."},
            {"name": "amount_cents", "type": "integer", "description": "Exactly what is owed, in cents."},
        ],
        "guards": [
            {
                "rule": "R18",
                "concern": "ownership",
                "holds": _own("fee", "fee_id"),
                "error": "not_your_fee",
                "says": "Patients pay only their own fees.",
            },
            {
                "rule": "R19",
                "concern": "integrity",
                "holds": "(SELECT amount_cents FROM fee WHERE fee_id = :fee_id AND NOT is_paid) = :amount_cents",
                "error": "wrong_amount",
                "says": "The amount must be exactly what is owed.",
            },
        ],
        "effects": [
            {"rule": "R20", "sql": "UPDATE fee SET is_paid = 1 WHERE fee_id = :fee_id", "says": "The fee is paid."},
            {
                "rule": "R21",
                "sql": "INSERT INTO receipt (receipt_id, fee_id, number, amount_cents, paid_at) "
                "VALUES (:new_id, :fee_id, 'NO-' || :new_id, :amount_cents, :now)",
                "says": "A receipt is made.",
            },
        ],
        "returns": {"rows": "one", "select": "SELECT receipt_id, number FROM receipt WHERE receipt_id = :new_id"},
    },
    {
        "name": "set_reminders",
        "description": "Switch reminders on or off.",
        "kind": "write",
        "parameters": [{"name": "wanted", "type": "boolean", "description": "Whether reminders are wanted."}],
        "effects": [
            {
                "rule": "R22",
                "sql": "UPDATE patient SET wants_reminders = :wanted WHERE patient_id = :caller",
                "says": "Reminders are switched as asked.",
            }
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT patient_id, wants_reminders, :wanted AS asked FROM patient WHERE patient_id = :caller",
        },
    },
]


def blueprint_data() -> dict[str, Any]:
    """The blueprint as plain data; deep-copy it before changing it."""
    return {
        "server": "SmallClinic",
        "domain": "dental clinic appointments",
        "title": "Small Clinic",
        "core_entity": "Patient",
        "entities": ENTITIES,
        "relationships": RELATIONSHIPS,
        "tools": [*READS, *WRITES],
        "invariants": [
            {
                "id": "taken_slots",
                "never": "SELECT a.appointment_id FROM appointment a JOIN slot s ON s.slot_id = a.slot_id "
                "WHERE a.status = 'scheduled' AND s.is_free",
            },
            {
                "id": "paid_fees",
                "never": "SELECT f.fee_id FROM fee f "
                "WHERE f.is_paid <> EXISTS (SELECT 1 FROM receipt r WHERE r.fee_id = f.fee_id)",
            },
        ],
    }


def a_blueprint() -> Blueprint:
    """The clinic's blueprint."""
    return Blueprint.model_validate(blueprint_data())


ROWS: dict[str, list[Row]] = {
    "Patient": [
        {
            "patient_id": f"PAT-000{number}",
            "full_name": name,
            "email": f"{name.split()[0].lower()}@example.com",
            "date_of_birth": f"198{number}-03-0{number}",
            "wants_reminders": number != 3,
        }
        for number, name in enumerate(["Ana Lopez", "Ben Okoro", "Cleo Marsh"], start=1)
    ],
    "Slot": [
        {
            "slot_id": f"SLO-000{number}",
            "starts_at": f"2025-01-{20 + number // 2} 1{number}:30:00",
            "dentist_name": "Dr Hale" if number % 2 else "Dr Iyer",
            "is_free": number not in (2, 5),
            "price_cents": 4500 if number % 2 else 6000,
        }
        for number in range(1, 9)
    ],
    "Appointment": [
        {
            "appointment_id": f"APT-000{number}",
            "patient_id": patient,
            "slot_id": f"SLO-000{slot}",
            "status": "scheduled",
            "cancel_reason": None,
            "note": None,
            "booked_at": f"2025-01-1{number} 08:00:00",
        }
        for number, patient, slot in [(1, "PAT-0001", 2), (2, "PAT-0002", 5)]
    ],
    "Reminder": [{"reminder_id": "REM-0001", "appointment_id": "APT-0001", "channel": "E-mail"}],
    "Fee": [
        {
            "fee_id": "FEE-0001",
            "patient_id": "PAT-0001",
            "appointment_id": "APT-0001",
            "amount_cents": 1250,
            "is_paid": False,
        }
    ],
    "Receipt": [],
}


def a_world(blueprint: Blueprint | None = None) -> World:
    """The clinic with three patients, eight slots, two appointments, a reminder and an open fee."""
    blueprint = blueprint or a_blueprint()
    connection = database.create(blueprint)
    for entity in blueprint.tables:
        database.insert(connection, entity, ROWS[entity.name])
    return World(blueprint, connection, now=NOW)
