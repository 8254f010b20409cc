"""Candidate values of a parameter in a state: what the data hold, what the contract compares with, what lies beside."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Protocol

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.record import Row, Value
from synth.planner.slots import Slot

CLOCK = "%Y-%m-%d %H:%M:%S"
DAYS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    12,
    14,
    15,
    18,
    20,
    21,
    25,
    28,
    30,
    31,
    32,
    40,
    45,
    60,
    61,
    75,
    90,
    91,
    120,
    180,
    365,
)
"""Distances, in days from `now`, of candidate dates; both ways."""
MISSING = "NONE-0000"
"""A key that no row has."""
MOST = 400
"""Rows of one column that are looked at."""


class State(Protocol):
    """Anything that answers a SELECT about the present state of a world."""

    def query(self, sql: str, bindings: Mapping[str, Value]) -> Sequence[Row]: ...


def candidates(slot: Slot, blueprint: Blueprint, state: State, now: str, random: Random) -> list[Value]:
    """Values worth trying for a parameter, without repeats, in a seeded order (NULL last where it is optional)."""
    parameter = slot.parameter
    if parameter.refers_to:
        entity, attribute = blueprint.target(parameter.refers_to)
        found: list[Value] = [*_column(state, entity.table, attribute.name), MISSING]
    elif parameter.enum:
        found = list(parameter.enum)
    elif parameter.type == "boolean":
        found = [True, False]
    else:
        found = _open_values(slot, state, now)
    random.shuffle(found)
    return found if parameter.required else [*found, None]


def _open_values(slot: Slot, state: State, now: str) -> list[Value]:
    compared = [value for table, column in slot.columns for value in _column(state, table, column)]
    match slot.parameter.type:
        case "date":
            found: list[Value] = [*(str(value)[:10] for value in compared if _is_date(value)), *_dates(now)]
        case "datetime":
            found = [
                *(str(value) for value in compared if _is_date(value) and len(str(value)) == 19),
                *(f"{day} {hour}:00:00" for day in _dates(now)[::2] for hour in ("09", "14")),
            ]
        case "integer":
            near = [int(number) + shift for number in slot.literals for shift in (-1, 0, 1)]
            held = [value for value in compared if isinstance(value, int)]
            found = [*slot.parameter.examples, *held, *(value - 1 for value in held[:20]), *near, 1, 2, 3]
        case "number":
            found = [
                *slot.parameter.examples,
                *(v for v in compared if isinstance(v, (int, float))),
                *slot.literals,
                1.0,
            ]
        case _:
            texts = [value for value in compared if isinstance(value, str)]
            found = [*slot.parameter.examples, *texts]
    return list(dict.fromkeys(found))


def _column(state: State, table: str, column: str) -> list[Value]:
    sql = f"SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL ORDER BY {column} LIMIT {MOST}"
    return [row["value"] for row in state.query(sql, {})]


def _dates(now: str) -> list[str]:
    today = datetime.strptime(now, CLOCK)
    return [(today + timedelta(days=sign * days)).strftime("%Y-%m-%d") for days in DAYS for sign in (1, -1)]


def _is_date(value: Value) -> bool:
    return isinstance(value, str) and len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"
