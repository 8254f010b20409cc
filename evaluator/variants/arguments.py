"""Arguments to try, and golden calls with one changed argument, sorted by their outcome.

Values come from results, from the caller's rows, and from the contract's examples. Calling the tool shows whether
they fit. Most changes lead to another end state, some to the same one.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import reduce
from itertools import islice, product
from random import Random
from typing import NamedTuple

from evaluator.variants.conversation import Variant, failing, passing, transcript
from evaluator.variants.executor import VariantExecution, VariantExecutor, first_lawful
from evaluator.variants.words import all_facts
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass
from skillweave.world.canonical import dump

_MOST_KEYS = 24
_MOST_VALUES = 12
"""Most values to try for one parameter of a whole call."""
_DAYS = (1, 7, -1, 3, 14, 30)
_HOURS = (1, -1, 2)
_ISO = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
_MOST_FITTING = 3
"""Most accepted values to execute a changed call with."""
_EITHER: frozenset[FailureClass] = frozenset({"wrong_argument", "wrong_entity"})


def arguments_of(executor: VariantExecutor, tool: Tool, random: Random, most: int) -> Iterator[dict[str, Json]]:
    """Arguments for calls of a tool, without optional ones; at most `most` sets."""
    required = [parameter for parameter in tool.parameters if parameter.required]
    pools = [values_of(executor, parameter, random)[:_MOST_VALUES] for parameter in required]
    size = reduce(lambda total, pool: total * len(pool), pools, 1)
    if size <= most:
        chosen = list(product(*pools))
        random.shuffle(chosen)
    else:
        chosen = [tuple(map(random.choice, pools)) for _ in range(most)]
    for values in islice(chosen, most):
        yield dict(zip([parameter.name for parameter in required], values, strict=True))


def values_of(executor: VariantExecutor, parameter: Parameter, random: Random) -> list[Json]:
    """Values that a parameter may take, the likeliest first."""
    if parameter.refers_to is not None:
        return [*keys_of(executor, parameter.refers_to, random)]
    if parameter.enum is not None:
        return [*random.sample(parameter.enum, len(parameter.enum))]
    if parameter.type == "boolean":
        return [True, False]
    shown = [value for value in executor.shown.get(parameter.name, ()) if _fits(parameter, value)]
    examples: list[Json] = [*random.sample(parameter.examples, len(parameter.examples))]
    return _distinct([*shown, *examples, *_usual(executor, parameter)])


def keys_of(executor: VariantExecutor, reference: str, random: Random) -> list[str]:
    """Keys of rows that a reference may name: first those that results show, then those of the caller's own rows."""
    key = executor.world.blueprint.target(reference)[1]
    shown = map(str, executor.shown.get(key.name, ()))
    if reference not in executor.keys:
        executor.keys[reference] = _keys(executor, reference)
    rest = executor.keys[reference]
    return list(dict.fromkeys([*shown, *random.sample(rest, min(_MOST_KEYS, len(rest)))]))


def _keys(executor: VariantExecutor, reference: str) -> list[str]:
    """Keys of the caller's own rows; of all rows if the caller has none or rows belong to nobody."""
    entity, key = executor.world.blueprint.target(reference)
    people, owner = executor.world.people, owner_of(executor, reference)
    sql = f"SELECT {key.name} AS key FROM {entity.table}"
    with executor.session(0) as session:
        own = []
        if owner is not None:
            account = f"SELECT {owner.account} FROM {people.table} WHERE {people.key} = :caller"
            own = session.query(f"{sql} WHERE {owner.column} = ({account}) ORDER BY 1", {"caller": executor.caller})
        return [str(row["key"]) for row in own or session.query(f"{sql} ORDER BY 1")]


class Owner(NamedTuple):
    """How rows of a table belong to a person."""

    column: str
    """Column of the table that names the person."""
    account: str
    """Column of the core entity that the column refers to."""


def owner_of(executor: VariantExecutor, reference: str) -> Owner | None:
    """How rows of the referenced table belong to a person; None if they belong to nobody."""
    entity = executor.world.blueprint.target(reference)[0]
    accounts = {f"{role.own.name}.{role.key}": role.account for role in executor.world.blueprint.roles}
    owned = (
        Owner(attribute.name, accounts[attribute.references])
        for attribute in entity.attributes
        if attribute.references in accounts
    )
    return next(owned, None)


def changed_values(executor: VariantExecutor, parameter: Parameter, value: Json, random: Random) -> list[Json]:
    """Other values for a parameter that names no row, the nearest first."""
    near = _shifted(value) if parameter.type in ("date", "datetime") else []
    if isinstance(value, int) and not isinstance(value, bool):
        near = [value + 1, value - 1, value + 100]
    if isinstance(value, str) and parameter.type == "string" and parameter.enum is None:
        near = [_another_digit(value)] if value[-1:].isdigit() else [f"{value} Two"]
    candidates = _distinct([*near, *values_of(executor, parameter, random)])
    return [other for other in candidates if dump(other) != dump(value)]


def _fits(parameter: Parameter, value: Json) -> bool:
    if parameter.type in ("integer", "number"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str)


def _usual(executor: VariantExecutor, parameter: Parameter) -> list[Json]:
    """Values to try if results and examples show none."""
    today = executor.task.now[:10]
    if parameter.type == "date":
        return [today, *_shifted(today)]
    if parameter.type == "datetime":
        return _shifted(executor.task.now)
    if parameter.type in ("integer", "number"):
        return [1, 2, 5, 30, 90]
    return [] if parameter.examples else ["Riverside 12"]


def _shifted(value: Json) -> list[Json]:
    if not isinstance(value, str) or not _ISO.fullmatch(value):
        return []
    if len(value) == len("2025-01-24"):
        return [(date.fromisoformat(value) + timedelta(days=days)).isoformat() for days in _DAYS]
    moment = datetime.fromisoformat(value)
    shifts = [timedelta(days=1), *(timedelta(hours=hours) for hours in _HOURS), timedelta(days=7), timedelta(days=-1)]
    return [(moment + by).isoformat(" ") for by in shifts]


def _another_digit(text: str) -> str:
    return text[:-1] + str((int(text[-1]) + 1) % 10)


def _distinct(values: list[Json]) -> list[Json]:
    return list({dump(value): value for value in values}.values())


class _WriteArgument(NamedTuple):
    """One argument of a golden write."""

    position: int
    parameter: Parameter
    value: Json
    """The golden value; None if the call leaves the argument out."""


def changed_calls(executor: VariantExecutor) -> Iterator[Variant]:
    """For each argument of each write at most one variant that fails and one that passes."""
    for place in _places(executor):
        executions = [execution for execution in _executions(executor, place) if not execution.unexecuted]
        words = [all_facts(executor.task.criteria.communicate)]
        other = first_lawful(executions, lambda execution: not executor.reaches_goal(execution.changes))
        if other is not None:
            name, classes = _sort_of(executor, place, other)
            broken: set[FailureClass] = set() if other.is_lawful else {"policy_violation"}
            yield failing(name, transcript(executor.task, other.steps, words), classes | broken)
        same = first_lawful(executions, lambda execution: executor.reaches_goal(execution.changes))
        if same is not None and same.is_lawful and executor.shows_facts(same):
            yield passing("same_outcome", transcript(executor.task, same.steps, words))


def guesses(executor: VariantExecutor, tool: str) -> Iterator[tuple[VariantExecution, frozenset[FailureClass]]]:
    """For each argument of one tool's writes, the golden calls with another value and another end state, with their
    possible failure classes."""
    for place in _places(executor):
        if executor.golden.steps[place.position].call.tool != tool:
            continue
        executions = [execution for execution in _executions(executor, place) if not execution.unexecuted]
        other = first_lawful(executions, lambda execution: not executor.reaches_goal(execution.changes))
        if other is not None:
            broken: set[FailureClass] = set() if other.is_lawful else {"policy_violation"}
            yield other, _sort_of(executor, place, other)[1] | broken


def _places(executor: VariantExecutor) -> Iterator[_WriteArgument]:
    for position in executor.writes:
        step = executor.golden.steps[position]
        for parameter in executor.world.blueprint.tool(step.call.tool).parameters:
            yield _WriteArgument(position, parameter, step.arguments.get(parameter.name))


def _executions(executor: VariantExecutor, place: _WriteArgument) -> list[VariantExecution]:
    """The golden calls with other values for one argument that the tool accepts."""
    step, name = executor.golden.steps[place.position], place.parameter.name
    with executor.session(place.position) as session:
        values = _values(executor, place)
        fitting = (value for value in values if session.peek(step.call.tool, {**step.arguments, name: value}).ok)
        return [
            executor.execute(executor.with_arguments(place.position, {name: value}))
            for value in islice(fitting, _MOST_FITTING)
        ]


def _values(executor: VariantExecutor, place: _WriteArgument) -> list[Json]:
    """Other values than the golden one."""
    random = executor.random(f"{place.position} {place.parameter.name}")
    if place.value is None:
        return values_of(executor, place.parameter, random)
    if place.parameter.refers_to is not None:
        return [key for key in keys_of(executor, place.parameter.refers_to, random) if key != place.value]
    return changed_values(executor, place.parameter, place.value, random)


def _sort_of(
    executor: VariantExecutor, place: _WriteArgument, execution: VariantExecution
) -> tuple[str, frozenset[FailureClass]]:
    """The variant's name and the failure classes that it may get.

    Another row of the caller's is a wrong entity. A row that represents a time or a choice may get either class.
    """
    parameter = place.parameter
    if place.value is None:
        return "added_argument", _EITHER if parameter.refers_to else frozenset({"wrong_argument"})
    if parameter.refers_to is None:
        is_time = parameter.type in ("date", "datetime")
        return "wrong_time" if is_time else "wrong_value", frozenset({"wrong_argument"})
    if owner_of(executor, parameter.refers_to) is not None:
        return "wrong_row", frozenset({"wrong_entity"})
    return "wrong_time" if _differ_in_time(executor, place, execution) else "wrong_row", _EITHER


def _differ_in_time(executor: VariantExecutor, place: _WriteArgument, execution: VariantExecution) -> bool:
    """Whether the golden row and the given row have different dates or times."""
    entity, key = executor.world.blueprint.target(place.parameter.refers_to or "")
    times = [one.name for one in entity.attributes if one.type in ("date", "datetime")]
    if not times:
        return False
    sql = f"SELECT {', '.join(times)} FROM {entity.table} WHERE {key.name} = :key"
    given = next(one.arguments[place.parameter.name] for one in execution.steps if one.call.golden == place.position)
    with executor.session(place.position) as session:
        rows = [session.query(sql, {"key": str(value)}) for value in (place.value, given)]
    return rows[0] != rows[1]
