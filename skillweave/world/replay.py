"""Replay: make the same calls in a fresh session,
and bind each argument that came from a result to this replay's result.

Grounding of such an argument is `call <i> <path>`: calls are counted from 0; the path has the form `name`, `[2].name`
or `a.b[0]` and is read from the value of that call's result. `computed date(call <i> <path>)` is the day of the moment
found there. Replays are deterministic, so positions stand for the same rows.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skillweave.schema.call import CallResult, RowChange
from skillweave.schema.record import Json
from skillweave.schema.task import FaultKind, GoldenCall, Task
from skillweave.world.canonical import canonical
from skillweave.world.session import Session
from skillweave.world.world import World

_SOURCE = re.compile(r"(?P<date>computed date\()?call (?P<call>\d+) (?P<path>[^\s()]+)(?(date)\))")
_PART = re.compile(r"\.?(?P<name>[A-Za-z_]\w*)|\[(?P<index>\d+)\]")


class ResultReference(NamedTuple):
    """The result that an argument comes from."""

    call: int
    """The call's position."""
    path: str
    """The part of its result."""
    as_date: bool
    """Only the day of the moment that stands there."""


class Replay(NamedTuple):
    results: list[CallResult]
    changes: list[RowChange]
    """Canonical."""
    violations: list[str]
    """`R7 in call 3 (cancel_appointment)`."""
    defects: list[str]
    """Contract defects met, and arguments that could not be bound again."""


def replay(world: World, task: Task) -> Replay:
    """The task's golden calls in a fresh session of the task."""
    with world.session(task) as session:
        return replay_in(session, task.golden)


def replay_in(session: Session, calls: Sequence[GoldenCall]) -> Replay:
    """The calls in a given session. It stops at an argument that cannot be bound again."""
    unbound = []
    for position, call in enumerate(calls):
        try:
            arguments = rebound(call, session.results)
        except LookupError as fault:
            unbound.append(f"call {position} ({call.tool}): {fault}")
            break
        session.call(call.tool, arguments)
    changes = canonical(session.diff(), session.minted)
    return Replay(list(session.results), changes, violations(session.results), [*session.defects, *unbound])


def violations(results: Sequence[CallResult]) -> list[str]:
    """Rules that calls broke although the tool carried them out: `R7 in call 3 (cancel_appointment)`."""
    return [
        f"{rule} in call {position} ({result.call.tool})"
        for position, result in enumerate(results)
        for rule in result.violations
    ]


def rebound(call: GoldenCall, results: Sequence[CallResult]) -> dict[str, Json]:
    """The call's arguments with those that came from results taken from `results`. LookupError if one is not there."""
    arguments = dict(call.arguments)
    for name, source in call.grounding.items():
        found = result_reference(source)
        if found is None or name not in arguments:
            continue
        if found.call >= len(results):
            raise LookupError(f"argument {name!r} comes from call {found.call}, of {len(results)} calls so far")
        value = value_at(results[found.call].value, found.path)
        arguments[name] = _day_of(value, found.path) if found.as_date else value
    return arguments


def result_reference(grounding: str) -> ResultReference | None:
    """The result that an argument of this grounding comes from; None where it comes from none."""
    matched = _SOURCE.fullmatch(grounding)
    return ResultReference(int(matched["call"]), matched["path"], matched["date"] is not None) if matched else None


def _day_of(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise LookupError(f"the result has no moment at {path!r}, to take the day of")
    return value[:10]


def value_at(value: Json, path: str) -> Json:
    """The part of a result that a path names. LookupError if there is none."""
    position = 0
    while position < len(path):
        part = _PART.match(path, position)
        if part is None:
            raise LookupError(f"path {path!r} is not of the form name, [2].name or a.b[0]")
        try:
            value = value[part["name"]] if part["name"] else value[int(part["index"])]  # type: ignore[index]
        except (LookupError, TypeError):
            raise LookupError(f"the result has no {path!r}") from None
        position = part.end()
    return value


REPEATED_FAULTS: frozenset[FaultKind] = frozenset({"timeout", "temporary_error", "partial_page", "stale_read"})
"""Faults behind which the call is made once more."""


def spoiled_calls(golden: Sequence[GoldenCall]) -> frozenset[int]:
    """Places of golden calls that a fault spoils: each is made again, and nothing rests on it."""
    return frozenset(place for place, call in enumerate(golden) if call.fault in REPEATED_FAULTS)


def without_noise(task: Task) -> Task:
    """The task without its noise; the golden calls that a fault spoils are left out, and the others keep their order.

    The places in its `gates` are those of these golden calls.
    """
    if task.noise is None:
        return task
    spoiled = spoiled_calls(task.golden)
    kept = [place for place in range(len(task.golden)) if place not in spoiled]
    places = {place: number for number, place in enumerate(kept)}
    golden = [renumbered(task.golden[place], places).model_copy(update={"fault": None}) for place in kept]
    asked = task.criteria.asked
    criteria = task.criteria.model_copy(update={"asked": asked and renumbered(asked, places)})
    return task.model_copy(update={"noise": None, "golden": golden, "criteria": criteria})


def renumbered(call: GoldenCall, places: Mapping[int, int]) -> GoldenCall:
    """The call with its sources at other places; those that have none there stay as they are."""
    found = {}
    for name, text in call.grounding.items():
        source = result_reference(text)
        if source is not None and source.call in places:
            text = text.replace(f"call {source.call} ", f"call {places[source.call]} ", 1)
        found[name] = text
    return call.model_copy(update={"grounding": found})
