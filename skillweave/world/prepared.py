"""What all sessions of one world share: the blueprint with its database, indexed and compiled once.

Sessions read from it and never change it. It does not know sessions; `World` opens them.
"""

import math
import sqlite3
from functools import cached_property
from pathlib import Path

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, DomainRole
from skillweave.schema.contract import Tool
from skillweave.schema.entity import ColumnComparison, Entity
from skillweave.schema.record import Row
from skillweave.world import database
from skillweave.world.diff import RowReader, reader_of, snapshot
from skillweave.world.ids import IdCounter, counter_of
from skillweave.world.interpreter import CompiledTool, compile_tool
from skillweave.world.pool import DatabasePool
from skillweave.world.tools import ToolDefinition, session_tools, tool_definitions


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
        """The database, as a file holds it."""
        self.pool = DatabasePool(self.content, blueprint, most_steps)

    @cached_property
    def people(self) -> Entity:
        """The entity whose rows are the people who can call."""
        return self.blueprint.core

    def role(self, tool: str) -> DomainRole:
        """What people are in the domain of a tool. Raises KeyError if there is no such tool."""
        role = self._roles.get(tool)
        if role is None:
            role = self._roles[tool] = self.blueprint.role(tool)
        return role

    @cached_property
    def sign_ins(self) -> frozenset[str]:
        """Names of the tools that sign somebody in. A caller who is signed in has no use for them."""
        return frozenset(tool.name for tool in self.blueprint.tools if tool.kind == "auth")

    @cached_property
    def tools(self) -> list[ToolDefinition]:
        """OpenAI tool definitions; those of the session come last."""
        return tool_definitions(self.blueprint)

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
            compiled = self._compiled[name] = compile_tool(self._tools[name], self.blueprint)
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
        """A row of the database as it is before any session; None if there is no such row."""
        return self._originals[table].get(key)

    @cached_property
    def counter(self) -> IdCounter:
        """The id counter of a session without a patch."""
        with self.pool.lent() as copy:
            return counter_of(copy.connection, self.blueprint)

    @cached_property
    def _originals(self) -> dict[str, dict[str, Row]]:
        with self.pool.lent() as copy:
            return snapshot(copy.connection, self.blueprint)


def _content(state: bytes | Path | sqlite3.Connection, blueprint: Blueprint) -> bytes:
    if isinstance(state, sqlite3.Connection):
        return database.to_bytes(state, blueprint)
    loaded = database.load(state, blueprint)
    try:
        return loaded.serialize()
    finally:
        loaded.close()
