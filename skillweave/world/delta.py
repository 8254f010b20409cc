"""What one call changed: the difference between two differences from the same start."""

from collections.abc import Sequence

from skillweave.schema.change import Cells, Op, RowChange

_Place = tuple[str, tuple[object, ...]]
_REVERSED: dict[Op, Op] = {"insert": "delete", "delete": "insert", "update": "update"}


def delta(before: Sequence[RowChange], after: Sequence[RowChange]) -> list[RowChange]:
    """Row changes that lead from the state that `before` tells of to the one that `after` tells of."""
    if not before:
        return [*after]
    old = {_place(change): change for change in before}
    new = {_place(change): change for change in after}
    places = [*new, *(place for place in old if place not in new)]
    found = [_between(old.get(place), new.get(place)) for place in places if old.get(place) != new.get(place)]
    return [change for change in found if change is not None]


def _place(change: RowChange) -> _Place:
    return change.table, tuple(change.key.values())


def _between(old: RowChange | None, new: RowChange | None) -> RowChange | None:
    """From the row as `old` leaves it to the row as `new` leaves it; None: as it was at the start."""
    if old is None or new is None:
        return new if old is None else _reversed(old)
    was, now = _left(old, new), _left(new, old)
    if was is None or now is None:
        return _made(new, "insert" if was is None else "delete", was, now) if was is not now else None
    changed = [name for name in now if was.get(name) != now[name]]
    picked = {name: was.get(name) for name in changed}, {name: now[name] for name in changed}
    return _made(new, "update", *picked) if changed else None


def _left(change: RowChange, other: RowChange) -> Cells | None:
    """The row as a change leaves it, as far as it or the other one tells of it; None where it is gone."""
    if change.op == "delete":
        return None
    return {**_start(other), **_start(change), **(change.after or {})}


def _start(change: RowChange) -> Cells:
    return {} if change.op == "insert" else {**(change.before or {})}


def _reversed(change: RowChange) -> RowChange:
    return _made(change, _REVERSED[change.op], change.after, change.before)


def _made(change: RowChange, op: Op, before: Cells | None, after: Cells | None) -> RowChange:
    return RowChange.model_construct(table=change.table, op=op, key=change.key, before=before, after=after)
