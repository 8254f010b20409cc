"""The generator that is written from the tables alone."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from skillweave.schema.entity import Entity
from synth.trial.generator import write_generator

NOW = "2025-03-17 09:00:00"


def generated(tables: Sequence[Entity]) -> dict[str, list[dict[str, Any]]]:
    scope: dict[str, Any] = {}
    exec(write_generator("Theatre", "Person", tables, tables), scope)
    rows: dict[str, list[dict[str, Any]]] = scope["generate"](7, NOW, [], {})
    return rows


def test_rows_that_are_given_keep_what_they_give_and_the_rest_is_computed() -> None:
    seat = Entity.model_validate(
        {
            "name": "Seat",
            "prefix": "SEA",
            "rows": {"literal": [{"place": 1, "kind": "wheelchair"}, {"place": 2}]},
            "attributes": [
                {"name": "seat_id", "type": "string"},
                {"name": "place", "type": "integer"},
                {"name": "kind", "type": "string", "generate": {"sql": "'regular'"}},
            ],
        }
    )
    assert [(row["place"], row["kind"]) for row in generated([seat])["seat"]] == [(1, "wheelchair"), (2, "regular")]


def test_slots_of_one_room_fall_on_open_days_and_never_overlap() -> None:
    room = Entity.model_validate(
        {
            "name": "Room",
            "prefix": "ROO",
            "rows": {"literal": [{"place": 1}, {"place": 2}]},
            "attributes": [{"name": "room_id", "type": "string"}, {"name": "place", "type": "integer"}],
        }
    )
    starts = {
        "low": -20,
        "high": 20,
        "closed": ["Sunday"],
        "apart": True,
        "times": ["08:00", "11:30", "12:00", "18:15"],
    }
    slot = Entity.model_validate(
        {
            "name": "Slot",
            "prefix": "SLO",
            "rows": {"per": "Room", "low": 60, "high": 60},
            "attributes": [
                {"name": "slot_id", "type": "string"},
                {"name": "room_id", "type": "string", "references": "Room.room_id"},
                {"name": "starts_at", "type": "datetime", "generate": starts},
            ],
        }
    )
    slots = generated([room, slot])["slot"]
    assert len(slots) == 120
    assert all(date.fromisoformat(row["starts_at"][:10]).isoweekday() < 7 for row in slots)
    assert len({(row["room_id"], row["starts_at"][:10], row["starts_at"][11:] < "12") for row in slots}) == 120


def test_what_was_drawn_can_be_put_right_by_sql() -> None:
    joined = {"low": -9, "high": 9, "empty": 0.3, "sql": "MIN(joined_on, date(:now))"}
    guest = Entity.model_validate(
        {
            "name": "Guest",
            "prefix": "GUE",
            "rows": {"count": 50},
            "attributes": [
                {"name": "guest_id", "type": "string"},
                {"name": "joined_on", "type": "date", "nullable": True, "generate": joined},
            ],
        }
    )
    days = [row["joined_on"] for row in generated([guest])["guest"]]
    assert None in days
    assert max(filter(None, days)) == NOW[:10] > min(filter(None, days))
