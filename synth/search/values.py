"""Candidate values of a parameter: what the data hold, what the contract compares with, and values close to these.

Plain values are what people say; they make calls that succeed. Odd values (a key that no row has, an empty text,
an amount out of bounds) are tried only where a guard is to be broken.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise, product
from random import Random
from typing import Literal, Protocol

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Row, Value
from synth.search.slots import Slot

AllowedValues = Mapping[str, Sequence[Value]]
"""Columns of a row, with the values allowed."""
DATETIME_FORMAT = "%Y-%m-%d %H:%M:%S"
DAY_OFFSETS = (
    *range(9),
    *(10, 12, 14, 15, 18, 20, 21, 25, 28, 30, 31, 32, 40, 45, 60, 61, 75, 90, 91, 120, 180, 365),
    *(730, 1825, 3650, 6570, 7300, 10950, 14600),
)
"""Candidate dates lie so many days before and after `now`."""
PAST, AHEAD = 31, 62
"""People rather name a day within so many days of now than one that is farther off."""
MONTHS, YEARS = 183, 800
"""Fewer people name a day beyond the first, and nobody one beyond the second, unless nothing else fits."""
MISSING_KEY = "NONE-0000"
"""A key that no row has."""
MOST_VALUES = 300
"""Values of one column that are considered."""


class QueryableState(Protocol):
    """Anything that answers a SELECT about the present state of a world."""

    def query(self, sql: str, bindings: Mapping[str, Value]) -> Sequence[Row]: ...


def plain_values(slot: Slot, state: QueryableState, now: str) -> list[list[Value]]:
    """Values that a person would give, without repeats, in groups; the first group is preferred.

    Args:
        now: The clock, `YYYY-MM-DD HH:MM:SS`.
    """
    parameter = slot.parameter
    if parameter.enum:
        return [list(parameter.enum)]
    match parameter.type:
        case "boolean":
            return [[True, False]]
        case "date" | "datetime":
            on_record = tuple(_column_values(slot, state))
            return [[*group] for group in _by_distance(tuple(parameter.examples), on_record, now, parameter.type)]
        case "integer":
            held: list[Value] = [value for value in _column_values(slot, state) if isinstance(value, int)]
            return _groups(list(parameter.examples), held, _round_integers(slot), [1, 2, 3])
        case "number":
            held = [value for value in _column_values(slot, state) if isinstance(value, (int, float))]
            return _groups([*parameter.examples, *held], list(slot.literals), [1.0])
        case _:
            texts: list[Value] = [value for value in _column_values(slot, state) if isinstance(value, str)]
            return _groups(list(parameter.examples) or texts, [] if parameter.examples else _texts(slot))


def odd_values(slot: Slot, plain: Sequence[Sequence[Value]]) -> list[Value]:
    """Values that a guard is there to refuse: a key that no row has, an empty text, an amount out of bounds.

    Args:
        plain: The plain values, in groups.
    """
    parameter = slot.parameter
    if parameter.refers_to:
        return [MISSING_KEY]
    given = [value for group in plain for value in group]
    match parameter.type:
        case "integer":
            numbers = [value for value in given if isinstance(value, int)]
            near = [int(number) + shift for number in slot.literals for shift in (-1, 0, 1)]
            beside = [value + shift for value in numbers[:60] for shift in (-1, 1)]
            far = [factor * value for value in sorted(numbers)[-3:] for factor in (2, 10)]
            return list(dict.fromkeys([*near, 0, -1, *beside, *far]))
        case "number":
            floats = [float(value) for value in given if isinstance(value, (int, float))]
            return list(dict.fromkeys([0.0, -1.0, *(value + shift for value in floats[:60] for shift in (-0.5, 0.5))]))
        case "string" if not parameter.enum:
            texts = [value for value in given if isinstance(value, str)][:5]
            return list(dict.fromkeys(["", " ", "x", *(t[:-1] for t in texts), *(t + "x" for t in texts), "x" * 600]))
        case _:
            return []


def _column_values(slot: Slot, state: QueryableState) -> list[Value]:
    """The values in the columns that a parameter is compared with."""
    values: list[Value] = []
    for table, column in slot.columns:
        sql = f"SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL ORDER BY value DESC"
        values += [row["value"] for row in state.query(f"{sql} LIMIT {MOST_VALUES}", {})]
    return values


def _groups(*groups: Sequence[Value]) -> list[list[Value]]:
    return [list(dict.fromkeys(group)) for group in groups if group]


def _round_integers(slot: Slot) -> list[Value]:
    """Numbers at, beside and between those that the contract compares with."""
    numbers = sorted(int(number) for number in slot.literals)
    between = [(low * (4 - part) + high * part) // 4 for low, high in pairwise(numbers) for part in (1, 2, 3)]
    # Nobody has a bill of 5,000.01.
    step = 100 if slot.parameter.name.endswith("_cents") else 1
    return [*between, *(number + shift for number in numbers for shift in (-step, 0, step))]


def _texts(slot: Slot) -> list[Value]:
    """Made-up texts, if nothing shows what to say: the parameter's name, or as many digits as the contract counts."""
    counted = [int(number) for number in slot.literals if 0 < number <= 40]
    name = slot.parameter.name.replace("_", " ")
    return [*(f"{name} {number}" for number in range(1, 9)), *(("1234567890" * 4)[:length] for length in counted)]


@lru_cache(maxsize=1024)
def _by_distance(
    given: tuple[Value, ...], on_record: tuple[Value, ...], now: str, sort: Literal["date", "datetime"]
) -> tuple[tuple[Value, ...], ...]:
    """Days in groups, nearest first: near days, days within months, days on record, days within years, and all.

    Examples that the contract's author gave and that are far off come first of all. Future days come before past ones,
    unless all near days that are known are past.

    Args:
        given: Examples of the contract.
        on_record: Values of which those count that are days.
        sort: Whether to give days or times; others around now are added.
    """
    dates = [str(value) for value in on_record if _is_date(value)]
    if sort == "date":
        held, invented = [date[:10] for date in dates], _dates(now)
    else:
        held, invented = [date for date in dates if len(date) == 19], _times(now)
    today = datetime.strptime(now[:10], "%Y-%m-%d").date()
    days = {value: (day.date() - today).days for value in [*given, *held, *invented] if (day := day_of(value))}

    def within(least: int, most: int) -> list[Value]:
        return [value for value, off in days.items() if least <= off <= most]

    past, ahead = within(-PAST, 0), within(0, AHEAD)
    near = {*past, *ahead}
    known = near & {*given, *held}
    groups = _groups(
        [value for value in given if value not in near],
        *((past, ahead) if known and known <= {*past} else (ahead, past)),
        within(-MONTHS, MONTHS),
        held,
        within(-YEARS, YEARS),
        [*days],
    )
    return tuple(map(tuple, groups))


@lru_cache(maxsize=256)
def _dates(now: str) -> tuple[str, ...]:
    today = datetime.strptime(now, DATETIME_FORMAT)
    return tuple((today + timedelta(days=sign * days)).strftime("%Y-%m-%d") for days in DAY_OFFSETS for sign in (1, -1))


@lru_cache(maxsize=256)
def _times(now: str) -> tuple[str, ...]:
    return tuple(f"{day} {hour}:00:00" for day in _dates(now)[:60:2] for hour in ("09", "14"))


@lru_cache(maxsize=4096)
def day_of(value: Value) -> datetime | None:
    """The day or time that a value is; None if it is neither."""
    if not isinstance(value, str) or len(value) not in (10, 19) or value[4:5] != "-":
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _is_date(value: Value) -> bool:
    return isinstance(value, str) and len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"


def keys_of_matching_rows(
    blueprint: Blueprint, reference: str, columns: AllowedValues, state: QueryableState
) -> list[str]:
    """Keys of the rows that have, in each of these columns, one of the values allowed.

    Args:
        reference: The key, as `Entity.attribute`.
    """
    entity, attribute = blueprint.target(reference)
    bound: dict[str, Value] = {}
    tests = []
    for column, values in columns.items():
        names = [f"{column}_{number}" for number in range(len(values))]
        bound |= dict(zip(names, values, strict=True))
        tests.append(f"{column} IN ({', '.join(f':{name}' for name in names)})")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    matching = state.query(f"SELECT {attribute.name} AS key FROM {entity.table}{where} ORDER BY key", bound)
    return [str(row["key"]) for row in matching]


def row_choices(
    blueprint: Blueprint, tool: Tool, rows: Mapping[str, AllowedValues], state: QueryableState, random: Random
) -> Iterator[dict[str, Value]]:
    """Keys for the arguments of a call that must name rows of a certain kind, in a seeded order.

    Args:
        rows: Argument -> what its row must have. Without any, the one choice is `{}`.
    """
    keys = [
        keys_of_matching_rows(blueprint, tool.parameter(name).refers_to or "", columns, state)
        for name, columns in rows.items()
    ]
    for chosen in product(*(random.sample(some, len(some)) for some in keys)):
        yield dict(zip(rows, chosen, strict=True))
