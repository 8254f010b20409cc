"""What runs: a blueprint with its database. It compiles tools once, and lends sessions its connections.

Each connection holds a whole copy of the state in memory. A session is one transaction on it: closing rolls it back.
"""

import sqlite3
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.change import RowChange
from skillweave.schema.entity import Comparison, Entity
from skillweave.schema.policy import Policy
from skillweave.schema.record import Row
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.authorizer import authorize
from skillweave.world.diff import log_touched, snapshot
from skillweave.world.ids import Counter, counter_of
from skillweave.world.interpreter import CompiledTool, compile_tool
from skillweave.world.session import ContractSession
from skillweave.world.tools import Definition, tool_definitions

MOST_STEPS = 20_000_000
"""Steps of SQLite's virtual machine that one call may take (seconds of work); more is a defect."""
_STRIDE = 20_000
_LIMITS = {
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


class World:
    """A blueprint and a database, from which sessions are opened; sessions of different threads never meet."""

    def __init__(
        self,
        blueprint: Blueprint,
        state: bytes | Path | sqlite3.Connection,
        *,
        now: str,
        policy: Policy | None = None,
    ) -> None:
        self.blueprint = blueprint
        self.policy = policy
        self.now = now
        self._entities = {entity.table: entity for entity in blueprint.tables}
        self._tools = {tool.name: tool for tool in blueprint.tools}
        self._compiled: dict[str, CompiledTool] = {}
        self._idle: list[sqlite3.Connection] = []
        self._steps: dict[int, list[int]] = {}
        self._lock = threading.Lock()
        if isinstance(state, sqlite3.Connection):
            self._content = database.to_bytes(state, blueprint)
        else:
            loaded = database.load(state, blueprint)
            self._content = loaded.serialize()
            loaded.close()

    def session(
        self,
        task: Task | None = None,
        *,
        caller: str | None = None,
        now: str | None = None,
        patch: Sequence[RowChange] = (),
        hidden: frozenset[str] = frozenset(),
    ) -> ContractSession:
        """A session as the task opens it; or signed in as `caller`, or not signed in."""
        if task is not None:
            caller = task.env_variables.LOGGED_IN_USER if task.login == "session" else None
            now, patch, hidden = task.now, task.initial_state.patch, frozenset(task.tools_hidden)
        connection = self._lend()
        return ContractSession(self, connection, caller=caller, now=now or self.now, patch=patch, hidden=hidden)

    @property
    def content(self) -> bytes:
        """The database, as a file holds it."""
        return self._content

    @cached_property
    def tools(self) -> list[Definition]:
        """OpenAI tool definitions, `transfer_to_human` last."""
        return tool_definitions(self.blueprint)

    def has_tool(self, name: str) -> bool:
        """Whether the blueprint has a tool of that name."""
        return name in self._tools

    def compiled(self, name: str) -> CompiledTool:
        """A tool, ready to run; WorldError if its SQL is refused."""
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = compile_tool(self._tools[name], self.blueprint)
        return found

    def entity(self, table: str) -> Entity:
        """The entity of a table; KeyError if there is none."""
        return self._entities[table]

    def comparison(self, table: str, column: str) -> Comparison:
        """How scores compare a column; `exact` for what the blueprint does not know."""
        entity = self._entities.get(table)
        matches = [attribute for attribute in entity.attributes if attribute.name == column] if entity else []
        return matches[0].compare if matches else "exact"

    def original(self, table: str, key: str) -> Row | None:
        """A row of the world's database as it is before any session."""
        return self._originals[table].get(key)

    @cached_property
    def _originals(self) -> dict[str, dict[str, Row]]:
        connection = self._lend()
        try:
            return snapshot(connection, self.blueprint)
        finally:
            self.take_back(connection)

    @cached_property
    def counter(self) -> Counter:
        """The id counter of a session without a patch."""
        connection = self._lend()
        try:
            return counter_of(connection, self.blueprint)
        finally:
            self.take_back(connection)

    def counted(self, connection: sqlite3.Connection) -> Counter:
        """The id counter behind everything that a session's state holds."""
        return counter_of(connection, self.blueprint)

    def rows(self, connection: sqlite3.Connection, table: str) -> list[Row]:
        """All rows of a table in a session's state, sorted by key."""
        if table not in self._entities:
            raise WorldError(f"no table {table!r} in {self.blueprint.server!r}; there are {', '.join(self._entities)}")
        return database.rows(connection, self._entities[table])

    def start_steps(self, connection: sqlite3.Connection) -> None:
        """Count the steps of a call from zero."""
        self._steps[id(connection)][0] = 0

    def take_back(self, connection: sqlite3.Connection) -> None:
        """Have a session's connection back; whatever it changed is undone."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        """Give up the connections that no session holds."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._steps.pop(id(connection), None)
            connection.close()

    def _lend(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = database.connect()
        connection.deserialize(self._content)
        connection.execute("PRAGMA foreign_keys = ON")
        log_touched(connection, self.blueprint)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        steps = self._steps[id(connection)] = [0]

        def has_run_out() -> bool:
            steps[0] += _STRIDE
            return steps[0] > MOST_STEPS

        connection.set_progress_handler(has_run_out, _STRIDE)
        authorize(connection, self._entities)
        return connection
