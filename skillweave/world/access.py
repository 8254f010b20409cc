"""What statements touch: SQLite prepares them on the blueprint's tables and tells which columns they read and write."""

import sqlite3

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.world import database
from skillweave.world.authorizer import Access, authorize
from skillweave.world.pool import LIMITS
from skillweave.world.sql import parse


class Accesses:
    """Prepares statements of one blueprint; each text once."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._tables = [entity.table for entity in blueprint.tables]
        self._views = [view.entity.table for view in blueprint.views]
        self._connection = database.create(blueprint)
        # A foreign key would add reads of the other table to each write.
        self._connection.execute("PRAGMA foreign_keys = OFF")
        for limit, value in LIMITS.items():
            self._connection.setlimit(limit, value)
        # The planner joins the guards of a tool, which nests them deeper.
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, LIMITS[sqlite3.SQLITE_LIMIT_EXPR_DEPTH] // 2)
        self._known: dict[str, Access] = {}

    def of(self, statement: str) -> Access:
        """What a statement touches. WorldError where it does not prepare."""
        if statement not in self._known:
            self._known[statement] = self._prepare(statement)
        return self._known[statement]

    def close(self) -> None:
        """Give the tables up."""
        self._connection.close()

    def _prepare(self, statement: str) -> Access:
        access = Access()
        authorize(self._connection, self._tables, access, self._views)
        try:
            self._connection.execute(f"EXPLAIN {statement}", dict.fromkeys(parse(statement).bindings)).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            reason = f"; refused: {', '.join(access.refused)}" if access.refused else ""
            raise WorldError(f"does not prepare: {error}{reason}") from error
        return access
