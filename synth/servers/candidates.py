"""Candidate calls: one call on the world's database with a few changed rows, and its outcome in the contract's SQL.

The search for test cases runs many candidates, so they are cheap: the runner changes rows behind a savepoint, runs the
tool's own guards and effects, and rolls all of it back. What consecutive candidates share is done once.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from skillweave.schema.blueprint import DomainRole
from skillweave.schema.contract import Guard, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.record import Row, Value
from skillweave.world import database
from skillweave.world.arguments import ArgumentError, BoundValue, bind
from skillweave.world.world import World
from synth.servers.cases import CandidateCall, RowEdit

RELATED_PER_TABLE = 3
"""Most related rows of a table, in addition to those that a candidate names."""
MOST_ROWS = 60
"""Most rows of a result to read."""


EditedRows = dict[str, dict[str, Row | None]]
"""Table -> key -> the row after some edits; None if they delete it."""


class CandidateOutcome(NamedTuple):
    """The outcome of a candidate in the contract."""

    first_broken: int
    """Position of the first broken guard among those that the tool enforces; their number if all hold."""
    agent_verdicts: tuple[bool, ...]
    """Whether each rule that is left to the agent holds; empty if the tool refuses the call."""
    row_counts: tuple[int, ...]
    """Rows that each effect changed, then rows of the result."""
    numbers: tuple[Value, ...]
    """Numbers in the result."""


class CandidateRunner:
    """Runs candidates on copies of a world's database."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.runs = 0
        """Number of candidates run so far."""
        self._connection = database.load(world.content, world.blueprint)
        self._original = database.load(world.content, world.blueprint)
        database.create_indices(self._connection, world.blueprint)
        self._people = world.people.table
        self._queried: dict[str, list[tuple[Value, ...]]] = {}
        self._accounts: dict[str | None, dict[str, str | None]] = {}
        self._originals: dict[str, dict[str, Row]] = {}
        self._held: dict[tuple[str, str], dict[str, list[str]]] = {}
        self._base: tuple[RowEdit, ...] | None = None
        """Edits before the savepoint; None if there is no savepoint."""
        self._guards: dict[str, tuple[list[Guard], str, list[Guard], str]] = {}
        self._last: tuple[CandidateCall | None, dict[str, BoundValue] | None] = (None, None)
        """The last candidate that changes no people, and what its SQL binds."""
        self._statements: dict[tuple[str, str | None], str] = {}

    def close(self) -> None:
        """Close the copies of the database."""
        self._connection.close()
        self._original.close()

    def query_original(self, query: str) -> list[tuple[Value, ...]]:
        """The rows of a query on the world's original database."""
        if query not in self._queried:
            self._queried[query] = self._original.execute(query).fetchall()
        return self._queried[query]

    def tool_guards(self, tool: Tool) -> list[Guard]:
        """The guards that the tool itself enforces, in order."""
        return self._guard_queries(tool)[0]

    def agent_guards(self, tool: Tool) -> list[Guard]:
        """The guards that the agent has to enforce, in order."""
        return self._guard_queries(tool)[2]

    def accounts_of(self, caller: str | None) -> dict[str, str | None]:
        """The caller's keys in the world's own database, by the name of the entity whose keys they are."""
        if caller not in self._accounts:
            self._accounts[caller] = {
                role.own.name: self._account(self._original, role, caller) for role in self.world.blueprint.roles
            }
        return self._accounts[caller]

    def outcome(self, candidate: CandidateCall, *, is_whole: bool = True) -> CandidateOutcome | None:
        """Run a candidate.

        Args:
            candidate: The candidate.
            is_whole: Whether an accepted call is carried out; if not, its rows and numbers stay empty.

        Returns:
            The outcome; None if its rows or arguments are not possible.
        """
        self.runs += 1
        try:
            with self._edited(candidate):
                bindings = self._bindings(candidate)
                return None if bindings is None else self._outcome(candidate.tool, bindings, is_whole=is_whole)
        except (sqlite3.Error, ArgumentError):
            return None

    def _bindings(self, candidate: CandidateCall) -> dict[str, BoundValue] | None:
        """What the candidate's SQL binds; None if the tool's domain does not know the caller.

        Mutations of cells and rows share the bindings of their origin, unless they change people.
        """
        if [edit for edit in candidate.edits if edit.table == self._people]:
            role = self.world.role(candidate.tool.name)
            return self._bound(candidate, self._account(self._connection, role, candidate.caller))
        last, bound = self._last
        shared = last is not None and last.arguments is candidate.arguments and last.tool is candidate.tool
        if last is None or not shared or last.caller != candidate.caller:
            account = self.accounts_of(candidate.caller)[self.world.role(candidate.tool.name).own.name]
            bound = self._bound(candidate, account)
            self._last = candidate, bound
        return bound

    def _bound(self, candidate: CandidateCall, account: str | None) -> dict[str, BoundValue] | None:
        if account is None and candidate.tool.kind != "auth" and candidate.caller is not None:
            return None
        session = {"caller": account, "person": candidate.caller, "now": self.world.now}
        return {**bind(candidate.tool, candidate.given()), **session}

    def related_rows(self, candidate: CandidateCall, tables: Mapping[str, Entity]) -> dict[str, list[Row]]:
        """The rows related to a candidate: those that it names, that they refer to, and that refer to them.

        Args:
            candidate: The call, with the edits before it.
            tables: The tables to look in, by name.

        Returns:
            Table name -> rows.
        """
        keys = [candidate.caller, *self.accounts_of(candidate.caller).values()]
        named = {str(value) for value in [*keys, *(value for _, value in candidate.arguments)] if value is not None}
        edited = self._edited_rows(candidate.edits)
        rows_of: dict[str, dict[str, Row]] = {table: {} for table in tables}
        reached = self._add_referenced(tables, rows_of, named | self._returned_texts(candidate), edited)
        for table, entity in tables.items():
            columns = [a.name for a in entity.attributes[1:] if a.references or a.name in dict(candidate.arguments)]
            for key, row in self._referring_rows(table, columns, reached, edited):
                if len(rows_of[table]) < RELATED_PER_TABLE:
                    rows_of[table].setdefault(key, row)
        added = {edit.key for edit in candidate.edits if edit.row is not None}
        self._add_referenced(tables, rows_of, reached | added, edited)
        return {table: list(rows.values()) for table, rows in rows_of.items()}

    @contextmanager
    def _edited(self, candidate: CandidateCall) -> Iterator[None]:
        """Apply the candidate's edits for the duration of the block. Raises sqlite3.Error if that is not possible."""
        base, last = candidate.edits[:-1], candidate.edits[-1:]
        if base != self._base:
            self._make_base(base)
        try:
            for edit in last:
                self._apply(edit)
            yield
        finally:
            # Always: the count of changes does not tell of each one.
            self._connection.execute("ROLLBACK TO candidate")

    def _make_base(self, edits: tuple[RowEdit, ...]) -> None:
        """Make these edits before the savepoint, because consecutive candidates mostly share all but the last."""
        made = self._base or ()
        if self._base is not None and edits[: len(made)] == made:
            self._connection.execute("RELEASE candidate")
        else:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN")
            made = ()
        self._base = None
        for edit in edits[len(made) :]:
            self._apply(edit)
        self._connection.execute("SAVEPOINT candidate")
        self._base = edits

    def _apply(self, edit: RowEdit) -> None:
        if edit.row is not None:
            names = ", ".join([name for name, _ in edit.row])
            sql = f"INSERT INTO {edit.table} ({names}) VALUES ({', '.join('?' * len(edit.row))})"
            cursor = self._connection.execute(sql, [value for _, value in edit.row])
        elif edit.column is None:
            cursor = self._connection.execute(self._sql("DELETE FROM {} WHERE {} = ?", edit), (edit.key,))
        else:
            sql = self._sql("UPDATE {} SET {column} = ? WHERE {} = ?", edit)
            cursor = self._connection.execute(sql, (edit.value, edit.key))
        if cursor.rowcount != 1:
            raise sqlite3.IntegrityError(f"no row {edit.key!r} in {edit.table!r}")

    def _sql(self, form: str, edit: RowEdit) -> str:
        """The statement of an edit: `form` with its table, the key of this, and its column."""
        known = (edit.table, edit.column)
        if known not in self._statements:
            key = self.world.entity(edit.table).key
            self._statements[known] = form.format(edit.table, key, column=edit.column)
        return self._statements[known]

    def _account(self, connection: sqlite3.Connection, role: DomainRole, caller: str | None) -> str | None:
        """The caller's key in a domain. In the world of a single domain it is the caller."""
        people = self.world.people
        if caller is None or role.account == people.key:
            return caller
        query = f"SELECT {role.account} FROM {people.table} WHERE {people.key} = ?"
        row = connection.execute(query, (caller,)).fetchone()
        return None if row is None else row[0]

    def _outcome(self, tool: Tool, bindings: Mapping[str, BoundValue], *, is_whole: bool) -> CandidateOutcome:
        guards, guard_query, agent_guards, agent_query = self._guard_queries(tool)
        connection = self._connection
        first_broken: int = connection.execute(guard_query, bindings).fetchone()[0] if guards else 0
        if first_broken < len(guards):
            return CandidateOutcome(first_broken, (), (), ())
        verdicts = connection.execute(agent_query, bindings).fetchone() if agent_guards else ()
        agent_verdicts = tuple(map(bool, verdicts))
        if not is_whole:
            return CandidateOutcome(first_broken, agent_verdicts, (), ())
        compiled = self.world.compiled(tool.name)
        bound = {**bindings, **{name: f"ZZZ-{rank}" for rank, name in enumerate(compiled.new)}}
        row_counts = []
        for effect in compiled.effects:
            before = connection.total_changes
            connection.execute(effect, bound)
            row_counts.append(connection.total_changes - before)
        rows = connection.execute(compiled.select, bound).fetchmany(MOST_ROWS)
        row_counts.append(len(rows))
        numbers = tuple([cell for row in rows for cell in row if isinstance(cell, (int, float))])
        return CandidateOutcome(first_broken, agent_verdicts, tuple(row_counts), numbers)

    def _guard_queries(self, tool: Tool) -> tuple[list[Guard], str, list[Guard], str]:
        """The tool's guards with the query for the first broken one, and the agent's with that for all verdicts."""
        if tool.name not in self._guards:
            own = [guard for guard in tool.guards if guard.enforced_by == "tool"]
            agent = [guard for guard in tool.guards if guard.enforced_by == "agent"]
            self._guards[tool.name] = (own, _first_broken_query(own), agent, _verdict_query(agent))
        return self._guards[tool.name]

    def _rows(self, table: str) -> dict[str, Row]:
        """The rows of a table of the original database, by their keys, in order."""
        if table not in self._originals:
            entity = self.world.entity(table)
            names = [attribute.name for attribute in entity.attributes]
            found = self._original.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {entity.key}")
            rows = [dict(zip(names, cells, strict=True)) for cells in found]
            self._originals[table] = {str(row[entity.key]): row for row in rows}
        return self._originals[table]

    def _holders(self, table: str, column: str) -> dict[str, list[str]]:
        """Value of a column in the original database, as a text -> the keys of the rows that hold it."""
        if (table, column) not in self._held:
            held = self._held[table, column] = {}
            for key, row in self._rows(table).items():
                held.setdefault(str(row[column]), []).append(key)
        return self._held[table, column]

    def _edited_rows(self, edits: Sequence[RowEdit]) -> EditedRows:
        """The rows that edits change, as they are then."""
        edited: EditedRows = {}
        for edit in edits:
            rows = edited.setdefault(edit.table, {})
            if edit.row is not None:
                rows[edit.key] = dict(edit.row)
            elif edit.column is None:
                rows[edit.key] = None
            elif before := rows.get(edit.key) or self._rows(edit.table).get(edit.key):
                rows[edit.key] = {**before, edit.column: edit.value}
        return edited

    def _add_referenced(
        self, tables: Mapping[str, Entity], rows_of: dict[str, dict[str, Row]], keys: set[str], edited: EditedRows
    ) -> set[str]:
        """Add the rows of these keys, and the rows that they refer to. Returns all keys reached."""
        reached, new = set(keys), set(keys)
        for _ in range(3):
            for table in tables:
                changed, own = edited.get(table, {}), self._rows(table)
                found = [(key, row) for key in sorted(new) if (row := changed.get(key, own.get(key))) is not None]
                for key, row in found[: 2 * RELATED_PER_TABLE]:
                    rows_of[table].setdefault(key, row)
            new = set()
            for table, entity in tables.items():
                references = [attribute.name for attribute in entity.attributes if attribute.references]
                cells = [row[name] for row in rows_of[table].values() for name in references]
                new |= {str(cell) for cell in cells if cell is not None} - reached
            reached |= new
        return reached

    def _referring_rows(
        self, table: str, columns: Sequence[str], keys: set[str], edited: EditedRows
    ) -> list[tuple[str, Row]]:
        """Rows of a table in which one of these columns holds one of these keys; best match first."""
        changed = edited.get(table, {})
        matches: dict[str, int] = {}
        for column in columns:
            holders = self._holders(table, column)
            for key in [holder for value in keys & holders.keys() for holder in holders[value]]:
                matches[key] = matches.get(key, 0) + 1
        for key, row in changed.items():
            matches[key] = sum(str(row[column]) in keys for column in columns) if row else 0
        best = sorted([key for key in matches if matches[key]], key=lambda key: (-matches[key], key))
        own = self._rows(table)
        return [(key, changed.get(key) or own[key]) for key in best[:RELATED_PER_TABLE]]

    def _returned_texts(self, candidate: CandidateCall) -> set[str]:
        """Texts in the first and last rows that a read returns."""
        if candidate.tool.kind != "read":
            return set()
        try:
            with self._edited(candidate):
                bindings = self._bindings(candidate) or {}
                rows = self._connection.execute(candidate.tool.returns.select, bindings).fetchmany(MOST_ROWS)
        except (sqlite3.Error, ArgumentError):
            return set()
        return {cell for row in [*rows[:1], *rows[-1:]] for cell in row if isinstance(cell, str)}


def _first_broken_query(guards: list[Guard]) -> str:
    """The position of the first guard that does not hold, or their number. SQLite tries none behind it."""
    cases = [f"WHEN (\n{guard.holds}\n) IS NOT TRUE THEN {place}" for place, guard in enumerate(guards)]
    return f"SELECT CASE {' '.join(cases)} ELSE {len(guards)} END"


def _verdict_query(guards: list[Guard]) -> str:
    return "SELECT " + ", ".join(f"(\n{guard.holds}\n) IS TRUE" for guard in guards)
