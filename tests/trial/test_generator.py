"""The generator that is written from the tables alone."""

from typing import Any

from skillweave.schema.entity import Entity
from synth.trial.generator import write_generator


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
    scope: dict[str, Any] = {}
    exec(write_generator("Theatre", "Guest", [seat], [seat]), scope)
    rows = scope["generate"](7, "2025-03-17 09:00:00", [], {})["seat"]
    assert [(row["place"], row["kind"]) for row in rows] == [(1, "wheelchair"), (2, "regular")]
