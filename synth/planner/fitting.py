"""Rows that fit: where an argument must name a row of a certain kind, the keys of those that are of it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.record import Value
from synth.planner.values import State

Columns = Mapping[str, Sequence[Value]]
"""Columns of a row, with the values allowed."""


def fitting(blueprint: Blueprint, reference: str, columns: Columns, state: State) -> list[str]:
    """Keys of the rows of `Entity.attribute` that have, in each of these columns, one of the values allowed."""
    entity, attribute = blueprint.target(reference)
    bound: dict[str, Value] = {}
    tests = []
    for column, values in columns.items():
        names = [f"{column}_{number}" for number in range(len(values))]
        bound |= dict(zip(names, values, strict=True))
        tests.append(f"{column} IN ({', '.join(f':{name}' for name in names)})")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    found = state.query(f"SELECT {attribute.name} AS key FROM {entity.table}{where} ORDER BY key", bound)
    return [str(row["key"]) for row in found]


def choices(
    blueprint: Blueprint, tool: Tool, rows: Mapping[str, Columns], state: State, random: Random
) -> Iterator[dict[str, Value]]:
    """Keys for the arguments of a call that must name such rows, in a seeded order: `{}` where there are none."""
    keys = [fitting(blueprint, tool.parameter(name).refers_to or "", columns, state) for name, columns in rows.items()]
    for chosen in product(*(random.sample(found, len(found)) for found in keys)):
        yield dict(zip(rows, chosen, strict=True))
