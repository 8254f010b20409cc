"""A candidate call: one call on the world's database with a few rows changed,
and what the contract's SQL does with it.

The search for test cases runs many candidates, so they are cheap: rows change inside a savepoint, the tool's own
guards and effects run, and all is rolled back.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from skillweave.schema.blueprint import DomainRole
from skillweave.schema.call import Call, RowChange
from skillweave.schema.contract import Guard, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Json, Row, Value
from skillweave.world import database
from skillweave.world.arguments import ArgumentError, bind
from skillweave.world.world import World
from synth.servers.cases import ServerCase


def account_of(connection: sqlite3.Connection, world: World, role: DomainRole, caller: str | None) -> str | None:
    """The key by which a domain knows who calls; in a single domain's world it is the caller."""
    people = world.people
    if caller is None or role.account == people.key:
        return caller
    row = connection.execute(f"SELECT {role.account} FROM {people.table} WHERE {people.key} = ?", (caller,)).fetchone()
    return None if row is None else row[0]


NEAR = 3
"""Rows of a table that a trial is about, beside those that it names."""
MOST_ROWS = 60
"""Rows of a result that are looked at."""


@dataclass(frozen=True)
class RowEdit:
    """One row changed: a cell set, a row added, or a row deleted."""

    table: str
    key: str
    column: str | None = None
    """The cell to set; None where the whole row comes or goes."""
    value: Value = None
    row: tuple[tuple[str, Value], ...] | None = None
    """The row to add."""


@dataclass(frozen=True)
class Candidate:
    tool: Tool
    caller: str | None
    arguments: tuple[tuple[str, Json], ...]
    edits: tuple[RowEdit, ...] = ()

    def given(self) -> dict[str, Json]:
        """The arguments; those that are None are left out."""
        return {name: value for name, value in self.arguments if value is not None}

    def with_argument(self, name: str, value: Json) -> "Candidate":
        """The trial with one argument replaced."""
        return replace(self, arguments=tuple((key, value if key == name else old) for key, old in self.arguments))

    def with_edit(self, edit: RowEdit) -> "Candidate":
        """The trial with one more edit; what it makes void is left out."""
        if edit.column is not None:
            kept = tuple(e for e in self.edits if (e.table, e.key, e.column) != (edit.table, edit.key, edit.column))
            return replace(self, edits=(*kept, edit))
        kept = tuple(e for e in self.edits if (e.table, e.key) != (edit.table, edit.key))
        was_added = any(e.row is not None and (e.table, e.key) == (edit.table, edit.key) for e in self.edits)
        return replace(self, edits=kept if was_added and edit.row is None else (*kept, edit))

    def case(self, about: str, world: World) -> ServerCase:
        """The trial as a case of the differential test."""
        patch = tuple(_folded(self.edits, world))
        return ServerCase(
            f"{self.tool.name}, {about}", (Call(tool=self.tool.name, arguments=self.given()),), self.caller, patch
        )


def _folded(edits: Sequence[RowEdit], world: World) -> Iterator[RowChange]:
    """The edits as row changes, one for each row: an added row is added as later edits leave it."""
    rows: dict[tuple[str, str], list[RowEdit]] = {}
    for edit in edits:
        rows.setdefault((edit.table, edit.key), []).append(edit)
    for (table, key), own in rows.items():
        place: dict[str, Json] = {world.entity(table).key: key}
        cells: dict[str, Json] = {edit.column: edit.value for edit in own if edit.column is not None}
        added = next((edit.row for edit in own if edit.row is not None), None)
        if added is not None:
            yield RowChange(table=table, op="insert", key=place, after={**dict(added), **cells})
        elif own[-1].column is None:
            yield RowChange(table=table, op="delete", key=place)
        else:
            yield RowChange(table=table, op="update", key=place, after=cells)


@dataclass(frozen=True)
class CandidateOutcome:
    """What the contract makes of a trial."""

    broken: int
    """Place of the first broken guard of the tool itself; as many as there are where all hold."""
    agent: tuple[bool, ...]
    """Whether each rule of the agent holds; empty where the tool refuses."""
    counts: tuple[int, ...]
    """Rows that each effect changed, and rows of the result."""
    numbers: tuple[Value, ...]
    """Numbers in the result."""


class CandidateRunner:
    """Runs trials."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.connection = database.load(world.content, world.blueprint)
        self._original = database.load(world.content, world.blueprint)
        self._looked: dict[str, list[tuple[Value, ...]]] = {}
        self._accounts: dict[str | None, dict[str, str | None]] = {}
        self.ran = 0
        self._base: tuple[RowEdit, ...] | None = None
        """Edits that are made already; None where none are."""
        self._guards: dict[str, tuple[list[Guard], str, list[Guard], str]] = {}

    def close(self) -> None:
        """Give the copies of the database up."""
        self.connection.close()
        self._original.close()

    def look(self, query: str) -> list[tuple[Value, ...]]:
        """The rows of a query on the database as no trial has changed it."""
        if query not in self._looked:
            self._looked[query] = self._original.execute(query).fetchall()
        return self._looked[query]

    def guards(self, tool: Tool) -> list[Guard]:
        """The guards that the tool itself enforces, in order."""
        return self._compiled(tool)[0]

    def agent_guards(self, tool: Tool) -> list[Guard]:
        """The guards that are left to the agent, in order."""
        return self._compiled(tool)[2]

    @contextmanager
    def state(self, trial: Candidate) -> Iterator[sqlite3.Connection]:
        """The database as the trial has it, for the time of the block. sqlite3.Error where it cannot be so."""
        kept, last = trial.edits[:-1], trial.edits[-1:]
        if kept != self._base:
            self._rebase(kept)
        self.connection.execute("SAVEPOINT trial")
        try:
            for edit in last:
                self._apply(edit)
            yield self.connection
        finally:
            self.connection.execute("ROLLBACK TO trial")
            self.connection.execute("RELEASE trial")

    def _rebase(self, edits: tuple[RowEdit, ...]) -> None:
        """Have these edits made. Trials that follow each other mostly differ in their last edit alone."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self._base = None
        self.connection.execute("BEGIN")
        for edit in edits:
            self._apply(edit)
        self._base = edits

    def outcome(self, trial: Candidate) -> CandidateOutcome | None:
        """What comes of the trial; None where its rows or its arguments cannot be so."""
        self.ran += 1
        try:
            bindings = bind(trial.tool, trial.given())
            with self.state(trial) as connection:
                given = self._session(connection, trial)
                return None if given is None else self._outcome(connection, trial, {**bindings, **given})
        except (sqlite3.Error, ArgumentError):
            return None

    def _session(self, connection: sqlite3.Connection, trial: Candidate) -> dict[str, Value] | None:
        """What the session binds; None where the tool's domain does not know the caller."""
        role = self.world.role(trial.tool.name)
        caller = account_of(connection, self.world, role, trial.caller)
        if caller is None and trial.tool.kind != "auth" and trial.caller is not None:
            return None
        return {"caller": caller, "person": trial.caller, "now": self.world.now}

    def accounts(self, caller: str | None) -> dict[str, str | None]:
        """The caller's keys, as no trial has changed them, by the entity whose keys they are."""
        if caller not in self._accounts:
            roles = self.world.blueprint.roles
            self._accounts[caller] = {
                role.own.name: account_of(self._original, self.world, role, caller) for role in roles
            }
        return self._accounts[caller]

    def _outcome(
        self, connection: sqlite3.Connection, trial: Candidate, bindings: Mapping[str, Value]
    ) -> CandidateOutcome:
        own, own_query, agent, agent_query = self._compiled(trial.tool)
        held = connection.execute(own_query, bindings).fetchone() if own else ()
        broken = next((place for place, holds in enumerate(held) if not holds), len(own))
        if broken < len(own):
            return CandidateOutcome(broken, (), (), ())
        verdicts = connection.execute(agent_query, bindings).fetchone() if agent else ()
        compiled = self.world.compiled(trial.tool.name)
        bound = {**bindings, **{name: f"ZZZ-{rank}" for rank, name in enumerate(compiled.new)}}
        counts = []
        for effect in compiled.effects:
            before = connection.total_changes
            connection.execute(effect, bound)
            counts.append(connection.total_changes - before)
        rows = connection.execute(compiled.select, bound).fetchmany(MOST_ROWS)
        counts.append(len(rows))
        numbers = tuple(cell for row in rows for cell in row if isinstance(cell, int | float))
        return CandidateOutcome(broken, tuple(map(bool, verdicts)), tuple(counts), numbers)

    def _compiled(self, tool: Tool) -> tuple[list[Guard], str, list[Guard], str]:
        if tool.name not in self._guards:
            own = [guard for guard in tool.guards if guard.enforced_by == "tool"]
            agent = [guard for guard in tool.guards if guard.enforced_by == "agent"]
            self._guards[tool.name] = (own, _query(own), agent, _query(agent))
        return self._guards[tool.name]

    def _apply(self, edit: RowEdit) -> None:
        key = self.world.entity(edit.table).key
        if edit.row is not None:
            names = ", ".join(name for name, _ in edit.row)
            sql = f"INSERT INTO {edit.table} ({names}) VALUES ({', '.join('?' * len(edit.row))})"
            cursor = self.connection.execute(sql, [value for _, value in edit.row])
        elif edit.column is None:
            cursor = self.connection.execute(f"DELETE FROM {edit.table} WHERE {key} = ?", (edit.key,))
        else:
            sql = f"UPDATE {edit.table} SET {edit.column} = ? WHERE {key} = ?"
            cursor = self.connection.execute(sql, (edit.value, edit.key))
        if cursor.rowcount != 1:
            raise sqlite3.IntegrityError(f"no row {edit.key!r} in {edit.table!r}")

    def near(self, trial: Candidate, tables: Mapping[str, Entity]) -> dict[str, list[Row]]:
        """Rows that the trial is about: those that it names, what they refer to, and what refers to them.

        None of any table where the trial's own rows cannot be so.
        """
        found: dict[str, dict[str, Row]] = {table: {} for table in tables}
        try:
            with self.state(trial):
                self._gather(trial, tables, found)
        except sqlite3.Error:
            return {table: [] for table in tables}
        return {table: list(rows.values()) for table, rows in found.items()}

    def _gather(self, trial: Candidate, tables: Mapping[str, Entity], found: dict[str, dict[str, Row]]) -> None:
        keys = [trial.caller, *self.accounts(trial.caller).values()]
        named = {str(value) for value in [*keys, *(value for _, value in trial.arguments)] if value is not None}
        named |= self._returned(trial)
        wanted = self._follow(tables, found, named)
        for table, entity in tables.items():
            for row in self._linked(entity, named | wanted, dict(trial.arguments)):
                if len(found[table]) < NEAR:
                    found[table].setdefault(str(row[entity.key]), row)
        added = {edit.key for edit in trial.edits if edit.row is not None}
        self._follow(tables, found, wanted | added)

    def _follow(self, tables: Mapping[str, Entity], found: dict[str, dict[str, Row]], keys: set[str]) -> set[str]:
        """Add the rows of these keys, and what they refer to; all the keys."""
        wanted = set(keys)
        for _ in range(3):
            for table, entity in tables.items():
                for row in self._rows(entity, f"{entity.key} IN ({_marks(wanted)})", sorted(wanted), 2 * NEAR):
                    found[table].setdefault(str(row[entity.key]), row)
            for table, entity in tables.items():
                references = [attribute.name for attribute in entity.attributes if attribute.references]
                rows = found[table].values()
                wanted |= {str(row[name]) for row in rows for name in references if row[name] is not None}
        return wanted

    def _linked(self, entity: Entity, wanted: set[str], arguments: Mapping[str, Json]) -> list[Row]:
        """Rows that refer to these keys, or have an argument's value in the column of its name; the closest first."""
        values = sorted(wanted)
        names = [a.name for a in entity.attributes[1:] if a.references or a.name in arguments]
        if not names:
            return []
        terms = [f"coalesce({name} IN ({_marks(wanted)}), 0)" for name in names]
        where = f"{' OR '.join(terms)} ORDER BY {' + '.join(terms)} DESC, {entity.key}"
        return self._rows(entity, where, values * (2 * len(terms)), NEAR)

    def _rows(self, entity: Entity, where: str, values: Sequence[str], most: int) -> list[Row]:
        names = [attribute.name for attribute in entity.attributes]
        sql = f"SELECT {', '.join(names)} FROM {entity.table} WHERE {where} LIMIT {most}"
        return [dict(zip(names, row, strict=True)) for row in self.connection.execute(sql, values)]

    def _returned(self, trial: Candidate) -> set[str]:
        """Texts in the first and last rows that a read gives."""
        if trial.tool.kind != "read":
            return set()
        try:
            bindings = {**bind(trial.tool, trial.given()), **(self._session(self.connection, trial) or {})}
            rows = self.connection.execute(trial.tool.returns.select, bindings).fetchmany(MOST_ROWS)
        except (sqlite3.Error, ArgumentError):
            return set()
        return {cell for row in [*rows[:1], *rows[-1:]] for cell in row if isinstance(cell, str)}


def _marks(values: set[str]) -> str:
    return ", ".join("?" * len(values))


def _query(guards: list[Guard]) -> str:
    return "SELECT " + ", ".join(f"(\n{guard.holds}\n) IS TRUE" for guard in guards)
