"""Ids that a session mints, and canonical row changes, in which sessions with different ids compare equal."""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

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


class IdCounter(NamedTuple):
    """The id counter of a session."""

    last: int
    """The number of the last id, or the largest number in the data."""
    digits: int = DIGITS
    """Digits of each number; shorter ones get leading zeros."""

    def mint(self, prefixes: tuple[str, ...]) -> "tuple[list[str], IdCounter]":
        """Mint one id for each prefix, in order. Returns the ids and the counter after them."""
        if not prefixes:
            return [], self
        minted = [f"{prefix}-{str(self.last + rank).zfill(self.digits)}" for rank, prefix in enumerate(prefixes, 1)]
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


def canonical(changes: Sequence[RowChange], minted: Collection[str]) -> list[RowChange]:
    """Rename the minted ids in row changes.

    Args:
        changes: Row changes of a session, with the ids that it minted. Their cells are scalars.
        minted: All ids that the session minted.

    Returns:
        The changes with the ids renamed, sorted.
    """
    rows = _Rows(changes, minted) if minted else None
    if rows is None or not rows.by_id:
        return _sorted(changes)
    ranks = rows.ranks_by_table or _refined(rows, dict.fromkeys(rows.by_id, 0))
    return _sorted(rows.numbered(_distinct(rows, ranks)))


def dump(value: object) -> str:
    """JSON text that is the same for equal values."""
    return _ENCODER.encode(value)


class _Rows:
    """Row changes, and what they look like with other names for the minted ids."""

    def __init__(self, changes: Sequence[RowChange], minted: Collection[str]) -> None:
        self._changes = changes
        self._cuts: dict[str, list[str]] = {}
        """Each text with ids, cut at them: text, id, text, ..., text."""
        self._all = ""
        """The texts, joined."""
        used = self._used(frozenset(minted))
        self.by_id: dict[str, list[int]] = {id: [] for id in sorted({id for ids in used for id in ids})}
        """Each id that a change contains -> places of the changes that contain it."""
        for place, ids in enumerate(used):
            for id in ids:
                self.by_id[id].append(place)
        self._templates: dict[int, list[str]] = {}

    def _used(self, minted: frozenset[str]) -> list[dict[str, None]]:
        """The ids in each change. Fills `_cuts` and `_all`."""
        found = []
        for change in self._changes:
            texts = [cell for part in _parts(change) if part for cell in part.values() if isinstance(cell, str)]
            for text in texts:
                if text in minted:
                    self._cuts[text] = ["", text, ""]
                elif text not in self._cuts and any(id in text for id in minted):
                    parts = _pattern(minted).split(text)
                    self._cuts.update({text: parts} if len(parts) > 1 else {})
            self._all += "".join(texts)
            found.append(dict.fromkeys(id for text in texts if text in self._cuts for id in self._cuts[text][1::2]))
        return found

    @cached_property
    def _unused(self) -> str:
        """A character that stands in no text, and that JSON writes as it is."""
        return next(character for character in map(chr, range(0xE000, 0xF900)) if character not in self._all)

    @cached_property
    def _marked(self) -> dict[str, Json]:
        """Each text with ids -> a list of the text with marked numbers in their place."""
        marks = {id: f"{self._unused}{number}{self._unused}" for number, id in enumerate(self.by_id)}
        return {text: [marked] for text, marked in self._filled(marks).items()}

    def _filled(self, names: Mapping[str, str]) -> dict[str, str]:
        """Each text with ids -> the text with other names in braces."""
        braced = {id: f"{{{name}}}" for id, name in names.items()}
        return {text: "".join(braced.get(part, part) for part in parts) for text, parts in self._cuts.items()}

    @property
    def ranks_by_table(self) -> Ranks | None:
        """The ranks that a refinement gives, if table and operation of each id's first change are enough for it."""
        kinds = [(change.table, change.op) for change in self._changes]
        firsts = {id: min(kinds[place] for place in places) for id, places in self.by_id.items()}
        # Where a text is quoted twice, a backslash ends a name.
        order = sorted({*firsts.values()}, key=lambda kind: (f"{kind[0]}\\", kind[1]))
        return {id: order.index(kind) for id, kind in firsts.items()} if len(order) == len(firsts) else None

    def seen(self, place: int, ranks: Ranks, focus: str) -> str:
        """A change as seen from one id: a star replaces that id, ranks replace the others."""
        parts = [*(self._templates.get(place) or self._template(place))]
        parts[1::2] = ["*" if id == focus else str(ranks[id]) for id in parts[1::2]]
        return "".join(parts)

    def _template(self, place: int) -> list[str]:
        """The JSON text of a change with ids, cut at them: text, id, text, ..., text."""
        change, ids = self._changes[place], [*self.by_id]
        text = dump([change.table, change.op, *(_renamed(part, self._marked) for part in _parts(change))])
        parts = text.split(self._unused)
        parts[1::2] = [ids[int(number)] for number in parts[1::2]]
        self._templates[place] = parts
        return parts

    def numbered(self, numbers: Ranks) -> list[RowChange]:
        """The changes with each id replaced by its number; the numbers are all different."""
        filled = self._filled({id: str(number) for id, number in numbers.items()})
        names: dict[str, Json] = {f"{{{number}}}": {NEW: number} for number in numbers.values()}
        derived = sorted({*filled.values()} - names.keys())
        for position, text in enumerate(derived, start=len(numbers) + 1):
            names[text] = {NEW: position, "text": text}
        by_text = {text: names[new] for text, new in filled.items()}
        touched = {place for places in self.by_id.values() for place in places}
        return [_with_names(row, by_text) if place in touched else row for place, row in enumerate(self._changes)]


@lru_cache(maxsize=1024)
def _pattern(ids: frozenset[str]) -> re.Pattern[str]:
    choices = "|".join(re.escape(id) for id in sorted(ids, key=lambda id: (-len(id), id)))
    return re.compile(rf"(?<![A-Za-z0-9])({choices})(?![A-Za-z0-9])")


def _with_names(change: RowChange, names: Mapping[str, Json]) -> RowChange:
    key, before, after = (_renamed(part, names) for part in _parts(change))
    return RowChange.model_construct(table=change.table, op=change.op, key=key or {}, before=before, after=after)


def _renamed(cells: Cells | None, names: Mapping[str, Json]) -> Cells | None:
    return cells and {name: names.get(cell, cell) if isinstance(cell, str) else cell for name, cell in cells.items()}


def _parts(change: RowChange) -> tuple[Cells | None, ...]:
    return change.key, change.before, change.after


def _refined(rows: _Rows, ranks: Ranks) -> Ranks:
    """Ranks refined as far as the rows distinguish the ids (colour refinement)."""
    classes = len(set(ranks.values()))
    while classes < len(ranks):
        looks = {id: dump((ranks[id], sorted(rows.seen(place, ranks, id) for place in rows.by_id[id]))) for id in ranks}
        places = {look: place for place, look in enumerate(sorted({*looks.values()}))}
        ranks = {id: places[look] for id, look in looks.items()}
        if len(places) == classes:
            break
        classes = len(places)
    return ranks


def _distinct(rows: _Rows, ranks: Ranks) -> Ranks:
    """Numbers from 1, a different one for each id. A search orders the ids that look alike."""
    by_rank: dict[int, list[str]] = {}
    for id, rank in ranks.items():
        by_rank.setdefault(rank, []).append(id)
    ties = [sorted(tied) for rank, tied in sorted(by_rank.items()) if len(tied) > 1]
    if not ties:
        return {id: number for number, id in enumerate(sorted(ranks, key=lambda id: ranks[id]), start=1)}
    tied = ties[0]
    others = [other for other in tied[1:] if not _are_interchangeable(rows, tied[0], other)]
    # If the first can swap with each of the others, all can swap with each other, and any order gives the same result.
    orders = [[first, *(id for id in tied if id != first)] for first in [tied[0], *others][:_BRANCHES]]
    trials = []
    for order in orders:
        separated = order if not others else order[:1]
        split = {id: rank * (len(tied) + 1) + len(tied) for id, rank in ranks.items()}
        split.update({id: ranks[id] * (len(tied) + 1) + place for place, id in enumerate(separated)})
        trials.append(_distinct(rows, _refined(rows, split)))
    return min(trials, key=lambda numbers: dump([_plain(row) for row in _sorted(rows.numbered(numbers))]))


def _are_interchangeable(rows: _Rows, first: str, second: str) -> bool:
    """Whether the changes stay the same when two ids swap. Only changes that contain one of them can differ."""
    unique = {id: position for position, id in enumerate(rows.by_id)}
    swapped = {**unique, first: unique[second], second: unique[first]}
    either = sorted({*rows.by_id[first], *rows.by_id[second]})
    return sorted(rows.seen(row, unique, "") for row in either) == sorted(rows.seen(row, swapped, "") for row in either)


def _sorted(changes: Sequence[RowChange]) -> list[RowChange]:
    """The changes in the order of their JSON texts. Names of tables and operations are in that order by themselves."""
    if len({(change.table, change.op) for change in changes}) == len(changes):
        return sorted(changes, key=lambda change: (change.table, change.op))
    return sorted(changes, key=lambda change: dump(_plain(change)))


def _plain(change: RowChange) -> list[Json]:
    return [change.table, change.op, *_parts(change)]
