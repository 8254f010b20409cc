"""What runs: a blueprint with its database. It compiles each tool once, and opens sessions."""

import math
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from skillweave.base.digest import digest_bytes
from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, DomainRole
from skillweave.schema.call import RowChange
from skillweave.schema.contract import Policy, Tool
from skillweave.schema.entity import ColumnComparison, Entity
from skillweave.schema.record import Row
from skillweave.schema.task import Task
from skillweave.world import database
from skillweave.world.diff import RowReader, read_row, reader_of, snapshot
from skillweave.world.ids import IdCounter, counter_of
from skillweave.world.interpreter import CompiledTool, compile_tool
from skillweave.world.noise import ToolNoise
from skillweave.world.pool import DatabasePool
from skillweave.world.session import ContractSession
from skillweave.world.tools import ToolDefinition, session_tools, tool_definitions


class World:
    """A blueprint and a database, from which sessions are opened; sessions of different threads never meet."""

    def __init__(
        self,
        blueprint: Blueprint,
        state: bytes | Path | sqlite3.Connection,
        *,
        now: str,
        policy: Policy | None = None,
        most_steps: float = math.inf,
    ) -> None:
        """`now` is the clock of sessions whose task, or opener, names none. ArtifactError for a foreign database.

        `most_steps` of SQLite's virtual machine may all sessions take together.
        """
        self.blueprint = blueprint
        self.policy = policy
        self.now = now
        self._entities = {entity.table: entity for entity in blueprint.tables}
        self._readers = {entity.table: reader_of(entity) for entity in blueprint.tables}
        self._columns = {
            (one.table, column.name): column.compare for one in blueprint.tables for column in one.attributes
        }
        self._tools = {tool.name: tool for tool in blueprint.tools}
        self._compiled: dict[str, CompiledTool] = {}
        self._roles: dict[str, DomainRole] = {}
        self.content = _content(state, blueprint)
        """The database, as a file holds it."""
        self.pool = DatabasePool(self.content, blueprint, most_steps)

    def session(
        self,
        task: Task | None = None,
        *,
        caller: str | None = None,
        now: str | None = None,
        patch: Sequence[RowChange] = (),
        hidden: frozenset[str] = frozenset(),
    ) -> ContractSession:
        """A session as the task opens it, with the faults planted in it; or signed in as `caller`, or not signed in.

        WorldError where the caller is not in the data, or the clock is not of the form `YYYY-MM-DD HH:MM:SS`.
        """
        if task is not None:
            caller = task.env_variables.LOGGED_IN_USER if task.login == "session" else None
            now, patch, hidden = task.now, task.initial_state.patch, frozenset(task.tools_hidden)
        faults = ToolNoise(task.noise) if task is not None and task.noise is not None else None
        clock = self.now if now is None else now
        copy = self.pool.lend()
        return ContractSession(self, copy, caller=caller, now=clock, patch=patch, hidden=hidden, faults=faults)

    def close(self) -> None:
        """Give up what no session holds."""
        self.pool.close()

    @cached_property
    def digest(self) -> str:
        """sha256 of what sessions follow from: the database as a file holds it, and the blueprint."""
        return digest_bytes(self.content + self.blueprint.model_dump_json().encode())

    @cached_property
    def people(self) -> Entity:
        """The entity whose rows are those who call."""
        return self.blueprint.core

    @cached_property
    def callers(self) -> list[str]:
        """Keys of the people whom all of the world's domains can serve, sorted."""
        accounts = [role.account for role in self.blueprint.roles]
        rows = self._originals[self.people.table]
        return sorted(key for key, row in rows.items() if all(row[account] is not None for account in accounts))

    def role(self, tool: str) -> DomainRole:
        """What people are in the domain of a tool; KeyError if there is no such tool."""
        found = self._roles.get(tool)
        if found is None:
            found = self._roles[tool] = self.blueprint.role(tool)
        return found

    def row_of(self, caller: str, tool: str) -> Row | None:
        """A person as the domain of a tool knows them before any session; None where it does not."""
        role = self.role(tool)
        account = (self.original(self.people.table, caller) or {}).get(role.account)
        copy = self.pool.lend()
        try:
            return None if account is None else read_row(copy.connection, reader_of(role.entity), str(account))
        finally:
            self.pool.take_back(copy)

    def person_of(self, column: str, key: str) -> str | None:
        """Whose key that is before any session; `column` is where the core entity holds it. None: nobody's."""
        return self._persons[column].get(key)

    @cached_property
    def sign_ins(self) -> frozenset[str]:
        """Names of tools that sign somebody in: of no use to who is signed in already."""
        return frozenset(tool.name for tool in self.blueprint.tools if tool.kind == "auth")

    @cached_property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI tool definitions, those of the session last."""
        return tool_definitions(self.blueprint)

    @cached_property
    def session_tools(self) -> dict[str, Tool]:
        """The tools that sessions answer themselves, by name."""
        return {tool.name: tool for tool in session_tools(self.blueprint)}

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
        """The entity of a table; WorldError if there is none."""
        if table not in self._entities:
            raise WorldError(f"no table {table!r} in {self.blueprint.server!r}; there are {', '.join(self._entities)}")
        return self._entities[table]

    def reader(self, table: str) -> RowReader:
        """How the rows of a table are read; KeyError if there is none."""
        return self._readers[table]

    def comparison(self, table: str, column: str) -> ColumnComparison:
        """How scores compare a column; `exact` for what the blueprint does not know."""
        return self._columns.get((table, column), "exact")

    def original(self, table: str, key: str) -> Row | None:
        """A row of the world's database as it is before any session."""
        return self._originals[table].get(key)

    @cached_property
    def _persons(self) -> dict[str, dict[str, str]]:
        rows = self._originals[self.people.table]
        columns = [self.people.key, *(role.account for role in self.blueprint.roles)]
        return {column: {str(row[column]): key for key, row in rows.items()} for column in columns}

    @cached_property
    def _originals(self) -> dict[str, dict[str, Row]]:
        copy = self.pool.lend()
        try:
            return snapshot(copy.connection, self.blueprint)
        finally:
            self.pool.take_back(copy)

    @cached_property
    def counter(self) -> IdCounter:
        """The id counter of a session without a patch."""
        copy = self.pool.lend()
        try:
            return counter_of(copy.connection, self.blueprint)
        finally:
            self.pool.take_back(copy)


def _content(state: bytes | Path | sqlite3.Connection, blueprint: Blueprint) -> bytes:
    if isinstance(state, sqlite3.Connection):
        return database.to_bytes(state, blueprint)
    loaded = database.load(state, blueprint)
    try:
        return loaded.serialize()
    finally:
        loaded.close()
