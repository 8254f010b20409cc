"""Statements of a blueprint: refused, or prepared by SQLite, which reports the tables and columns that they touch."""

import sqlite3
from collections.abc import Iterator

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.world import database
from skillweave.world.authorizer import Access, authorize
from skillweave.world.contract.entities import ContractProblem
from skillweave.world.forbidden_sql import SqlForm, refused_in
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import ColumnLineage
from skillweave.world.prepared import LIMITS
from skillweave.world.sql import parse

NOW = frozenset({"now"})
"""Bindings that every statement may use."""


class StatementPreparer:
    """Has SQLite prepare statements on the tables of one blueprint, each text once."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Create the blueprint's tables, without rows."""
        self._tables = [entity.table for entity in blueprint.tables]
        self._views = [view.entity.table for view in blueprint.views]
        self._connection = database.create(blueprint)
        # With foreign keys on, each write would also be reported as a read of the referenced table.
        self._connection.execute("PRAGMA foreign_keys = OFF")
        for limit, value in LIMITS.items():
            self._connection.setlimit(limit, value)
        # Code that joins all guards of a tool nests them deeper than here.
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, LIMITS[sqlite3.SQLITE_LIMIT_EXPR_DEPTH] // 2)
        self._known: dict[str, Access] = {}

    def of(self, statement: str) -> Access:
        """What a statement touches. Raises WorldError if SQLite cannot prepare it."""
        if statement not in self._known:
            self._known[statement] = self._prepare(statement)
        return self._known[statement]

    def close(self) -> None:
        """Close the database."""
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


class StatementChecker:
    """Finds problems of statements, and says what statements without problems touch."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Prepare to check statements of a blueprint, whose entities have no problems."""
        self.lineage = ColumnLineage(blueprint)
        self._accesses = StatementPreparer(blueprint)

    def close(self) -> None:
        """Close the database."""
        self._accesses.close()

    def access(self, text: str, form: SqlForm) -> Access:
        """What a statement touches. Raises WorldError if SQLite cannot prepare it."""
        return self._accesses.of(guard_query(text) if form == "expression" else text)

    def judge(
        self, where: str, text: str, form: SqlForm, allowed: frozenset[str], texts: frozenset[str] = frozenset()
    ) -> Iterator[ContractProblem]:
        """Problems that prevent a statement from running.

        Args:
            where: The part of the blueprint, for the message.
            text: The SQL.
            form: What it has to be.
            allowed: Bindings that it may use.
            texts: Bindings that hold text of any form.
        """
        refused = refused_in(text, form, self.lineage, texts)
        for reason in refused:
            yield ContractProblem(where, f"{reason}: {text!r}")
        if refused:
            return
        for binding in parse(text).bindings:
            if binding not in allowed:
                known = ", ".join(f":{name}" for name in sorted(allowed)) or "none"
                yield ContractProblem(where, f"unknown binding :{binding}; allowed here: {known}")
        try:
            self.access(text, form)
        except WorldError as error:
            yield ContractProblem(where, f"{error}: {text!r}")
