"""Replay: make the same calls in a fresh session, with arguments from earlier results taken from the new results.

The grounding of such an argument is `call <i> <path>`: calls are counted from 0; the path has the form `name`,
`[2].name` or `a.b[0]` and leads to a part of that call's result. `computed date(call <i> <path>)` is the day of the
datetime there. Replays are deterministic, so positions stand for the same rows.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from skillweave.schema.contract import CallResult, RowChange
from skillweave.schema.criteria import FaultKind, GoldenCall
from skillweave.schema.record import Json
from skillweave.schema.task import Task
from skillweave.world.canonical import canonical
from skillweave.world.session import Session
from skillweave.world.world import World

_SOURCE = re.compile(r"(?P<date>computed date\()?call (?P<call>\d+) (?P<path>[^\s()]+)(?(date)\))")
_PART = re.compile(r"\.?(?P<name>[A-Za-z_]\w*)|\[(?P<index>\d+)\]")

REPEATED_FAULTS: frozenset[FaultKind] = frozenset({"timeout", "temporary_error", "partial_page", "stale_read"})
"""Faults after which the golden calls repeat the call."""


class ResultReference(NamedTuple):
    """The result, and the part of it, from which an argument comes."""

    call: int
    """Position of the call, from 0."""
    path: str
    """Path to the part of its result: `name`, `[2].name`, `a.b[0]`."""
    as_date: bool
    """Whether to take only the day of a datetime."""


class Replay(NamedTuple):
    """The outcome of a replay."""

    results: list[CallResult]
    """One result for each call, up to the last that could be made."""
    changes: list[RowChange]
    """Row changes since the start, in canonical form."""
    violations: list[str]
    """Rules that calls broke: `R7 in call 3 (cancel_appointment)`."""
    defects: list[str]
    """Defects of the contract, and arguments that the new results do not have."""


def replay(world: World, task: Task) -> Replay:
    """Make the task's golden calls in a fresh session of the task."""
    with world.session(task) as session:
        return replay_in(session, task.golden)


def replay_in(session: Session, calls: Sequence[GoldenCall]) -> Replay:
    """Make calls in a given session. It stops at the first argument that the new results do not have.

    Args:
        session: A session that has made no call yet: grounding counts its calls from 0.
        calls: The calls, in order.
    """
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
    """Agent rules that calls broke, although the tool carried them out: `R7 in call 3 (cancel_appointment)`."""
    return [
        f"{rule} in call {position} ({result.call.tool})"
        for position, result in enumerate(results)
        for rule in result.violations
    ]


def rebound(call: GoldenCall, results: Sequence[CallResult], kept: Collection[str] = ()) -> dict[str, Json]:
    """The arguments of a call, with those that came from results taken from these results.

    Args:
        call: The call with its grounding.
        results: Results of the calls so far.
        kept: Arguments that keep their values.

    Raises:
        LookupError: A result lacks the part that the grounding names.
    """
    arguments = dict(call.arguments)
    for name, grounding in call.grounding.items():
        reference = None if name in kept else result_reference(grounding)
        if reference is None or name not in arguments:
            continue
        if reference.call >= len(results):
            raise LookupError(f"argument {name!r} comes from call {reference.call}, of {len(results)} calls so far")
        value = value_at(results[reference.call].value, reference.path)
        arguments[name] = _day_of(value, reference.path) if reference.as_date else value
    return arguments


@lru_cache(maxsize=4096)
def result_reference(grounding: str) -> ResultReference | None:
    """The result that an argument with this grounding comes from; None if it comes from elsewhere."""
    matched = _SOURCE.fullmatch(grounding)
    return ResultReference(int(matched["call"]), matched["path"], matched["date"] is not None) if matched else None


def _day_of(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise LookupError(f"the result has no moment at {path!r}, to take the day of")
    return value[:10]


def value_at(value: Json, path: str) -> Json:
    """The part of a result that a path names. Raises LookupError if there is none."""
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


def spoiled_calls(golden: Sequence[GoldenCall]) -> frozenset[int]:
    """Positions of golden calls that a fault spoils. The golden calls repeat each, and take no argument from it."""
    return frozenset(place for place, call in enumerate(golden) if call.fault in REPEATED_FAULTS)


def without_noise(task: Task) -> Task:
    """The task without its faults. Gates prove this form, and the positions in `gates` refer to it.

    It lacks the golden calls that a fault spoils; the others keep their order.
    """
    if task.noise is None:
        return task
    spoiled = spoiled_calls(task.golden)
    positions = [place for place in range(len(task.golden)) if place not in spoiled]
    places = {old: new for new, old in enumerate(positions)}
    golden = [renumbered(task.golden[place], places).model_copy(update={"fault": None}) for place in positions]
    request = task.criteria.asked
    criteria = task.criteria.model_copy(update={"asked": request and renumbered(request, places)})
    return task.model_copy(update={"noise": None, "golden": golden, "criteria": criteria})


def renumbered(call: GoldenCall, places: Mapping[int, int]) -> GoldenCall:
    """The call with its grounding moved to other call positions.

    Args:
        call: The call.
        places: Old position -> new position; other positions stay.
    """
    grounding = {}
    for name, text in call.grounding.items():
        reference = result_reference(text)
        if reference is not None and reference.call in places:
            text = text.replace(f"call {reference.call} ", f"call {places[reference.call]} ", 1)
        grounding[name] = text
    return call.model_copy(update={"grounding": grounding})
