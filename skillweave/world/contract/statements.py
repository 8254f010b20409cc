"""Statements of a blueprint: refused, or prepared by SQLite, which then tells which tables and columns they touch."""

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
from skillweave.world.pool import LIMITS
from skillweave.world.sql import parse


class StatementPreparer:
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


NOW = frozenset({"now"})
"""What every statement may bind."""


class StatementChecker:
    """Judges statements, and tells what lawful ones touch."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.lineage = ColumnLineage(blueprint)
        self._accesses = StatementPreparer(blueprint)

    def close(self) -> None:
        """Give the tables up."""
        self._accesses.close()

    def access(self, text: str, form: SqlForm) -> Access:
        """What a lawful statement touches."""
        return self._accesses.of(guard_query(text) if form == "expression" else text)

    def judge(
        self, where: str, text: str, form: SqlForm, allowed: frozenset[str], texts: frozenset[str] = frozenset()
    ) -> Iterator[ContractProblem]:
        """Why a statement cannot be run; `allowed` are its bindings, `texts` those that hold free text."""
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
