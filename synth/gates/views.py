"""Views: all rows that a read can show, called in every way that an agent may think of.

What an agent sees depends on how it calls a read: with a filter or without, from another day on. Optional arguments are
left out and filled in, enums and dates are gone through; what names a row stays as the golden call has it.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta
from itertools import islice, product
from math import prod

from skillweave.schema.call import CallResult
from skillweave.schema.combination import Combination
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.schema.task import GoldenCall
from skillweave.world.session import ContractSession
from skillweave.world.world import World

WEEKS = 10
"""Weeks ahead in which rows are sought by date."""
MOST = 150
"""Ways in which one read is called."""


def views(
    world: World, session: ContractSession, combination: Combination, call: GoldenCall, fixed: Collection[str] = ()
) -> Iterator[dict[str, Json]]:
    """Rows that the read of a golden call shows in the present state, repeats included. `fixed` arguments stay."""
    tool = world.blueprint.tool(call.tool)
    names = [parameter.name for parameter in tool.parameters]
    for values in islice(product(*_ways(tool, combination, call, fixed)), MOST):
        given = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield from rows_of(session.peek(tool.name, given))


def more_ways(world: World, combination: Combination, call: GoldenCall, fixed: Collection[str] = ()) -> bool:
    """Whether a read can be called in more ways than `views` calls it."""
    return prod(map(len, _ways(world.blueprint.tool(call.tool), combination, call, fixed))) > MOST


def rows_of(result: CallResult) -> list[dict[str, Json]]:
    """The rows of a result, be it one or many."""
    rows = result.value if isinstance(result.value, list) else [result.value]
    return [row for row in rows if isinstance(row, dict)]


def _ways(tool: Tool, combination: Combination, call: GoldenCall, fixed: Collection[str]) -> list[list[Json]]:
    return [
        [call.arguments[parameter.name]]
        if parameter.name in fixed
        else _choices(parameter, call.arguments, combination.now)
        for parameter in tool.parameters
    ]


def _choices(parameter: Parameter, arguments: Mapping[str, Json], now: str) -> list[Json]:
    found: list[Json] = [] if parameter.required else [None]
    if parameter.name in arguments:
        found.append(arguments[parameter.name])
    if parameter.enum:
        found += [value for value in parameter.enum if value not in found]
    elif parameter.type == "boolean":
        found += [True, False]
    elif parameter.type == "date":
        today = date.fromisoformat(now[:10])
        found += [(today + timedelta(weeks=week)).isoformat() for week in range(-1, WEEKS)]
    return found
