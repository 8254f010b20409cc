"""Golden calls with one argument changed, sorted by what comes of it: most lead elsewhere, some to the same end."""

from collections.abc import Iterator
from typing import NamedTuple

from evaluator.variants.candidates import changed_values, keys_of, owner_of, values_of
from evaluator.variants.telling import told
from evaluator.variants.transcript import transcript
from evaluator.variants.variant import Variant, failing, passing
from evaluator.variants.workbench import Attempt, Workbench, first
from skillweave.schema.contract import Parameter
from skillweave.schema.record import Json
from skillweave.schema.result import FailureClass

_MOST_FITTING = 3
"""Values that a call is carried out with, of those that it takes."""
_EITHER: frozenset[FailureClass] = frozenset({"wrong_argument", "wrong_entity"})


class _Place(NamedTuple):
    """An argument of a golden write."""

    call: int
    parameter: Parameter
    value: Json
    """The golden one; None where it is left out."""


def changed_calls(bench: Workbench) -> Iterator[Variant]:
    """For each argument of each write at most one that fails, and one that passes."""
    for place in _places(bench):
        attempts = [attempt for attempt in _attempts(bench, place) if not attempt.undone]
        words = [told(bench.task.criteria.communicate)]
        other = first(attempts, lambda attempt: not bench.reaches_goal(attempt.changes))
        if other is not None:
            name, classes = _sort_of(bench, place, other)
            broken: set[FailureClass] = set() if other.is_lawful else {"policy_violation"}
            yield failing(name, transcript(bench.task, other.made, words), classes | broken)
        same = first(attempts, lambda attempt: attempt.is_lawful and bench.reaches_goal(attempt.changes))
        if same is not None:
            yield passing("same_outcome", transcript(bench.task, same.made, words))


def guesses(bench: Workbench, tool: str) -> Iterator[tuple[Attempt, frozenset[FailureClass]]]:
    """For each argument of the writes of one tool, the golden calls with another value that leads elsewhere; and what
    that may be called."""
    for place in _places(bench):
        if bench.golden.made[place.call].move.tool != tool:
            continue
        attempts = [attempt for attempt in _attempts(bench, place) if not attempt.undone]
        other = first(attempts, lambda attempt: not bench.reaches_goal(attempt.changes))
        if other is not None:
            broken: set[FailureClass] = set() if other.is_lawful else {"policy_violation"}
            yield other, _sort_of(bench, place, other)[1] | broken


def _places(bench: Workbench) -> Iterator[_Place]:
    for call in bench.writes:
        made = bench.golden.made[call]
        for parameter in bench.world.blueprint.tool(made.move.tool).parameters:
            yield _Place(call, parameter, made.arguments.get(parameter.name))


def _attempts(bench: Workbench, place: _Place) -> list[Attempt]:
    """The golden calls with other values there, where the call takes them."""
    made, name = bench.golden.made[place.call], place.parameter.name
    with bench.session(place.call) as session:
        fitting = [
            other for other in _values(bench, place) if session.peek(made.move.tool, {**made.arguments, name: other}).ok
        ]
    return [bench.attempt(bench.instead(place.call, {name: other})) for other in fitting[:_MOST_FITTING]]


def _values(bench: Workbench, place: _Place) -> list[Json]:
    """Other values than the golden one."""
    random = bench.random(f"{place.call} {place.parameter.name}")
    if place.value is None:
        return values_of(bench, place.parameter, random)
    if place.parameter.refers_to is not None:
        return [key for key in keys_of(bench, place.parameter.refers_to, random) if key != place.value]
    return changed_values(bench, place.parameter, place.value, random)


def _sort_of(bench: Workbench, place: _Place, attempt: Attempt) -> tuple[str, frozenset[FailureClass]]:
    """A row of the caller's own is the entity meant. One that stands for a time or a choice may be called either."""
    parameter = place.parameter
    if place.value is None:
        return "added_argument", _EITHER if parameter.refers_to else frozenset({"wrong_argument"})
    if parameter.refers_to is None:
        is_time = parameter.type in ("date", "datetime")
        return "wrong_time" if is_time else "wrong_value", frozenset({"wrong_argument"})
    if owner_of(bench, parameter.refers_to) is not None:
        return "wrong_row", frozenset({"wrong_entity"})
    return "wrong_time" if _differ_in_time(bench, place, attempt) else "wrong_row", _EITHER


def _differ_in_time(bench: Workbench, place: _Place, attempt: Attempt) -> bool:
    """Whether the two rows that were named have different dates or times."""
    entity, key = bench.world.blueprint.target(place.parameter.refers_to or "")
    times = [one.name for one in entity.attributes if one.type in ("date", "datetime")]
    if not times:
        return False
    sql = f"SELECT {', '.join(times)} FROM {entity.table} WHERE {key.name} = :key"
    given = next(one.arguments[place.parameter.name] for one in attempt.made if one.move.golden == place.call)
    with bench.session(place.call) as session:
        rows = [session.query(sql, {"key": str(value)}) for value in (place.value, given)]
    return rows[0] != rows[1]
