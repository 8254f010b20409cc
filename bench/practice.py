"""A group practice: the small clinic of the tests, extended to ten tables with 300 rows each."""

from random import Random
from typing import Any

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World
from tests.world.clinic import NOW, blueprint_data

SERVER = "GroupPractice"
TITLE = "Harbour Group Practice"
ROWS = 300
"""Rows of each table."""
DAYS = 20
"""Number of days with appointments, from tomorrow."""
AREAS = ["crowns", "fillings", "cleaning", "implants", "braces", "root canals"]


def _table(name: str, prefix: str, **columns: str | dict[str, Any]) -> dict[str, Any]:
    """An entity from its columns: each a type, or a type with more."""
    typed = {column: {"type": given} if isinstance(given, str) else given for column, given in columns.items()}
    attributes = [{"name": column, **given} for column, given in typed.items()]
    return {"name": name, "prefix": prefix, "attributes": attributes}


def _to(target: str) -> dict[str, Any]:
    return {"type": "string", "references": target}


_AREA = {"type": "string", "enum": AREAS}
_PICKUP = {"type": "string", "enum": ["counter", "post"]}
_ENTITIES = [
    _table("Dentist", "DEN", dentist_id="string", full_name="string", area=_AREA, takes_new_patients="boolean"),
    _table(
        "Treatment",
        "TRE",
        treatment_id="string",
        treatment_name={"type": "string", "unique": True},
        area=_AREA,
        price_cents={"type": "integer", "unit": "cents"},
        minutes="integer",
    ),
]
_PATIENT, _PRESCRIPTION = _to("Patient.patient_id"), _to("Prescription.prescription_id")
_RELATIONSHIPS = [
    _table(
        "Prescription", "PRE", prescription_id="string", patient_id=_PATIENT, medicine="string", refills_left="integer"
    ),
    _table("Refill", "REF", refill_id="string", prescription_id=_PRESCRIPTION, pickup=_PICKUP, asked_at="datetime"),
]
_REFERS = {"refers_to": "Prescription.prescription_id"}
_TOOLS: list[dict[str, Any]] = [
    {
        "name": "list_treatments",
        "description": "List the treatments of an area, with their prices.",
        "kind": "read",
        "parameters": [
            {"name": "area", "type": "string", "enum": AREAS, "required": False, "description": "Only this area."}
        ],
        "returns": {
            "rows": "many",
            "select": "SELECT treatment_id, treatment_name, price_cents, minutes FROM treatment "
            "WHERE :area IS NULL OR area = :area ORDER BY treatment_name",
        },
    },
    {
        "name": "list_prescriptions",
        "description": "List the patient's prescriptions.",
        "kind": "read",
        "returns": {
            "rows": "many",
            "select": "SELECT p.prescription_id, p.medicine, p.refills_left, COUNT(r.refill_id) AS refills "
            "FROM prescription p LEFT JOIN refill r ON r.prescription_id = p.prescription_id "
            "WHERE p.patient_id = :caller GROUP BY p.prescription_id ORDER BY p.prescription_id",
        },
    },
    {
        "name": "request_refill",
        "description": "Ask for a refill of a prescription.",
        "kind": "write",
        "parameters": [
            {"name": "prescription_id", "description": "The prescription.", "type": "string", **_REFERS},
            {"name": "pickup", "type": "string", "enum": ["counter", "post"], "description": "How it is handed out."},
        ],
        "guards": [
            {
                "rule": "R23",
                "concern": "ownership",
                "holds": "EXISTS (SELECT 1 FROM prescription WHERE prescription_id = :prescription_id "
                "AND patient_id = :caller)",
                "error": "not_your_prescription",
                "says": "Patients get refills only of their own prescriptions.",
            },
            {
                "rule": "R24",
                "concern": "quota",
                "holds": "(SELECT refills_left FROM prescription WHERE prescription_id = :prescription_id) > 0",
                "error": "no_refills_left",
                "says": "A prescription must have more than 0 refills left.",
                "enforced_by": "agent",
            },
        ],
        "effects": [
            {
                "rule": "R25",
                "sql": "UPDATE prescription SET refills_left = refills_left - 1 "
                "WHERE prescription_id = :prescription_id",
                "says": "The prescription has 1 refill less.",
            },
            {
                "rule": "R26",
                "sql": "INSERT INTO refill (refill_id, prescription_id, pickup, asked_at) "
                "VALUES (:new_id, :prescription_id, :pickup, :now)",
                "says": "The refill is noted.",
            },
        ],
        "returns": {
            "rows": "one",
            "select": "SELECT r.refill_id, r.pickup, p.medicine, p.refills_left FROM refill r "
            "JOIN prescription p ON p.prescription_id = r.prescription_id WHERE r.refill_id = :new_id",
        },
    },
]


def practice_blueprint() -> Blueprint:
    """The contract: 13 tools, five of which read many rows."""
    clinic = blueprint_data()
    added = {"entities": _ENTITIES, "relationships": _RELATIONSHIPS, "tools": _TOOLS}
    own = {field: [*clinic[field], *more] for field, more in added.items()}
    return Blueprint.model_validate({**clinic, **own, "server": SERVER, "title": TITLE})


def practice(seed: int) -> World:
    """Create the world and draw every row from the seed."""
    blueprint, random = practice_blueprint(), Random(seed)
    connection = database.create(blueprint)
    rows: dict[str, list[Row]] = {}
    for number in range(1, ROWS + 1):
        for name, row in _rows(number, random).items():
            rows.setdefault(name, []).append(row)
    for entity in blueprint.tables:
        database.insert(connection, entity, rows[entity.name])
    return World(blueprint, connection, now=NOW)


def _rows(number: int, random: Random) -> dict[str, Row]:
    """A row for each table. Every second slot is free because its appointment was cancelled."""
    odd = number % 2 == 1
    patient = _key("PAT", number if odd else number - 1)
    price = random.randrange(4000, 12_000, 50)
    return {
        "Patient": {
            "patient_id": _key("PAT", number),
            "full_name": _name(number),
            "email": f"{_name(number).lower().replace(' ', '.')}@example.com",
            "date_of_birth": f"19{random.randint(40, 99)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}",
            "wants_reminders": random.random() < 0.5,
        },
        "Slot": {
            "slot_id": _key("SLO", number),
            "starts_at": f"{_day(number)} {8 + random.randint(0, 9):02}:{random.choice(['00', '20', '40'])}:00",
            "dentist_name": f"Dr {_name(random.randint(1, 24)).split()[1]}",
            "is_free": not odd,
            "price_cents": price,
        },
        "Dentist": {
            "dentist_id": _key("DEN", number),
            "full_name": f"Dr {_name(number * 7)}",
            "area": random.choice(AREAS),
            "takes_new_patients": random.random() < 0.7,
        },
        "Treatment": {
            "treatment_id": _key("TRE", number),
            "treatment_name": f"{AREAS[number % len(AREAS)].title()} Plan {_letters(number)}",
            "area": AREAS[number % len(AREAS)],
            "price_cents": 5000 + 150 * number,
            "minutes": random.choice([20, 40, 60, 90]),
        },
        "Appointment": {
            "appointment_id": _key("APT", number),
            "patient_id": patient,
            "slot_id": _key("SLO", number),
            "status": "scheduled" if odd else "cancelled",
            "cancel_reason": None if odd else random.choice(["illness", "travel", "other"]),
            "note": None,
            "booked_at": f"2025-01-{random.randint(1, 19):02} 08:00:00",
        },
        "Reminder": {
            "reminder_id": _key("REM", number),
            "appointment_id": _key("APT", number),
            "channel": random.choice(["E-mail", "Letter"]),
        },
        "Fee": {
            "fee_id": _key("FEE", number),
            "patient_id": patient,
            "appointment_id": _key("APT", number),
            "amount_cents": price // 2,
            "is_paid": not odd,
        },
        "Receipt": {
            "receipt_id": _key("RCP", number),
            "fee_id": _key("FEE", number if not odd else number + 1),
            "number": f"NO-{_key('RCP', number)}",
            "amount_cents": price // 2,
            "paid_at": f"2025-01-{random.randint(1, 19):02} 12:00:00",
        },
        "Prescription": {
            "prescription_id": _key("PRE", number),
            "patient_id": patient,
            "medicine": f"{random.choice(['Amoxil', 'Ibuflam', 'Fluorid', 'Dentagel'])} {_letters(number)}",
            "refills_left": random.randint(1, 9),
        },
        "Refill": {
            "refill_id": _key("REF", number),
            "prescription_id": _key("PRE", random.randint(1, ROWS)),
            "pickup": random.choice(["counter", "post"]),
            "asked_at": f"2025-01-{random.randint(1, 19):02} 15:30:00",
        },
    }


def _key(prefix: str, number: int) -> str:
    return f"{prefix}-{number:04}"


def _day(number: int) -> str:
    """A day from the world's tomorrow on; the days repeat."""
    day = 21 + (number // 2) % DAYS
    return f"2025-01-{day:02}" if day <= 31 else f"2025-02-{day - 31:02}"


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    head, tail = divmod(number - 1, 26)
    return (_letters(head) if head else "") + chr(ord("A") + tail)


_FIRST_NAMES = "Ana Ben Cleo Dan Eva Finn Gina Hugh Ivy Jack Kate Liam Mona Noah Olga Paul Rosa Seth Tara Vera"
_LAST_NAMES = "Lopez Okoro Marsh Hale Iyer Stone Novak Brandt Kim Osei Reyes Walsh Petrov Singh Moreau"
_FIRST, _LAST = _FIRST_NAMES.split(), _LAST_NAMES.split()


def _name(number: int) -> str:
    """A full name; the names of 1 to 300 are all different."""
    return f"{_FIRST[number % len(_FIRST)]} {_LAST[number // len(_FIRST) % len(_LAST)]}"
