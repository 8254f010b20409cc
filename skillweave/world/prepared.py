"""The shared part of all sessions of a world: the blueprint, compiled once, and a pool of database copies in memory.

Sessions read the prepared world and never change its rows. A copy has one borrower at a time, and stays inside one
transaction: prepared statements stay warm, and it goes from state to state by savepoints.
"""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, DomainRole
from skillweave.schema.contract import Tool
from skillweave.schema.entity import ColumnComparison, Entity
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.canonical import IdCounter, counter_of
from skillweave.world.database import create_indices, create_views, schema_of
from skillweave.world.diff import RowReader, reader_of, snapshot
from skillweave.world.interpreter import CompiledTool, compile_tool
from skillweave.world.sql import authorize
from skillweave.world.states import StateFollower, StateNode, StateTree
from skillweave.world.tools import ToolDefinition, name_of, session_tools, tool_definitions

MAX_STEPS = 20_000_000
"""Most steps of SQLite's virtual machine in one call (about a second of work)."""
KEPT_STARTS = 16
"""Databases whose original rows, which nobody changes, a process keeps for all worlds that begin with them."""
_STRIDE = 20_000
"""Steps between two checks of the count."""
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 4,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class PreparedWorld:
    """A blueprint and a database, ready for sessions. Threads may share it."""

    def __init__(
        self,
        blueprint: Blueprint,
        state: bytes | Path | sqlite3.Connection,
        *,
        most_steps: float = math.inf,
    ) -> None:
        """Copy the database and index the blueprint.

        Args:
            blueprint: The contract.
            state: The database: a file, a file's content, or a connection.
            most_steps: Steps of SQLite's virtual machine that all sessions together may take.

        Raises:
            ArtifactError: The database is not one of this blueprint.
        """
        self.blueprint = blueprint
        self._entities = {entity.table: entity for entity in blueprint.tables}
        self._readers = {entity.table: reader_of(entity) for entity in blueprint.tables}
        self._comparisons = {
            (entity.table, attribute.name): attribute.compare
            for entity in blueprint.tables
            for attribute in entity.attributes
        }
        self._tools = {tool.name: tool for tool in blueprint.tools}
        self._compiled: dict[str, CompiledTool] = {}
        self._roles: dict[str, DomainRole] = {}
        self.content = _content(state, blueprint)
        """The content of the database file."""
        self.pool = DatabasePool(self.content, blueprint, most_steps)
        self._states: StateTree | None = None

    @contextmanager
    def sharing(self, known: StateTree | None = None) -> Iterator[None]:
        """Have the sessions that are opened within it share what they find out.

        Args:
            known: What is known already, and grows; without it, all is forgotten at the end.
        """
        before = self._states
        self._states = shared = before or known or StateTree()
        try:
            yield
        finally:
            self._states = before
            if shared is not before and shared is not known:
                shared.forget()

    @property
    def states(self) -> StateTree | None:
        """What the sessions have found out, while they share it."""
        return self._states

    @cached_property
    def people(self) -> Entity:
        """The entity whose rows are the people who can call."""
        return self.blueprint.core

    @cached_property
    def person_keys(self) -> frozenset[str]:
        """The people's keys in the original database."""
        query = f"SELECT {self.people.key} FROM {self.people.table}"
        with self.pool.lent() as copy:
            return frozenset(str(key) for (key,) in copy.connection.execute(query))

    def role(self, tool: str) -> DomainRole:
        """The role of people in the domain of a tool. Raises KeyError if there is no such tool."""
        role = self._roles.get(tool)
        if role is None:
            role = self._roles[tool] = self.blueprint.role(tool)
        return role

    @cached_property
    def sign_ins(self) -> frozenset[str]:
        """Names of the tools that sign somebody in. A signed-in caller does not need them."""
        return frozenset(tool.name for tool in self.blueprint.tools if tool.kind == "auth")

    @cached_property
    def confirmed(self) -> frozenset[str]:
        """Names of the tools that write and that the policy wants the user to agree to."""
        return frozenset(tool.name for tool in self.blueprint.tools if tool.kind == "write" and tool.confirm)

    @cached_property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI tool definitions; those of the session come last."""
        return [*self.definitions.values()]

    @cached_property
    def definitions(self) -> dict[str, ToolDefinition]:
        """The same by name."""
        return {name_of(tool): tool for tool in tool_definitions(self.blueprint)}

    @cached_property
    def session_tools(self) -> dict[str, Tool]:
        """The tools that sessions answer themselves, by name."""
        return {tool.name: tool for tool in session_tools(self.blueprint)}

    def has_tool(self, name: str) -> bool:
        """Whether the blueprint has a tool of that name."""
        return name in self._tools

    def compiled(self, name: str) -> CompiledTool:
        """A tool of the blueprint, ready to run.

        Raises:
            KeyError: There is no such tool.
            WorldError: Its SQL is refused.
        """
        compiled = self._compiled.get(name)
        if compiled is None:
            compiled = self._compiled[name] = compile_tool(self._tools[name], self.blueprint, self._schema)
        return compiled

    def entity(self, table: str) -> Entity:
        """The entity of a table. Raises WorldError if there is no such table."""
        if table not in self._entities:
            raise WorldError(f"no table {table!r} in {self.blueprint.server!r}; there are {', '.join(self._entities)}")
        return self._entities[table]

    def reader(self, table: str) -> RowReader:
        """How to read the rows of a table. Raises KeyError if there is no such table."""
        return self._readers[table]

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column; `exact` for a column that the blueprint does not have."""
        return self._comparisons.get((table, column), "exact")

    def original(self, table: str, key: str) -> Row | None:
        """A row of the original database; None if there is no such row."""
        return self._originals[table].get(key)

    @cached_property
    def counter(self) -> IdCounter:
        """The id counter of a session without a patch."""
        return _first_counter(self._start)

    @cached_property
    def _schema(self) -> str:
        return schema_of(self.blueprint)

    @cached_property
    def _start(self) -> "_Start":
        return _Start(self.content, self._schema, self.blueprint)

    @cached_property
    def _originals(self) -> dict[str, dict[str, Row]]:
        return _first_rows(self._start)


@dataclass(frozen=True)
class _Start:
    """The database with which worlds of the same content begin."""

    content: bytes
    schema: str
    blueprint: Blueprint = field(compare=False)

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        with closing(database.connect()) as connection:
            connection.deserialize(self.content)
            yield connection


@lru_cache(maxsize=KEPT_STARTS)
def _first_rows(start: _Start) -> dict[str, dict[str, Row]]:
    with start.opened() as connection:
        return snapshot(connection, start.blueprint)


@lru_cache(maxsize=KEPT_STARTS)
def _first_counter(start: _Start) -> IdCounter:
    with start.opened() as connection:
        return counter_of(connection, start.blueprint)


def _content(state: bytes | Path | sqlite3.Connection, blueprint: Blueprint) -> bytes:
    if isinstance(state, sqlite3.Connection):
        return database.to_bytes(state, blueprint)
    return database.content_of(state, blueprint)


class StepMeter:
    """Counts the steps of SQLite's virtual machine in all copies of a world, except in short statements."""

    def __init__(self, most: float) -> None:
        """Start at zero. `most` is the limit; `math.inf` is none."""
        self._most = most
        self.spent = 0

    @property
    def is_spent(self) -> bool:
        """Whether the steps exceed the limit; then SQLite interrupts every long statement."""
        return self.spent > self._most


class DatabaseCopy(StateFollower):
    """One copy of a database. Its statements can use only its own tables and allowed functions, within limits."""

    def __init__(self, content: bytes, blueprint: Blueprint, meter: StepMeter) -> None:
        """Open a copy.

        Args:
            content: The database as a file holds it.
            blueprint: Its contract.
            meter: The meter of all copies, which counts the steps of this copy too.
        """
        connection = database.connect()
        connection.deserialize(content)
        super().__init__(connection, blueprint)
        create_views(self.connection, blueprint)
        create_indices(self.connection, blueprint)
        for limit, value in LIMITS.items():
            self.connection.setlimit(limit, value)
        self._meter = meter
        self.connection.set_progress_handler(self._has_run_out, _STRIDE)
        tables, views = blueprint.tables, [view.entity.table for view in blueprint.views]
        authorize(self.connection, [entity.table for entity in tables], views=views)

    def _has_run_out(self) -> bool:
        self.steps += _STRIDE
        self._meter.spent += _STRIDE
        return self.steps > MAX_STEPS or self._meter.is_spent


class DatabasePool:
    """Lends copies. Each has one borrower at a time, so sessions of different threads never share one."""

    def __init__(self, content: bytes, blueprint: Blueprint, most_steps: float = math.inf) -> None:
        """Start without copies; `lend` makes them.

        Args:
            content: The database as a file holds it.
            blueprint: Its contract.
            most_steps: Steps of SQLite's virtual machine that all copies together may take.
        """
        self.meter = StepMeter(most_steps)
        self._content = content
        self._blueprint = blueprint
        self._idle: list[DatabaseCopy] = []
        """A list's own operations are safe between threads."""

    def lend(self) -> DatabaseCopy:
        """A copy of the database in any state. The borrower gives it back with `take_back`."""
        try:
            return self._idle.pop()
        except IndexError:
            return DatabaseCopy(self._content, self._blueprint, self.meter)

    def take_back(self, copy: DatabaseCopy) -> None:
        """Take a copy back, with the changes that its borrower made."""
        self._idle.append(copy)

    @contextmanager
    def lent(self) -> Iterator[DatabaseCopy]:
        """A copy with the original rows, for the length of a `with` block."""
        copy = self.lend()
        copy.go_to(StateNode())
        try:
            yield copy
        finally:
            self.take_back(copy)

    def close(self) -> None:
        """Close the copies that nobody has borrowed."""
        while self._idle:
            self._idle.pop().connection.close()
