"""Mutations: small changes of a candidate call that may flip a guard: an argument, a cell, or a row.

Numbers and times are tried on a coarse grid. The exact value at which a guard flips is found by halving.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp

from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.entity import Attribute, Entity
from skillweave.schema.record import Json, Row, Value
from skillweave.world.sql import parse
from skillweave.world.world import World
from synth.servers.candidates import Candidate, CandidateOutcome, CandidateRunner, RowEdit

HOURS = (0, 25, 24 * 33, 24 * 400, 1, 5, 13, 50, 80, 24 * 8, 24 * 16, 24 * 100, 24 * 1100)
NUMBERS = (0, 11, 1001, 5_000_011, 1, 2, 3, 5, 40, 120, 10_003, 100_007)
"""Those that are farthest apart first: a place where they turn nothing is soon left."""
MOST_ADDED = 5
MOST_TIMES = 3
TEXT = frozenset({"string"})
MOMENT = "%Y-%m-%d %H:%M:%S"
DAY = "%Y-%m-%d"


@dataclass(frozen=True)
class Mutation:
    about: str
    """What it changes: `slot.starts_at`, `amount_cents`, `row of loan`."""
    trial: Candidate
    """The trial after the move."""
    old: Json = None
    new: Json = None

    @property
    def place(self) -> str:
        """What it changes, in which row."""
        edits = self.trial.edits
        return f"{self.about} {edits[-1].key}" if edits else self.about


class Mutator:
    """Lists the moves from a trial of one tool."""

    def __init__(self, lab: CandidateRunner, tool: Tool, texts: Sequence[str] = ()) -> None:
        """With texts of the contract, only what those read is moved."""
        self.lab = lab
        self.world: World = lab.world
        self.tool = tool
        every = [*(g.holds for g in tool.guards), *(e.sql for e in tool.effects), tool.returns.select]
        is_whole = not texts
        texts = texts or every
        self.tables, self.columns = read_by(self.world, texts)
        self.nearby = self.tables if is_whole else read_by(self.world, every)[0]
        bound = {name for text in texts for name in parse(text).bindings}
        self.keyed = _keyed(self.world, [parse(text).tree for text in texts])
        self.parameters = [p for p in tool.parameters if is_whole or p.name in bound]
        self.now = datetime.strptime(self.world.now, MOMENT)
        blueprint = self.world.blueprint
        self._persons = {blueprint.core_entity, *(role.own.name for role in blueprint.roles)}

    def moves(self, trial: Candidate, *, rows: bool = True) -> Iterator[Mutation]:
        """Every single move, arguments first; those of whole rows, unless they are not wanted, last."""
        near = self.lab.near(trial, self.nearby)
        for parameter in self.parameters:
            old = dict(trial.arguments)[parameter.name]
            for value in self.arguments(parameter, old, near):
                yield Mutation(parameter.name, trial.with_argument(parameter.name, value), old, value)
        for table, entity in self.tables.items():
            for row in near[table]:
                yield from self._cells(trial, entity, row, near)
        for entity in self.tables.values() if rows else ():
            yield from self._rows(trial, entity, near)

    def _cells(self, trial: Candidate, entity: Entity, row: Row, near: Mapping[str, list[Row]]) -> Iterator[Mutation]:
        key = str(row[entity.key])
        for attribute in entity.attributes:
            if attribute.name == entity.key or attribute.name not in self.columns:
                continue
            for value in self._values(entity, attribute, row[attribute.name], near, trial):
                edit = RowEdit(entity.table, key, attribute.name, value)
                about = f"{entity.table}.{attribute.name}"
                yield Mutation(about, trial.with_edit(edit), row[attribute.name], value)

    def _rows(self, trial: Candidate, entity: Entity, near: Mapping[str, list[Row]]) -> Iterator[Mutation]:
        """A row less, and rows more: copies of one that is there, tied to the rows at hand."""
        for row in near[entity.table][:2]:
            yield Mutation(f"no row of {entity.table}", trial.with_edit(RowEdit(entity.table, str(row[entity.key]))))
        if entity.name in self._persons:
            return
        seen: set[tuple[RowEdit, ...]] = set()
        for model in self._models(entity, near):
            for tied in (False, True):
                moved = trial
                for rank in range(len(trial.edits) + 1, len(trial.edits) + 1 + MOST_ADDED):
                    moved = moved.with_edit(self._copy(entity, model, near, trial, rank, tied))
                    if moved.edits not in seen:
                        seen.add(moved.edits)
                        yield Mutation(f"{rank - len(trial.edits)} more of {entity.table}", moved)

    def _models(self, entity: Entity, near: Mapping[str, list[Row]]) -> list[Row]:
        """Rows to copy: one at hand, one of each status, and the same as of now and of long ago."""
        names = [attribute.name for attribute in entity.attributes]
        models = near[entity.table][:1]
        for attribute in entity.attributes:
            if attribute.enum and attribute.name in self.columns:
                found = self.lab.look(
                    f"SELECT {', '.join(names)} FROM {entity.table} "
                    f"GROUP BY {attribute.name} ORDER BY {entity.key} LIMIT 6"
                )
                models += [dict(zip(names, row, strict=True)) for row in found]
        if not models:
            found = self.lab.look(f"SELECT {', '.join(names)} FROM {entity.table} ORDER BY 1 LIMIT 1")
            models = [dict(zip(names, row, strict=True)) for row in found] or [self._invented(entity)]
        clocks = {"date": self.world.now[:10], "datetime": self.world.now}
        times = {a.name: clocks[a.type] for a in entity.attributes if a.type in clocks}
        fresh = [
            {name: times.get(name, cell) if cell is not None else None for name, cell in m.items()} for m in models
        ]
        return list({repr(model): model for model in [*models, *fresh]}.values())

    def _invented(self, entity: Entity) -> Row:
        """A row of a table that has none."""
        blank: dict[str, Value] = {"string": "text", "integer": 1, "number": 1.0, "boolean": 0}
        blank |= {"date": self.world.now[:10], "datetime": self.world.now}
        return {
            a.name: a.initial if a.initial is not None else a.enum[0] if a.enum else blank[a.type]
            for a in entity.attributes
        }

    def _copy(
        self, entity: Entity, model: Row, near: Mapping[str, list[Row]], trial: Candidate, rank: int, tied: bool
    ) -> RowEdit:
        """A copy that is the caller's; `tied` to the rows at hand by its other references too."""
        row = dict(model)
        given, accounts = dict(trial.arguments), self.lab.accounts(trial.caller)
        row[entity.key] = f"{entity.prefix or 'NEW'}-X{rank}"
        for attribute in entity.attributes[1:]:
            target = self.world.blueprint.target(attribute.references)[0] if attribute.references else None
            if target is not None and target.name in accounts:
                row[attribute.name] = accounts[target.name] or row[attribute.name]
            elif target is not None and tied:
                rows = near.get(target.table) or [{}]
                row[attribute.name] = str(given.get(attribute.name) or rows[0].get(target.key) or row[attribute.name])
            elif attribute.unique and target is None:
                row[attribute.name] = f"{row[attribute.name]}~{rank}"
        return RowEdit(entity.table, str(row[entity.key]), row=tuple(row.items()))

    def arguments(self, parameter: Parameter, old: Json, near: Mapping[str, list[Row]]) -> list[Json]:
        """Values to try for a parameter, other than the old one."""
        found: list[Json] = [] if parameter.required else [None]
        if parameter.refers_to:
            entity, attribute = self.world.blueprint.target(parameter.refers_to)
            found += [row[attribute.name] for row in [*near.get(entity.table, []), *self._some(entity)]]
            found.append("NONE-0000")
        elif parameter.enum:
            found += parameter.enum
        else:
            found += self._typed(parameter.type, old)
            found += [row[parameter.name] for rows in near.values() for row in rows if parameter.name in row]
            for entity in self.keyed.get(parameter.name, ()):
                found += [row[entity.key] for row in [*near.get(entity.table, []), *self._some(entity)]]
            if parameter.type == "boolean":
                found = [bool(value) if isinstance(value, int) else value for value in found]
        return [value for value in _distinct(found) if value != old or isinstance(value, bool) != isinstance(old, bool)]

    def _some(self, entity: Entity) -> list[Row]:
        found = self.lab.look(f"SELECT {entity.key} FROM {entity.table} ORDER BY {entity.key} LIMIT 6")
        return [{entity.key: row[0]} for row in found]

    def _values(
        self, entity: Entity, attribute: Attribute, old: Value, near: Mapping[str, list[Row]], trial: Candidate
    ) -> list[Value]:
        found: list[Json] = [None] if attribute.nullable else []
        if attribute.enum:
            found += attribute.enum
        elif attribute.references:
            other, target = self.world.blueprint.target(attribute.references)
            found += [row[target.name] for row in near.get(other.table, [])]
            found += [row[other.key] for row in self._some(other)][:2]
        else:
            if attribute.type in ("date", "datetime"):
                # Two rows at one time: what may overlap is turned from there.
                found += [row[attribute.name] for row in near[entity.table]][:MOST_TIMES]
            found += self._typed(attribute.type, old)
            found += [value for _, value in trial.arguments if isinstance(value, str) and attribute.type in TEXT]
        return [value for value in _distinct(found) if value != old and not isinstance(value, list | dict)]

    def _typed(self, kind: str, old: Json) -> list[Json]:
        """Values of a type, round the old one and round the clock."""
        if kind == "boolean":
            return [0, 1]
        if kind in ("integer", "number"):
            base = old if isinstance(old, int | float) and not isinstance(old, bool) else 0
            near = [base - 1, base + 1, base * 2 + 1, -base, *NUMBERS, -7]
            return [float(value) if kind == "number" else int(value) for value in near]
        if kind in ("date", "datetime"):
            form = DAY if kind == "date" else MOMENT
            found = [self.now + timedelta(hours=sign * hours) for hours in HOURS for sign in (1, -1)]
            return [moment.strftime(form) for moment in found]
        return ["other", "ab", " ", "A much longer text than there was before, to be sure."] if kind == "string" else []


def read_by(world: World, texts: Sequence[str]) -> tuple[dict[str, Entity], set[str]]:
    """The tables that these statements name, and the names of the columns in them."""
    trees = [parse(text).tree for text in texts]
    named = {table.name.lower() for tree in trees for table in tree.find_all(exp.Table)}
    columns = {column.name for tree in trees for column in tree.find_all(exp.Column)}
    for view in world.blueprint.views:
        if view.entity.table.lower() in named:
            named |= {view.own.lower(), view.shared.lower()}
    return {entity.table: entity for entity in world.blueprint.tables if entity.table.lower() in named}, columns


def _keyed(world: World, trees: Sequence[exp.Expr]) -> dict[str, list[Entity]]:
    """Parameters that are compared with the key of a table, which may be another domain's, with that table."""
    found: dict[str, list[Entity]] = {}
    for equal in (node for tree in trees for node in tree.find_all(exp.EQ)):
        for given, column in ((equal.this, equal.expression), (equal.expression, equal.this)):
            if isinstance(given, exp.Placeholder) and isinstance(column, exp.Column):
                owners = [entity for entity in world.blueprint.tables if entity.key == column.name]
                found.setdefault(str(given.this), []).extend(owners)
    return found


def midpoint(old: Json, new: Json) -> Json:
    """A value half way from the one to the other; None where there is none between."""
    if isinstance(old, bool) or isinstance(new, bool):
        return None
    if isinstance(old, int) and isinstance(new, int):
        middle = (old + new) // 2
        return None if middle in (old, new) else middle
    if isinstance(old, float) and isinstance(new, float):
        half = round((old + new) / 2, 2)
        return None if half in (old, new) else half
    if isinstance(old, str) and isinstance(new, str):
        return _moment_between(old, new)
    return None


def _moment_between(old: str, new: str) -> str | None:
    form = DAY if len(old) == 10 else MOMENT
    if {len(old), len(new)} not in ({10}, {19}):
        return None
    try:
        start, end = datetime.fromisoformat(old), datetime.fromisoformat(new)
    except ValueError:
        return None
    unit = timedelta(days=1) if form == DAY else timedelta(seconds=1)
    steps = (end - start) // unit
    middle = start + (steps // 2 if steps > 0 else -(-steps // 2)) * unit
    return None if middle in (start, end) else middle.strftime(form)


def _distinct(values: list[Json]) -> list[Json]:
    seen: dict[str, Json] = {}
    for value in values:
        seen.setdefault(repr(value), value)
    return list(seen.values())


def are_neighbours(old: Json, new: Json) -> bool:
    """Whether two values are neighbours among numbers."""
    plain = not isinstance(old, bool) and not isinstance(new, bool)
    return plain and isinstance(old, int | float) and isinstance(new, int | float)


def with_value(base: Candidate, move: Mutation, value: Json) -> Candidate:
    """The move with another value."""
    if move.trial.arguments != base.arguments:
        name = move.about
        return base.with_argument(name, value)
    edit = move.trial.edits[-1]
    cell = value if isinstance(value, str | int | float) or value is None else None
    return base.with_edit(type(edit)(edit.table, edit.key, edit.column, cell))


def changed_level(start: CandidateOutcome, outcome: CandidateOutcome, move: Mutation) -> int | None:
    """What a move has turned: 0 a guard of the tool, 1 a rule of the agent, 2 what happens; None where nothing.

    3 is for a moved time: numbers in the result, since fees come in steps.
    """
    timed = isinstance(move.new, str) and midpoint(move.old, move.new) is not None
    return next((level for level in range(4 if timed else 3) if not agree(start, outcome, level)), None)


def agree(start: CandidateOutcome, outcome: CandidateOutcome, level: int) -> bool:
    """Whether two outcomes are the same, as far as the level goes."""
    parts = ((o.broken, o.agent, o.counts, o.numbers)[: level + 1] for o in (start, outcome))
    return next(parts) == next(parts)
