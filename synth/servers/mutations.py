"""Mutations: small changes of a candidate call that may flip a guard. They change an argument, a cell, or a row.

Numbers and times come from a coarse grid. Bisection finds the exact value at which a guard flips.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp

from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.schema.record import Json, Row, Value
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.servers.candidates import CandidateRunner
from synth.servers.cases import CandidateCall, RowEdit

HOURS = (24 * 400, 24 * 33, 0, 25, 1, 5, 13, 50, 80, 24 * 8, 24 * 16, 24 * 100, 24 * 1100)
NUMBERS = (5_000_011, 0, 1001, 11, 1, 2, 3, 5, 40, 120, 10_003, 100_007)
"""The most distant first: the search soon leaves an argument or cell where they change nothing."""
MOST_ADDED = 5
MOST_TIMES = 3
TEXT = frozenset({"string"})
MOMENT = "%Y-%m-%d %H:%M:%S"
DAY = "%Y-%m-%d"


class Mutation(NamedTuple):
    """One small change of a candidate."""

    target: str
    """The changed part: `slot.starts_at`, `amount_cents`, `2 more of loan`."""
    candidate: CandidateCall
    """The candidate after the change."""
    old: Json = None
    new: Json = None
    template: str = ""
    """What the added rows are copies of; empty if no row is added."""

    @property
    def location(self) -> str:
        """The changed part and its row."""
        edits = self.candidate.edits
        return f"{self.target} {edits[-1].key}" if edits else self.target

    def with_value(self, base: CandidateCall, value: Json) -> CandidateCall:
        """`base`, the origin of this mutation, with another value instead of the new one."""
        if self.candidate.arguments != base.arguments:
            return base.with_argument(self.target, value)
        edit = self.candidate.edits[-1]
        cell = value if isinstance(value, str | int | float) or value is None else None
        return base.with_edit(RowEdit(edit.table, edit.key, edit.column, cell))


class Mutator:
    """Lists the mutations of candidates of one tool."""

    def __init__(self, runner: CandidateRunner, tool: Tool, texts: Sequence[str] = ()) -> None:
        """Prepare the mutations of one tool.

        Args:
            runner: Runs the candidates; its world has the tables.
            tool: The tool that the candidates call.
            texts: SQL of the contract. If given, mutations change only the columns that it reads.
        """
        self.runner = runner
        self.tool = tool
        world = self._world = runner.world
        effects = [*(effect.sql for effect in tool.effects), tool.returns.select]
        every = [*(guard.holds for guard in tool.guards), *effects]
        is_whole = not texts
        texts = texts or every
        self.tables, self._columns = read_by(world, texts)
        self._related_tables = self.tables if is_whole else read_by(world, every)[0]
        bound = _bound(texts)
        self._of_effects = {*_bound(effects), *read_by(world, effects)[0]}
        self._columns_of_effects = {*read_by(world, effects)[1], world.role(tool.name).account}
        self._keyed = _keyed(world, texts)
        self._parameters = [p for p in tool.parameters if is_whole or p.name in bound]
        self._now = datetime.strptime(world.now, MOMENT)
        blueprint = world.blueprint
        self._persons = {blueprint.core_entity, *(role.own.name for role in blueprint.roles)}

    def mutations(self, candidate: CandidateCall, *, rows: bool = True) -> Iterator[Mutation]:
        """Every single mutation of a candidate: arguments first, then cells, then whole rows unless `rows` is false."""
        related = self.runner.related_rows(candidate, self._related_tables)
        for parameter in self._parameters:
            old = dict(candidate.arguments)[parameter.name]
            for value in self.arguments(parameter, old, related):
                yield Mutation(parameter.name, candidate.with_argument(parameter.name, value), old, value)
        for table, entity in self.tables.items():
            for row in related[table]:
                yield from self._cells(candidate, entity, row, related)
        for entity in self.tables.values() if rows else ():
            yield from self._rows(candidate, entity, related)

    def changes_effects(self, mutation: Mutation) -> bool:
        """Whether the effects and the result of an accepted call read what a mutation changes."""
        edits = mutation.candidate.edits
        if not edits or mutation.target in dict(mutation.candidate.arguments):
            return mutation.target in self._of_effects
        edit = edits[-1]
        return edit.table in self._of_effects and (edit.column is None or edit.column in self._columns_of_effects)

    def _cells(
        self, candidate: CandidateCall, entity: Entity, row: Row, related: Mapping[str, list[Row]]
    ) -> Iterator[Mutation]:
        key = str(row[entity.key])
        for attribute in entity.attributes:
            if attribute.name == entity.key or attribute.name not in self._columns:
                continue
            target, old = f"{entity.table}.{attribute.name}", row[attribute.name]
            values = self._cell_values(entity, attribute, old, related, candidate)
            edits = [RowEdit(entity.table, key, attribute.name, value) for value in values]
            for value, changed in zip(values, candidate.with_cells(edits), strict=True):
                yield Mutation(target, changed, old, value)

    def _rows(self, candidate: CandidateCall, entity: Entity, related: Mapping[str, list[Row]]) -> Iterator[Mutation]:
        """One row fewer, and more rows: copies of an existing row that refer to the caller and the related rows."""
        for row in related[entity.table][:2]:
            deleted = candidate.with_edit(RowEdit(entity.table, str(row[entity.key])))
            yield Mutation(f"no row of {entity.table}", deleted)
        if entity.name in self._persons:
            return
        seen: set[tuple[Value, ...]] = set()
        for number, template in enumerate(self._templates(entity, related)):
            for is_tied in (False, True):
                row = self._copy(entity, template, related, candidate, is_tied)
                if (cells := tuple(row.values())) in seen:
                    continue
                seen.add(cells)
                more, first = [candidate], len(candidate.edits) + 1
                for rank in range(first, first + MOST_ADDED):
                    more.append(more[-1].with_edit(_numbered(entity, row, rank)))
                # The most come first: where they change nothing, fewer do not.
                for added in (MOST_ADDED, *range(1, MOST_ADDED)):
                    copied = f"{entity.table} {number} {is_tied}"
                    yield Mutation(f"{added} more of {entity.table}", more[added], template=copied)

    def _templates(self, entity: Entity, related: Mapping[str, list[Row]]) -> list[Row]:
        """Rows to copy: a related one, one of each status, each also with its times set to now."""
        names = [attribute.name for attribute in entity.attributes]
        templates = related[entity.table][:1]
        for attribute in entity.attributes:
            if attribute.enum and attribute.name in self._columns:
                rows = self.runner.query_original(
                    f"SELECT {', '.join(names)} FROM {entity.table} "
                    f"GROUP BY {attribute.name} ORDER BY {entity.key} LIMIT 6"
                )
                templates += [dict(zip(names, row, strict=True)) for row in rows]
        if not templates:
            rows = self.runner.query_original(f"SELECT {', '.join(names)} FROM {entity.table} ORDER BY 1 LIMIT 1")
            templates = [dict(zip(names, row, strict=True)) for row in rows] or [self._invented(entity)]
        clocks = {"date": self._world.now[:10], "datetime": self._world.now}
        times = {a.name: clocks[a.type] for a in entity.attributes if a.type in clocks}
        current = [
            {name: times.get(name, cell) if cell is not None else None for name, cell in template.items()}
            for template in templates
        ]
        return list({repr(template): template for template in [*templates, *current]}.values())

    def _invented(self, entity: Entity) -> Row:
        """A new row of an empty table."""
        blank: dict[str, Value] = {"string": "text", "integer": 1, "number": 1.0, "boolean": 0}
        blank |= {"date": self._world.now[:10], "datetime": self._world.now}
        return {
            a.name: a.initial if a.initial is not None else a.enum[0] if a.enum else blank[a.type]
            for a in entity.attributes
        }

    def _copy(
        self,
        entity: Entity,
        template: Row,
        related: Mapping[str, list[Row]],
        candidate: CandidateCall,
        is_tied: bool,
    ) -> Row:
        """A copy that belongs to the caller; if `is_tied`, its other references point to the related rows too.

        It has no key yet; its unique cells are those of the template.
        """
        row: Row = {**template, entity.key: None}
        given, accounts = dict(candidate.arguments), self.runner.accounts_of(candidate.caller)
        for attribute in entity.attributes[1:]:
            target = self._world.blueprint.target(attribute.references)[0] if attribute.references else None
            if target is not None and target.name in accounts:
                row[attribute.name] = accounts[target.name] or row[attribute.name]
            elif target is not None and is_tied:
                rows = related.get(target.table) or [{}]
                row[attribute.name] = str(given.get(attribute.name) or rows[0].get(target.key) or row[attribute.name])
        return row

    def arguments(self, parameter: Parameter, old: Json, related: Mapping[str, list[Row]]) -> list[Json]:
        """Values to try for a parameter.

        Args:
            parameter: The parameter.
            old: Its present value, which is not among the returned ones.
            related: Rows related to the candidate, by table; their cells are values to try too.
        """
        values: list[Json] = [] if parameter.required else [None]
        if parameter.refers_to:
            entity, attribute = self._world.blueprint.target(parameter.refers_to)
            values += [row[attribute.name] for row in [*related.get(entity.table, []), *self._first_keys(entity)]]
            values.append("NONE-0000")
        elif parameter.enum:
            values += parameter.enum
        else:
            values += self._typed(parameter.type, old)
            values += [row[parameter.name] for rows in related.values() for row in rows if parameter.name in row]
            for entity in self._keyed.get(parameter.name, ()):
                values += [row[entity.key] for row in [*related.get(entity.table, []), *self._first_keys(entity)]]
            if parameter.type == "boolean":
                values = [bool(value) if isinstance(value, int) else value for value in values]
        return [
            value for value in _distinct(values) if value != old or isinstance(value, bool) != isinstance(old, bool)
        ]

    def _first_keys(self, entity: Entity) -> list[Row]:
        query = f"SELECT {entity.key} FROM {entity.table} ORDER BY {entity.key} LIMIT 6"
        return [{entity.key: row[0]} for row in self.runner.query_original(query)]

    def _cell_values(
        self,
        entity: Entity,
        attribute: Attribute,
        old: Value,
        related: Mapping[str, list[Row]],
        candidate: CandidateCall,
    ) -> list[Value]:
        values: list[Json] = [None] if attribute.nullable else []
        if attribute.enum:
            values += attribute.enum
        elif attribute.references:
            other, target = self._world.blueprint.target(attribute.references)
            values += [row[target.name] for row in related.get(other.table, [])]
            values += [row[other.key] for row in self._first_keys(other)][:2]
        else:
            typed = self._typed(attribute.type, old)
            values += typed[:2]
            if attribute.type in ("date", "datetime"):
                # Overlaps begin or end where two rows have the same time.
                values += [row[attribute.name] for row in related[entity.table]][:MOST_TIMES]
            values += typed[2:]
            values += [value for _, value in candidate.arguments if isinstance(value, str) and attribute.type in TEXT]
        return [value for value in _distinct(values) if value != old and not isinstance(value, list | dict)]

    def _typed(self, kind: str, old: Json) -> list[Json]:
        """Values of a type, around the old one and around the clock."""
        if kind == "boolean":
            return [0, 1]
        if kind in ("integer", "number"):
            base = old if isinstance(old, int | float) and not isinstance(old, bool) else 0
            numbers = [*NUMBERS[:2], base * 2 + 1, base - 1, base + 1, -base, *NUMBERS[2:], -7]
            return [float(value) if kind == "number" else int(value) for value in numbers]
        if kind in ("date", "datetime"):
            return [*_moments(self._now, DAY if kind == "date" else MOMENT)]
        return ["other", "ab", " ", "A much longer text than there was before, to be sure."] if kind == "string" else []


def _numbered(entity: Entity, row: Row, rank: int) -> RowEdit:
    """The addition of a row that `Mutator._copy` made, as one of several: with a key and unique cells of its own."""
    own: Row = {entity.key: f"{entity.prefix or 'NEW'}-X{rank}"}
    for attribute in entity.attributes[1:]:
        if attribute.unique and not attribute.references:
            own[attribute.name] = f"{row[attribute.name]}~{rank}"
    return RowEdit(entity.table, str(own[entity.key]), row=tuple((row | own).items()))


@lru_cache(maxsize=16)
def _moments(now: datetime, form: str) -> tuple[str, ...]:
    """Times around now, in a form of `strftime`."""
    return tuple((now + timedelta(hours=sign * hours)).strftime(form) for hours in HOURS for sign in (1, -1))


class StatementNames(NamedTuple):
    """The names in a statement."""

    tables: frozenset[str]
    """In lower case."""
    columns: frozenset[str]
    compared: tuple[tuple[str, str], ...]
    """Parameters, each with a column that it is equal to, in order of appearance."""


@lru_cache(maxsize=4096)
def names_in(text: str) -> StatementNames:
    """The names in a statement or expression of a contract."""
    tables, columns, compared = set(), set(), []
    for node in parse(text).tree.walk():
        if isinstance(node, exp.Table):
            tables.add(node.name.lower())
        elif isinstance(node, exp.Column):
            columns.add(node.name)
        elif isinstance(node, exp.EQ):
            for given, column in ((node.this, node.expression), (node.expression, node.this)):
                if isinstance(given, exp.Placeholder) and isinstance(column, exp.Column):
                    compared.append((str(given.this), column.name))
    return StatementNames(frozenset(tables), frozenset(columns), tuple(compared))


def read_by(world: World, texts: Sequence[str]) -> tuple[dict[str, Entity], set[str]]:
    """The tables that statements read, by name, and the names of the columns."""
    named = {table for text in texts for table in names_in(text).tables}
    columns = {column for text in texts for column in names_in(text).columns}
    for view in world.blueprint.views:
        if view.entity.table.lower() in named:
            named |= {view.own.lower(), view.shared.lower()}
    return {entity.table: entity for entity in world.blueprint.tables if entity.table.lower() in named}, columns


def _bound(texts: Sequence[str]) -> set[str]:
    """The names that statements bind."""
    return {name for text in texts for name in parse(text).bindings}


def _keyed(world: World, texts: Sequence[str]) -> dict[str, list[Entity]]:
    """Parameter -> tables, of any domain, to whose keys it is compared."""
    tables_of: dict[str, list[Entity]] = {}
    for parameter, column in (pair for text in texts for pair in names_in(text).compared):
        owners = [entity for entity in world.blueprint.tables if entity.key == column]
        tables_of.setdefault(parameter, []).extend(owners)
    return tables_of


def _distinct(values: list[Json]) -> list[Json]:
    seen: dict[str, Json] = {}
    for value in values:
        seen.setdefault(repr(value), value)
    return list(seen.values())
