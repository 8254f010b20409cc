"""One name for each id that a session minted, so that two runs that did the same compare equal.

Only ids that the session minted are renamed, and values that hold one as a whole token. An id becomes `{"$new": n}`; a
value derived from ids becomes `{"$new": m, "text": "TC-{3}"}`, so that the rest of its text stays visible. Numbers
follow from the other columns of the rows, references followed, and never from the ids' own text or position.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from skillweave.schema.call import NEW, Cells, RowChange
from skillweave.schema.record import Json

_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
_BRANCHES = 4
"""Of ids that look alike and yet are not interchangeable, so many are tried as the first."""

Ranks = dict[str, int]
"""Minted id to its number so far; those that still look alike share one."""

Look = Callable[[str], str]
"""How an id is written."""


def canonical(changes: Sequence[RowChange], minted: Collection[str]) -> list[RowChange]:
    """The changes with the minted ids renamed, sorted."""
    ids = _Ids(minted)
    used = sorted({found for change in changes for found in ids.used_in(change)}) if minted else []
    if not used:
        return _sorted(changes)
    ranks = _settled(changes, ids, dict.fromkeys(used, 0))
    return _sorted(ids.numbered(changes, _distinct(changes, ids, ranks)))


def dump(value: object) -> str:
    """JSON text that is the same for equal values."""
    return _ENCODER.encode(value)


class _Ids:
    """Finds minted ids in cells and writes them anew."""

    def __init__(self, minted: Collection[str]) -> None:
        self._minted = frozenset(minted)
        choices = "|".join(re.escape(found) for found in sorted(self._minted, key=lambda found: (-len(found), found)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{choices})(?![A-Za-z0-9])") if choices else None
        self._known: dict[str, list[str]] = {}

    def used_in(self, change: RowChange) -> list[str]:
        if self._pattern is None:
            return []
        cells = [*change.key.values(), *(change.before or {}).values(), *(change.after or {}).values()]
        return [found for cell in cells if isinstance(cell, str) for found in self._used(cell)]

    def _used(self, text: str) -> list[str]:
        """The ids in a text, which is searched once."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._pattern.findall(text) if self._pattern else []
        return found

    def seen(self, change: RowChange, ranks: Ranks, focus: str) -> str:
        """The change as it looks from one id: itself a star, the others their ranks."""

        def look(found: str) -> str:
            return "*" if found == focus else str(ranks[found])

        return dump([change.table, change.op, *(self._looked(part, look) for part in _parts(change))])

    def _looked(self, cells: Cells | None, look: Look) -> Cells | None:
        return None if cells is None else {name: self._cell(cell, look) for name, cell in cells.items()}

    def _cell(self, cell: Json, look: Look) -> Json:
        if self._pattern is None or not isinstance(cell, str) or not self._used(cell):
            return cell
        return [self._pattern.sub(lambda match: "{" + look(match.group()) + "}", cell)]

    def numbered(self, changes: Sequence[RowChange], numbers: Ranks) -> list[RowChange]:
        def look(found: str) -> str:
            return str(numbers[found])

        looked = [
            tuple(self._looked(part, look) for part in _parts(change)) if self.used_in(change) else None
            for change in changes
        ]
        names: dict[str, Json] = {f"{{{number}}}": {NEW: number} for number in numbers.values()}
        derived = {text for parts in looked for part in parts or () for text in _marked(part)} - names.keys()
        for position, text in enumerate(sorted(derived), start=len(numbers) + 1):
            names[text] = {NEW: position, "text": text}
        pairs = zip(changes, looked, strict=True)
        return [change if parts is None else _renamed(change, parts, names) for change, parts in pairs]


def _marked(cells: Cells | None) -> list[str]:
    """The cells that hold ids, as they were written."""
    return [str(cell[0]) for cell in (cells or {}).values() if isinstance(cell, list)]


def _renamed(change: RowChange, parts: Sequence[Cells | None], names: Mapping[str, Json]) -> RowChange:
    key, before, after = (
        cells and {name: names[str(cell[0])] if isinstance(cell, list) else cell for name, cell in cells.items()}
        for cells in parts
    )
    return RowChange.model_construct(table=change.table, op=change.op, key=key or {}, before=before, after=after)


def _parts(change: RowChange) -> tuple[Cells | None, ...]:
    return change.key, change.before, change.after


def _settled(changes: Sequence[RowChange], ids: _Ids, ranks: Ranks) -> Ranks:
    """Ranks told apart as far as the rows tell them apart (colour refinement)."""
    classes = len(set(ranks.values()))
    if classes == len(ranks):
        return ranks
    rows = _by_id(changes, ids)
    while classes < len(ranks):
        looks = {
            found: (ranks[found], sorted(ids.seen(change, ranks, found) for change in rows[found])) for found in ranks
        }
        order = sorted(looks.values(), key=dump)
        places: dict[str, int] = {}
        for look in order:
            places.setdefault(dump(look), len(places))
        ranks = {found: places[dump(look)] for found, look in looks.items()}
        if len(places) == classes:
            break
        classes = len(places)
    return ranks


def _by_id(changes: Sequence[RowChange], ids: _Ids) -> dict[str, list[RowChange]]:
    """The changes that hold each id."""
    found: dict[str, list[RowChange]] = {}
    for change in changes:
        for used in dict.fromkeys(ids.used_in(change)):
            found.setdefault(used, []).append(change)
    return found


def _distinct(changes: Sequence[RowChange], ids: _Ids, ranks: Ranks) -> Ranks:
    """Numbers from 1, each id its own, where ids that look alike are told apart by trial."""
    by_rank: dict[int, list[str]] = {}
    for found, rank in ranks.items():
        by_rank.setdefault(rank, []).append(found)
    tied = [sorted(found) for rank, found in sorted(by_rank.items()) if len(found) > 1]
    if not tied:
        return {found: number for number, found in enumerate(sorted(ranks, key=lambda found: ranks[found]), start=1)}
    alike = tied[0]
    rows = _by_id(changes, ids)
    unique = {found: position for position, found in enumerate(ranks)}
    others = [other for other in alike[1:] if not _interchangeable(rows, ids, unique, alike[0], other)]
    # Where the first can change places with each, all can with each other, and any order of them will do.
    orders = [[first, *(one for one in alike if one != first)] for first in [alike[0], *others][:_BRANCHES]]
    tried = []
    for order in orders:
        apart = order if not others else order[:1]
        split = {found: rank * (len(alike) + 1) + len(alike) for found, rank in ranks.items()}
        split.update({found: ranks[found] * (len(alike) + 1) + place for place, found in enumerate(apart)})
        tried.append(_distinct(changes, ids, _settled(changes, ids, split)))
    return min(tried, key=lambda numbers: dump([_plain(row) for row in _sorted(ids.numbered(changes, numbers))]))


def _interchangeable(rows: Mapping[str, list[RowChange]], ids: _Ids, unique: Ranks, one: str, other: str) -> bool:
    """Whether the changes stay what they are when two ids change places; only those that hold one can differ."""
    swapped = {**unique, one: unique[other], other: unique[one]}
    held = [*rows[one], *(row for row in rows[other] if one not in ids.used_in(row))]
    return sorted(ids.seen(row, unique, "") for row in held) == sorted(ids.seen(row, swapped, "") for row in held)


def _sorted(changes: Sequence[RowChange]) -> list[RowChange]:
    return sorted(changes, key=lambda change: dump(_plain(change))) if len(changes) > 1 else [*changes]


def _plain(change: RowChange) -> list[Json]:
    return [change.table, change.op, *_parts(change)]
