"""Distance: a lower bound on the writes from a state to an end state. It never exceeds the true number of writes.

Each cell that differs from the end state needs a write that can change it, and missing rows need as many writes as can
create them. An end state is out of reach if no offered tool can repair a difference.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from sqlglot import exp

from skillweave.schema.contract import ANY, NEW, Cells, RowChange, Tool
from skillweave.schema.record import Json
from skillweave.world.compare import ComparisonLookup, normalise
from skillweave.world.prepared import PreparedWorld
from skillweave.world.session import ContractSession
from skillweave.world.sql import parse
from synth.contracts.writes import Column, ToolWrites, equal_pairs

MADE, GONE = "+", "-"
"""Stand for the column of a created or removed row."""
MOST_DISTANCE = 3
"""Upper limit of a distance: larger distances count as this one."""


class RemainingWork(NamedTuple):
    """The changes that remain until one end state."""

    cells: frozenset[Column]
    """Columns to change in existing rows."""
    rows: tuple[tuple[str, int], ...]
    """Table -> number of rows to create."""
    removed: frozenset[str]
    """Tables from which to remove a row."""

    @property
    def none(self) -> bool:
        return not (self.cells or self.rows or self.removed)

    def after(self, writes: ToolWrites) -> "RemainingWork":
        """The least that remains after a call of a tool."""
        return RemainingWork(
            self.cells - writes.updates,
            tuple((table, count) for table, count in _left(self.rows, writes) if count),
            self.removed - writes.deletes,
        )


def _left(rows: Sequence[tuple[str, int]], writes: ToolWrites) -> list[tuple[str, int]]:
    remaining = []
    for table, count in rows:
        most = writes.inserts.get(table, 0)
        remaining.append((table, 0 if most is None else max(0, count - most)))
    return remaining


class Distance:
    """Distances to a set of end states, by calls of these tools."""

    def __init__(
        self, ends: Sequence[Sequence[RowChange]], tools: Mapping[str, ToolWrites], comparison: ComparisonLookup
    ) -> None:
        self.tools = tools
        self._comparison = comparison
        self._ends = [_End(end) for end in ends]
        self._removable = {table for writes in tools.values() for table in writes.deletes}
        self._updated = {column for writes in tools.values() for column in writes.updates}
        self._known: dict[RemainingWork, int | None] = {}

    def wants(self, changes: Sequence[RowChange]) -> list[RemainingWork]:
        """The remaining changes for each end state that is in reach."""
        wants = [self._want(end, changes) for end in self._ends]
        return [want for want in wants if want is not None]

    def least(self, wants: Sequence[RemainingWork]) -> int | None:
        """The fewest writes, up to `MOST_DISTANCE`; None if no end state is in reach."""
        numbers = [self._least(want) for want in wants]
        return min((number for number in numbers if number is not None), default=None)

    def may_end(self, tool: str, arguments: Mapping[str, Json], session: ContractSession) -> bool:
        """Whether the call may be the last of a plan: some end has each value that it gives to a row."""
        return all(self._may_set(one, arguments, session) for one in _settings(session.world)[tool])

    def _may_set(self, setting: "_Setting", arguments: Mapping[str, Json], session: ContractSession) -> bool:
        table, key, column = setting.table, str(arguments.get(setting.row)), setting.column
        how, row = self._comparison(table, column), session.world.original(table, key)
        if how == "free" or row is None or setting.value not in arguments:
            return True
        ends = [(end.changed[table, key].after or {} if (table, key) in end.changed else {}) for end in self._ends]
        cells: list[Json] = [end.get(column, row[column]) for end in ends]
        return any(is_allowed(cell, arguments[setting.value], how == "normalised", session.minted) for cell in cells)

    def leads(self, tool: str, wants: Sequence[RemainingWork], left: int) -> bool:
        """Whether a call of the tool can be one of the `left` writes that are still allowed."""
        after = self.least([want.after(self.tools[tool]) for want in wants])
        return after is not None and after <= left - 1

    def _least(self, want: RemainingWork) -> int | None:
        if want not in self._known:
            self._known[want] = self._cover(want)
        return self._known[want]

    def _cover(self, want: RemainingWork) -> int | None:
        """The fewest tools that cover the changes, with repeated calls if one call creates too few rows."""
        if want.none:
            return 0
        needed: set[Column] = {
            *want.cells,
            *((table, GONE) for table in want.removed),
            *((t, MADE) for t, _ in want.rows),
        }
        helpful = [part for writes in self.tools.values() if (part := needed & _reach(writes))]
        if needed - {column for part in helpful for column in part}:
            return None
        bound = self._together(needed, helpful)
        for table, count in want.rows:
            makers = [writes for writes in self.tools.values() if table in writes.inserts]
            rest = needed - {(table, MADE)} - {column for writes in makers for column in _reach(writes)}
            bound = max(bound, self._times(makers, table, count) + self._together(rest, helpful))
        return bound

    def _together(self, columns: Collection[Column], helpful: Sequence[set[Column]]) -> int:
        """The fewest tools that write all of these columns, up to `MOST_DISTANCE`."""
        if not columns:
            return 0
        sizes = (
            size
            for size in range(1, MOST_DISTANCE)
            if any(set().union(*c).issuperset(columns) for c in combinations(helpful, size))
        )
        return next(sizes, MOST_DISTANCE)

    def _times(self, makers: Sequence[ToolWrites], table: str, count: int) -> int:
        most = [writes.inserts[table] for writes in makers]
        return 1 if None in most else -(-count // max(number for number in most if number is not None))

    def _want(self, end: "_End", changes: Sequence[RowChange]) -> RemainingWork | None:
        cells: set[Column] = set()
        removed: set[str] = set()
        rows: dict[str, int] = dict(end.rows)
        inserted: dict[str, list[RowChange]] = {}
        for change in changes:
            if change.op == "insert":
                inserted.setdefault(change.table, []).append(change)
        seen = {(change.table, _key(change)): change for change in changes if change.op != "insert"}
        for place in seen.keys() | end.changed.keys():
            self._add(end.changed.get(place), seen.get(place), cells, removed, rows)
        for table, rows_made in inserted.items():
            if not self._add_made(table, rows_made, end.created.get(table, []), cells, removed, rows):
                return None
        return RemainingWork(
            frozenset(cells), tuple(sorted((t, n) for t, n in rows.items() if n > 0)), frozenset(removed)
        )

    def _add(
        self,
        wanted: RowChange | None,
        actual: RowChange | None,
        cells: set[Column],
        removed: set[str],
        rows: dict[str, int],
    ) -> None:
        """Add the changes that one row of the initial state still needs."""
        change = wanted or actual
        assert change is not None
        if (wanted and wanted.op == "delete") or (actual and actual.op == "delete"):
            if not (actual and actual.op == "delete"):
                removed.add(change.table)
            elif not (wanted and wanted.op == "delete"):
                rows[change.table] = rows.get(change.table, 0) + 1
            return
        wanted_cells = (wanted.after or {}) if wanted else {}
        actual_cells = (actual.after or {}) if actual else {}
        cells.update((change.table, name) for name in self._differing(change.table, wanted_cells, actual_cells))

    def _add_made(
        self,
        table: str,
        inserted: Sequence[RowChange],
        wanted: Sequence[RowChange],
        cells: set[Column],
        removed: set[str],
        rows: dict[str, int],
    ) -> bool:
        """Add the changes that created rows still need. False if no tool can repair or remove one of them."""
        lost = 0
        for change in inserted:
            ways = [self._differing(table, target.after or {}, change.after or {}) for target in wanted]
            ways = [way for way in ways if all((table, name) in self._updated for name in way)]
            if not ways:
                lost += 1
            elif table not in self._removable:
                cells.update((table, name) for name in frozenset.intersection(*ways))
        rows[table] = rows.get(table, 0) - len(inserted) + lost
        if lost or len(inserted) > len(wanted):
            removed.add(table)
        return table not in removed or table in self._removable

    def _differing(self, table: str, wanted: Cells, actual: Cells) -> frozenset[str]:
        return frozenset(
            name
            for name in wanted.keys() | actual.keys()
            if not (name in wanted and name in actual and is_same(wanted[name], actual[name]))
            and self._comparison(table, name) != "free"
            and not self._is_same(table, name, wanted, actual)
        )

    def _is_same(self, table: str, name: str, wanted: Cells, actual: Cells) -> bool:
        cell = wanted.get(name)
        if isinstance(cell, dict):
            return ANY in cell or (NEW in cell and actual.get(name) is not None)
        if (name in wanted) != (name in actual):
            return False
        return is_same(cell, actual[name], self._comparison(table, name) == "normalised")


def is_same(one: Json, other: Json, normalised: bool = False) -> bool:
    """Whether two cells are equal as scores compare them."""
    if normalised and isinstance(one, str) and isinstance(other, str):
        return normalise(one) == normalise(other)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def is_allowed(cell: Json, value: Json, normalised: bool, minted: Sequence[str]) -> bool:
    """Whether a cell of an end state can hold a value, as a call puts it there."""
    if isinstance(cell, dict):
        return ANY in cell or (NEW in cell and any(identity in str(value) for identity in minted))
    return is_same(cell, value.strip(" ") if isinstance(value, str) else value, normalised) or cell == value


class _Setting(NamedTuple):
    """An update that gives a column of one row the value of an argument, whatever else the call does."""

    table: str
    row: str
    """The parameter that names the row by its key."""
    column: str
    value: str
    """The parameter whose value it gives."""


@lru_cache(maxsize=8)
def _settings(world: PreparedWorld) -> dict[str, list[_Setting]]:
    """What the calls of each tool set, by the tool's name."""
    views = world.blueprint.views
    joined = {name for view in views for name in (view.entity.table, view.own, view.shared)}
    keys = {one.table: one.key for one in world.blueprint.tables if one.table not in joined}
    return {tool.name: [*_set_by(tool, keys)] for tool in world.blueprint.tools}


def _set_by(tool: Tool, keys: Mapping[str, str]) -> Iterator[_Setting]:
    statements = [parse(effect.sql) for effect in tool.effects]
    targets = [statement.target for statement in statements]
    for statement in statements:
        table, where = statement.target or "", statement.tree.args.get("where")
        if not isinstance(statement.tree, exp.Update) or targets.count(table) > 1 or not where:
            continue
        # Of several conditions another one may leave the row as it is.
        rows = [name for column, name in equal_pairs(where) if column.name == keys.get(table)]
        for change in statement.tree.expressions if rows and isinstance(where.this, exp.EQ) else ():
            if isinstance(change, exp.EQ) and isinstance(change.right, exp.Placeholder):
                yield _Setting(table, rows[0], change.left.name, str(change.right.this))


class _End:
    """An end state, grouped by the kind of change."""

    def __init__(self, changes: Collection[RowChange]) -> None:
        self.created: dict[str, list[RowChange]] = {}
        self.changed: dict[tuple[str, str], RowChange] = {}
        for change in changes:
            if change.op == "insert":
                self.created.setdefault(change.table, []).append(change)
            else:
                self.changed[change.table, _key(change)] = change
        self.rows = {table: len(created) for table, created in self.created.items()}


def _reach(writes: ToolWrites) -> set[Column]:
    """Columns that a tool changes, and tables in which it creates or removes rows."""
    return {*writes.updates, *((t, MADE) for t in writes.inserts), *((t, GONE) for t in writes.deletes)}


def _key(change: RowChange) -> str:
    return "".join(map(str, change.key.values()))
