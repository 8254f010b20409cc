"""Rows that a script means, among those that a result holds."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rollout.offline.agents.heard import Words, moment_of
from rollout.offline.agents.script import PlannedCall
from skillweave.schema.record import Json
from skillweave.world.replay import source_of, value_at

_PATH = re.compile(r"\[(?P<index>\d+)\]\.(?P<column>\w+)")
_WHEN = frozenset(
    ["starts_at", "starts_on", "departs_at", "check_in", "pickup_at", "service_date", "remind_on", "due_on"]
)
_PLAIN = re.compile(r"[a-z_]+")
_USE_OF_LISTED = 4
_UNSAID = re.compile(r"(?:^|_)(?:id|status|state)$")


class Place(NamedTuple):
    """Where in a list of rows an argument comes from."""

    call: int
    row: int
    column: str


class Found(NamedTuple):
    row: dict[str, Json]
    others: list[dict[str, Json]]
    """The other rows of the same result."""


def row_of(source: str, results: Mapping[int, Json]) -> Found | None:
    """The row that an argument comes from; None where it comes from no list."""
    place = place_of(source)
    rows = results.get(place.call) if place is not None else None
    if place is None or not isinstance(rows, list) or place.row >= len(rows):
        return None
    row, others = rows[place.row], rows[: place.row] + rows[place.row + 1 :]
    return Found(row, [other for other in others if isinstance(other, dict)]) if isinstance(row, dict) else None


def place_of(source: str) -> Place | None:
    """Where an argument comes from; None where from no list."""
    found = source_of(source)
    matched = _PATH.fullmatch(found.path) if found is not None else None
    if found is None or matched is None:
        return None
    return Place(found.call, int(matched["index"]), matched["column"])


def has_key(source: str, calls: Sequence[PlannedCall]) -> bool:
    """Whether some argument is the key of the row that this value comes from, so that the user is asked for that."""
    place = place_of(source)
    keys = [place_of(call.grounding[name]) for call in calls for name in call.grounding if names_row(call, name)]
    return place is not None and any(key is not None and key[:2] == place[:2] for key in keys)


def is_day(source: str) -> bool:
    """Whether an argument is only the day of the moment that it comes from."""
    found = source_of(source)
    return found is not None and found.as_date


def names_row(planned: PlannedCall, name: str) -> bool:
    """Whether an argument is a row's key, and not some other value of it."""
    parameter, source = planned.parameters.get(name), source_of(planned.grounding.get(name, ""))
    refers = parameter is not None and parameter.refers_to is not None
    return refers or (source is not None and source.path.endswith("_id"))


def is_unclear(found: Found, words: Words, known: Collection[Json] = ()) -> bool:
    """Whether another row in the same state fits what the user has said, and what is `known`, just as well."""
    said = [*said_of(found.row, words), *(name for name, value in found.row.items() if value in known)]
    alike = [name for name in found.row if name.endswith("status")]
    return any(all(other.get(name) == found.row[name] for name in [*said, *alike]) for other in found.others)


def said_of(row: Mapping[str, Json], words: Words) -> list[str]:
    """The columns whose values the user has said."""
    return [
        name
        for name, value in row.items()
        if is_telling(name, value) and words.hold(value, cents=name.endswith("_cents"))
    ]


def is_telling(name: str, value: Json) -> bool:
    """Whether people would describe a row by that column."""
    return not _UNSAID.search(name) and isinstance(value, str | int | float) and not isinstance(value, bool)


def describing(found: Found) -> list[str]:
    """Columns by which the row can be told from others, names and times first."""
    names = [name for name in found.row if any(other.get(name) != found.row[name] for other in found.others)]
    return in_order_of_use(found.row, names or list(found.row))


def in_order_of_use(row: Mapping[str, Json], names: Sequence[str]) -> list[str]:
    """Telling columns: names, then times, then numbers and figures, then words of a fixed list."""
    telling = sorted((name for name in names if is_telling(name, row[name])), key=lambda name: _use(name, row[name]))
    good = [name for name in telling if _use(name, row[name]) < _USE_OF_LISTED]
    return good or telling


def is_when(value: Json) -> bool:
    """Whether a value is a date or a time of a day."""
    return isinstance(value, str) and moment_of(value) is not None


def _use(name: str, value: Json) -> int:
    if name.endswith("_name"):
        return 0
    if is_when(value):
        return 1 if name in _WHEN else 3
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return 2
    return _USE_OF_LISTED if not name.endswith("_cents") else _USE_OF_LISTED + 1


def is_bound(planned: PlannedCall) -> bool:
    """Whether an argument of the call comes from an earlier result."""
    return bool(planned.takes_from)


def bound(planned: PlannedCall, results: Mapping[int, Json]) -> dict[str, Json]:
    """A call's arguments, those from results bound again. LookupError where one is not there."""
    found = dict(planned.arguments)
    for name, source in planned.grounding.items():
        origin = source_of(source)
        if origin is not None and name in found:
            value = value_at(results[origin.call], origin.path)
            found[name] = str(value)[: len("2025-01-24")] if origin.as_date else value
    return found


def leaves(value: Json) -> list[Json]:
    """All values in a result."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]
