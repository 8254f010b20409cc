"""Ids that a session mints, and canonical row changes, in which sessions with different ids compare equal."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import NEW, Cells, RowChange, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json
from skillweave.world.sql import parse

_NEW = re.compile(r"new_id(?:_(?P<rank>[2-9]|[1-9]\d))?")
_NUMBER = re.compile(r"\d+$")
DIGITS = 4
"""Least number of digits."""


@dataclass(frozen=True)
class IdCounter:
    """The id counter of a session."""

    last: int
    """The number of the last id, or the largest number in the data."""
    digits: int = DIGITS
    """Digits of each number; shorter ones get leading zeros."""

    def mint(self, prefixes: tuple[str, ...]) -> "tuple[list[str], IdCounter]":
        """Mint one id for each prefix, in order. Returns the ids and the counter after them."""
        minted = [f"{prefix}-{self.last + rank:0{self.digits}d}" for rank, prefix in enumerate(prefixes, start=1)]
        return minted, IdCounter(self.last + len(prefixes), self.digits)

    def behind(self, keys: Iterable[object]) -> "IdCounter":
        """The counter advanced past these keys."""
        last, digits = self.last, self.digits
        for key in keys:
            number = _NUMBER.search(str(key))
            if number:
                last = max(last, int(number.group()))
                digits = max(digits, len(number.group()))
        return IdCounter(last, digits)

    def is_held_by(self, key: object) -> bool:
        """Whether the counter could be lower, or have fewer digits, without this key."""
        number = _NUMBER.search(str(key))
        return number is not None and (int(number.group()) >= self.last or len(number.group()) > DIGITS)


def prefix_of(entity: Entity) -> str:
    """The prefix of an entity's ids; the first three letters of its name until s05 allocates one."""
    return entity.prefix or entity.name[:3].upper()


def is_new(binding: str) -> bool:
    """Whether a binding stands for a minted id."""
    return _NEW.fullmatch(binding) is not None


def counter_of(connection: sqlite3.Connection, blueprint: Blueprint) -> IdCounter:
    """The counter past every key in the database."""
    counter = IdCounter(0)
    for entity in blueprint.tables:
        counter = counter.behind(key for (key,) in connection.execute(f"SELECT {entity.key} FROM {entity.table}"))
    return counter


def minted_by(tool: Tool, blueprint: Blueprint) -> dict[str, Entity]:
    """The `new_id` bindings of a tool's statements.

    Returns:
        Binding -> the entity of the inserted row that has it as its key, in counting order.

    Raises:
        WorldError: No inserted row has a binding as its key, or the numbering has a gap.
    """
    entities = {entity.table: entity for entity in blueprint.tables}
    keyed: dict[str, Entity] = {}
    used: set[str] = set()
    for effect in tool.effects:
        statement = parse(effect.sql)
        used.update(filter(is_new, statement.bindings))
        entity = entities.get(statement.target or "")
        for position, (column, value) in enumerate(statement.inserted):
            if entity is None or (column or entity.attributes[min(position, 1)].name) != entity.key:
                continue
            for node in value.find_all(exp.Placeholder):
                if is_new(str(node.this)):
                    keyed.setdefault(str(node.this), entity)
    if used - set(keyed):
        raise WorldError(f"tool {tool.name!r}: {sorted(used - set(keyed))} keys no inserted row")
    ordered = sorted(keyed, key=_rank)
    if [_rank(name) for name in ordered] != list(range(1, len(ordered) + 1)):
        raise WorldError(f"tool {tool.name!r}: new ids must be numbered :new_id, :new_id_2, ...; got {ordered}")
    return {name: keyed[name] for name in ordered}


def _rank(binding: str) -> int:
    matched = _NEW.fullmatch(binding)
    return int(matched["rank"] or 1) if matched else 0


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
_BRANCHES = 4
"""Most ids that look alike but are not interchangeable for the search to try first."""

Ranks = dict[str, int]
"""Minted id -> its number so far. Ids that still look alike have the same number."""

Rename = Callable[[str], str]
"""From an id to its replacement."""


def canonical(changes: Sequence[RowChange], minted: Collection[str]) -> list[RowChange]:
    """Rename the minted ids in row changes.

    Args:
        changes: Row changes of a session, with the ids that it minted.
        minted: All ids that the session minted.

    Returns:
        The changes with the ids renamed, sorted.
    """
    ids = _Ids(minted)
    used = sorted({id for change in changes for id in ids.used_in(change)}) if minted else []
    if not used:
        return _sorted(changes)
    ranks = _refined(changes, ids, dict.fromkeys(used, 0))
    return _sorted(ids.numbered(changes, _distinct(changes, ids, ranks)))


def dump(value: object) -> str:
    """JSON text that is the same for equal values."""
    return _ENCODER.encode(value)


class _Ids:
    """Finds minted ids in cells and replaces them."""

    def __init__(self, minted: Collection[str]) -> None:
        choices = "|".join(re.escape(id) for id in sorted(frozenset(minted), key=lambda id: (-len(id), id)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{choices})(?![A-Za-z0-9])") if choices else None
        self._by_text: dict[str, list[str]] = {}
        """Text -> the ids in it, so that each text is searched once."""

    def used_in(self, change: RowChange) -> list[str]:
        """The ids in a row change, repeats included."""
        if self._pattern is None:
            return []
        cells = [*change.key.values(), *(change.before or {}).values(), *(change.after or {}).values()]
        return [id for cell in cells if isinstance(cell, str) for id in self._used(cell)]

    def _used(self, text: str) -> list[str]:
        ids = self._by_text.get(text)
        if ids is None:
            ids = self._by_text[text] = self._pattern.findall(text) if self._pattern else []
        return ids

    def seen(self, change: RowChange, ranks: Ranks, focus: str) -> str:
        """A change as seen from one id: a star replaces that id, ranks replace the others."""

        def rename(id: str) -> str:
            return "*" if id == focus else str(ranks[id])

        return dump([change.table, change.op, *(self._replaced(part, rename) for part in _parts(change))])

    def _replaced(self, cells: Cells | None, rename: Rename) -> Cells | None:
        return None if cells is None else {name: self._replaced_in(cell, rename) for name, cell in cells.items()}

    def _replaced_in(self, cell: Json, rename: Rename) -> Json:
        """The cell, or a list with its new text if it contains ids."""
        if self._pattern is None or not isinstance(cell, str) or not self._used(cell):
            return cell
        return [self._pattern.sub(lambda match: "{" + rename(match.group()) + "}", cell)]

    def numbered(self, changes: Sequence[RowChange], numbers: Ranks) -> list[RowChange]:
        """The changes with each id replaced by its number; the numbers are all different."""

        def rename(id: str) -> str:
            return str(numbers[id])

        replaced = [
            tuple(self._replaced(part, rename) for part in _parts(change)) if self.used_in(change) else None
            for change in changes
        ]
        names: dict[str, Json] = {f"{{{number}}}": {NEW: number} for number in numbers.values()}
        derived = {text for parts in replaced for part in parts or () for text in _texts_with_ids(part)} - names.keys()
        for position, text in enumerate(sorted(derived), start=len(numbers) + 1):
            names[text] = {NEW: position, "text": text}
        pairs = zip(changes, replaced, strict=True)
        return [change if parts is None else _renamed(change, parts, names) for change, parts in pairs]


def _texts_with_ids(cells: Cells | None) -> list[str]:
    """The new texts of the cells that contain ids."""
    return [str(cell[0]) for cell in (cells or {}).values() if isinstance(cell, list)]


def _renamed(change: RowChange, parts: Sequence[Cells | None], names: Mapping[str, Json]) -> RowChange:
    key, before, after = (
        cells and {name: names[str(cell[0])] if isinstance(cell, list) else cell for name, cell in cells.items()}
        for cells in parts
    )
    return RowChange.model_construct(table=change.table, op=change.op, key=key or {}, before=before, after=after)


def _parts(change: RowChange) -> tuple[Cells | None, ...]:
    return change.key, change.before, change.after


def _refined(changes: Sequence[RowChange], ids: _Ids, ranks: Ranks) -> Ranks:
    """Ranks refined as far as the rows distinguish the ids (colour refinement)."""
    classes = len(set(ranks.values()))
    if classes == len(ranks):
        return ranks
    rows = _by_id(changes, ids)
    while classes < len(ranks):
        looks = {id: (ranks[id], sorted(ids.seen(change, ranks, id) for change in rows[id])) for id in ranks}
        places: dict[str, int] = {}
        for look in sorted(looks.values(), key=dump):
            places.setdefault(dump(look), len(places))
        ranks = {id: places[dump(look)] for id, look in looks.items()}
        if len(places) == classes:
            break
        classes = len(places)
    return ranks


def _by_id(changes: Sequence[RowChange], ids: _Ids) -> dict[str, list[RowChange]]:
    """Id -> the changes that contain it."""
    by_id: dict[str, list[RowChange]] = {}
    for change in changes:
        for id in dict.fromkeys(ids.used_in(change)):
            by_id.setdefault(id, []).append(change)
    return by_id


def _distinct(changes: Sequence[RowChange], ids: _Ids, ranks: Ranks) -> Ranks:
    """Numbers from 1, a different one for each id. A search orders the ids that look alike."""
    by_rank: dict[int, list[str]] = {}
    for id, rank in ranks.items():
        by_rank.setdefault(rank, []).append(id)
    ties = [sorted(tied) for rank, tied in sorted(by_rank.items()) if len(tied) > 1]
    if not ties:
        return {id: number for number, id in enumerate(sorted(ranks, key=lambda id: ranks[id]), start=1)}
    tied = ties[0]
    rows = _by_id(changes, ids)
    unique = {id: position for position, id in enumerate(ranks)}
    others = [other for other in tied[1:] if not _are_interchangeable(rows, ids, unique, tied[0], other)]
    # If the first can swap with each of the others, all can swap with each other, and any order gives the same result.
    orders = [[first, *(id for id in tied if id != first)] for first in [tied[0], *others][:_BRANCHES]]
    trials = []
    for order in orders:
        separated = order if not others else order[:1]
        split = {id: rank * (len(tied) + 1) + len(tied) for id, rank in ranks.items()}
        split.update({id: ranks[id] * (len(tied) + 1) + place for place, id in enumerate(separated)})
        trials.append(_distinct(changes, ids, _refined(changes, ids, split)))
    return min(trials, key=lambda numbers: dump([_plain(row) for row in _sorted(ids.numbered(changes, numbers))]))


def _are_interchangeable(
    rows: Mapping[str, list[RowChange]], ids: _Ids, unique: Ranks, first: str, second: str
) -> bool:
    """Whether the changes stay the same when two ids swap. Only changes that contain one of them can differ."""
    swapped = {**unique, first: unique[second], second: unique[first]}
    rows_with_either = [*rows[first], *(row for row in rows[second] if first not in ids.used_in(row))]
    return sorted(ids.seen(row, unique, "") for row in rows_with_either) == sorted(
        ids.seen(row, swapped, "") for row in rows_with_either
    )


def _sorted(changes: Sequence[RowChange]) -> list[RowChange]:
    return sorted(changes, key=lambda change: dump(_plain(change))) if len(changes) > 1 else [*changes]


def _plain(change: RowChange) -> list[Json]:
    return [change.table, change.op, *_parts(change)]
