"""A library and an airline with the same customers, by hand: what the one knows of somebody matters to the other."""

from functools import cache
from typing import Any

from skillweave.schema.blueprint import Blueprint, BridgeRule, FusedBlueprint
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.world import World
from synth.fusion.blueprint import fuse
from synth.fusion.mediation import MediationInputs
from synth.fusion.persons import fused_rows
from synth.simulation.generation import state_of

NOW = "2025-03-17 09:00:00"
PERSONS = 7
"""All but the first have an open fine. All have a booking, which the last one has cancelled for medical reasons."""


def _text(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", **more}


def _guard(rule: str, concern: str, holds: str, error: str, says: str) -> dict[str, Any]:
    return {"rule": rule, "concern": concern, "holds": holds, "error": error, "says": says}


def _parameter(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "string", "description": "It.", **more}


def _tools(person: str, key: str, thing: str, fact: str) -> list[dict[str, Any]]:
    return [
        {
            "name": "sign_in",
            "description": f"Identify the {person}.",
            "kind": "auth",
            "parameters": [_parameter("email"), _parameter(fact)],
            "guards": [
                _guard(
                    "R1",
                    "existence",
                    f"EXISTS (SELECT 1 FROM {person} WHERE email = :email AND {fact} = :{fact})",
                    "unknown_person",
                    f"The email and the {fact.replace('_', ' ')} must both match.",
                )
            ],
            "returns": {"rows": "one", "select": f"SELECT {key} FROM {person} WHERE email = :email"},
        },
        {
            "name": f"list_{thing}s",
            "description": f"The {person}'s own {thing}s.",
            "kind": "read",
            "returns": {
                "rows": "many",
                "select": f"SELECT * FROM {thing} WHERE {key} = :caller ORDER BY {thing}_id",
            },
        },
    ]


def _write(name: str, thing: str, key: str, status: str, parameters: list[dict[str, Any]], effect: str) -> Any:
    own = f"EXISTS (SELECT 1 FROM {thing} WHERE {thing}_id = :{thing}_id AND {key} = :caller)"
    open_ = f"EXISTS (SELECT 1 FROM {thing} WHERE {thing}_id = :{thing}_id AND status = '{status}')"
    named = _parameter(f"{thing}_id", refers_to=f"{thing.capitalize()}.{thing}_id")
    return {
        "name": name,
        "description": f"{name.replace('_', ' ').capitalize()}.",
        "kind": "write",
        "confirm": True,
        "parameters": [named, *parameters],
        "guards": [
            _guard("R2", "ownership", own, f"not_your_{thing}", f"People only deal with a {thing} of their own."),
            _guard(
                "R3", "integrity", open_, f"{thing}_not_{status}", f"Only a {thing} that is {status} is dealt with."
            ),
        ],
        "effects": [
            {
                "rule": f"R_{name}",
                "sql": f"UPDATE {thing} SET {effect} WHERE {thing}_id = :{thing}_id",
                "says": f"The {thing} changes.",
            }
        ],
        "returns": {"rows": "one", "select": f"SELECT * FROM {thing} WHERE {thing}_id = :{thing}_id"},
    }


def _blueprint(server: str, core: str, thing: str, fact: str, statuses: list[str], tools: list[Any]) -> Blueprint:
    key = f"{core.lower()}_id"
    person = {
        "name": core,
        "person": True,
        "role_of": "Person",
        "prefix": core[:3].upper(),
        "attributes": [
            _text(key),
            _text("full_name", shared=True),
            _text("email", shared=True),
            _text("phone", shared=True),
            _text("postcode", shared=True),
        ],
    }
    record = {
        "name": thing.capitalize(),
        "prefix": thing[:3].upper(),
        "attributes": [
            _text(f"{thing}_id"),
            _text(key, references=f"{core}.{key}"),
            _text("status", enum=statuses),
            _text("reason", nullable=True, enum=["medical", "plans"]),
        ],
    }
    return Blueprint.model_validate(
        {
            "server": server,
            "domain": f"{thing}s",
            "title": f"{server} Limited",
            "core_entity": core,
            "entities": [person],
            "relationships": [record],
            "tools": [*_tools(core.lower(), key, thing, fact), *tools],
            "invariants": [{"id": "sound", "never": f"SELECT 1 FROM {thing} WHERE {thing}_id = ''"}],
        }
    )


REASON = _parameter("reason", enum=["medical", "plans"])
LIBRARY = _blueprint(
    "Library",
    "Reader",
    "fine",
    "postcode",
    ["open", "paid", "waived"],
    [
        _write("pay_fine", "fine", "reader_id", "open", [], "status = 'paid'"),
        _write("waive_fine", "fine", "reader_id", "open", [], "status = 'waived'"),
    ],
)
AIRLINE = _blueprint(
    "Airline",
    "Passenger",
    "booking",
    "phone",
    ["booked", "cancelled"],
    [
        _write(
            "cancel_booking", "booking", "passenger_id", "booked", [REASON], "status = 'cancelled', reason = :reason"
        ),
    ],
)


@cache
def joint() -> FusedBlueprint:
    """The contract of both."""
    return fuse([LIBRARY, AIRLINE])


@cache
def singles() -> list[World]:
    """Each with its own data."""
    return [
        World(LIBRARY, state_of(_library(), LIBRARY), now=NOW),
        World(AIRLINE, state_of(_airline(), AIRLINE), now=NOW),
    ]


@cache
def ground() -> MediationInputs:
    """Both, with their data."""
    databases = {"Library": state_of(_library(), LIBRARY), "Airline": state_of(_airline(), AIRLINE)}
    people: list[Row] = [
        {"person_id": f"PER-{number}", "Library": f"REA-{number}", "Airline": f"PAS-{number}"}
        for number in range(PERSONS)
    ]
    state = state_of(fused_rows(joint(), databases, people), joint())
    return MediationInputs(joint(), database.to_bytes(state, joint()), NOW, "seed")


def a_rule(name: str, tool: str, holds: str, says: str, **more: Any) -> BridgeRule:
    """A bridge rule that is about who may."""
    fields = {"concern": "eligibility", "error": name, **more}
    return BridgeRule(rule=name, tool=tool, holds=holds, says=says, **fields)


OPEN = "SELECT 1 FROM Library__Fine f WHERE f.reader_id = (SELECT Library FROM Person WHERE person_id = :person)"
FINES_FIRST = a_rule(
    "fines_first",
    "airline__cancel_booking",
    f"NOT EXISTS ({OPEN} AND f.status = 'open')",
    "A booking is only cancelled for somebody without a fine that is open at the library.",
)
PLANS_ONLY = a_rule(
    "fines_first_for_plans",
    "airline__cancel_booking",
    f":reason <> 'plans' OR NOT EXISTS ({OPEN} AND f.status = 'open')",
    "A booking is only cancelled for plans while no fine is open at the library.",
)
ILL = a_rule(
    "ill",
    "library__waive_fine",
    "EXISTS (SELECT 1 FROM Airline__Booking b WHERE b.passenger_id = (SELECT Airline FROM Person WHERE person_id = "
    ":person) AND b.status = 'cancelled' AND b.reason = 'medical')",
    "A fine is only waived for somebody with a booking cancelled for medical reasons.",
)


def _library() -> dict[str, list[Row]]:
    fines = [f"REA-{number}" for number in range(1, PERSONS)]
    return {
        "reader": _persons("reader_id", "REA"),
        "fine": [
            {"fine_id": f"FIN-{place}", "reader_id": reader, "status": "open", "reason": None}
            for place, reader in enumerate(fines)
        ],
    }


def _airline() -> dict[str, list[Row]]:
    bookings: list[Row] = [
        {"booking_id": f"BOO-{number}", "passenger_id": f"PAS-{number}", "status": "booked", "reason": None}
        for number in range(PERSONS)
    ]
    bookings[-1] |= {"status": "cancelled", "reason": "medical"}
    return {"passenger": _persons("passenger_id", "PAS"), "booking": bookings}


def _persons(key: str, prefix: str) -> list[Row]:
    return [
        {
            key: f"{prefix}-{number}",
            "full_name": f"Reader {number}",
            "email": f"reader{number}@example.net",
            "phone": f"+44 {number}",
            "postcode": f"AB{number}",
        }
        for number in range(PERSONS)
    ]
