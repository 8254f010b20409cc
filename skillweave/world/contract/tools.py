"""Problems of a blueprint's statements and tools.

SQLite prepares each statement that is not refused, and reports the tables and columns that it touches. The check of a
tool covers its bindings, writes and results, and the requirements on its kind.
"""

import sqlite3
from collections.abc import Iterator

from sqlglot import exp

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import SESSION_TOOLS, STRUCTURAL, Effect, Guard, Parameter, Tool
from skillweave.world import database
from skillweave.world.arguments import ArgumentError, bind_argument
from skillweave.world.canonical import is_new, minted_by
from skillweave.world.contract.entities import ContractProblem, duplicates, missing_key
from skillweave.world.forbidden_sql import SqlForm, refused_in, texts_of
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import ColumnLineage
from skillweave.world.prepared import LIMITS
from skillweave.world.sql import Access, authorize, parse

NOW = frozenset({"now"})
"""Bindings that every statement may use."""


class StatementPreparer:
    """Has SQLite prepare statements on the tables of one blueprint, each text once."""

    def __init__(self, blueprint: Blueprint) -> None:
        """Create the blueprint's tables, without rows."""
        self._tables = [entity.table for entity in blueprint.tables]
        self._views = [view.entity.table for view in blueprint.views]
        self._connection = database.create(blueprint)
        # With foreign keys on, SQLite would report each write as a read of the referenced table too.
        self._connection.execute("PRAGMA foreign_keys = OFF")
        for limit, value in LIMITS.items():
            self._connection.setlimit(limit, value)
        # Code that joins all guards of a tool nests them deeper than this check does.
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, LIMITS[sqlite3.SQLITE_LIMIT_EXPR_DEPTH] // 2)
        self._known: dict[str, Access] = {}

    def of(self, statement: str) -> Access:
        """The tables and columns that a statement touches. Raises WorldError if SQLite cannot prepare it."""
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
        """The tables and columns that a statement touches. Raises WorldError if SQLite cannot prepare it."""
        return self._accesses.of(guard_query(text) if form == "expression" else text)

    def judge(
        self, where: str, text: str, form: SqlForm, allowed: frozenset[str], texts: frozenset[str] = frozenset()
    ) -> Iterator[ContractProblem]:
        """Problems that prevent a statement from running.

        Args:
            where: The part of the blueprint, for the message.
            text: The SQL.
            form: The form that it must have.
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


RESERVED_BINDINGS = frozenset({"caller", "now", "person"})
"""Bindings that sessions set; no parameter may have these names."""
RESERVED_ERRORS = frozenset(
    {
        "unknown_tool",
        "invalid_arguments",
        "not_authenticated",
        "already_authenticated",
        "session_ended",
        "world_defect",
        "no_account_here",
    }
)
"""Error codes of sessions; no guard may use them."""


def tool_problems(blueprint: Blueprint, statements: StatementChecker) -> Iterator[ContractProblem]:
    """The problems of a blueprint's tools."""
    yield from duplicates("blueprint", "tool", [*(tool.name for tool in blueprint.tools), *sorted(SESSION_TOOLS)])
    yield from _shared_rules(blueprint)
    auth = [tool.name for tool in blueprint.tools if tool.kind == "auth"]
    if len(auth) != 1:
        yield ContractProblem("blueprint", f"there must be exactly one auth tool, not {len(auth)} ({', '.join(auth)})")
    for tool in blueprint.tools:
        yield from _tool(blueprint, tool, statements)


def _tool(blueprint: Blueprint, tool: Tool, statements: StatementChecker) -> Iterator[ContractProblem]:
    where = f"tool {tool.name}"
    yield from duplicates(where, "parameter", [parameter.name for parameter in tool.parameters])
    for parameter in tool.parameters:
        yield from _parameter(blueprint, where, parameter)
    yield from _examples(f"{where}, examples", tool)
    yield from _kind(where, tool)
    faults = list(_statements(where, tool, statements))
    yield from faults
    if not faults:
        yield from _unused(where, tool)
        yield from _returned(blueprint, where, tool, statements)
        yield from _new_ids(blueprint, where, tool)
        for effect in tool.effects:
            yield from _written(blueprint, f"{where}, effect {effect.rule}", effect, statements)


def _parameter(blueprint: Blueprint, where: str, parameter: Parameter) -> Iterator[ContractProblem]:
    where = f"{where}, parameter {parameter.name}"
    if parameter.name.lower() in RESERVED_BINDINGS or is_new(parameter.name.lower()):
        yield ContractProblem(where, f"the name {parameter.name!r} is bound by the engine; take another")
    if parameter.enum is not None and parameter.type != "string":
        yield ContractProblem(where, f"enum needs type string, not {parameter.type}")
    if parameter.enum is not None and not all(parameter.enum or [""]):
        # Gemini refuses a list of tools in which an enum is empty, or has an empty value.
        yield ContractProblem(where, f"enum {parameter.enum!r} must hold values, none of them empty")
    if parameter.refers_to is not None:
        yield from missing_key(blueprint, where, "refers_to", parameter.refers_to)
        if parameter.type != "string":
            yield ContractProblem(where, f"a parameter that refers to a key is a string, not {parameter.type}")


def _examples(where: str, tool: Tool) -> Iterator[ContractProblem]:
    known = {parameter.name: parameter for parameter in tool.parameters}
    if any(row.keys() != tool.examples[0].keys() for row in tool.examples):
        yield ContractProblem(where, "all rows name the same parameters")
    for name, value in (pair for row in tool.examples for pair in row.items()):
        if name not in known:
            yield ContractProblem(where, f"the tool takes no {name!r}")
        elif known[name].refers_to:
            yield ContractProblem(where, f"{name!r} names a row, whose key nobody says; leave it out")
        else:
            try:
                bind_argument(known[name], value)
            except ArgumentError as error:
                yield ContractProblem(where, str(error))


def _kind(where: str, tool: Tool) -> Iterator[ContractProblem]:
    if tool.kind == "write" and not tool.effects:
        yield ContractProblem(where, "a write tool needs effects")
    if tool.kind != "write" and tool.effects:
        yield ContractProblem(where, f"a tool of kind {tool.kind!r} has no effects; make it a write")
    if tool.kind == "auth":
        if sum(parameter.required for parameter in tool.parameters) < 2:
            yield ContractProblem(where, "signing in asks for at least two matching facts (required parameters)")
        if tool.returns.rows != "one":
            yield ContractProblem(where, "signing in returns one row")
    for guard in tool.guards:
        yield from _guard(f"{where}, guard {guard.rule}", guard)


def _guard(where: str, guard: Guard) -> Iterator[ContractProblem]:
    if guard.concern in STRUCTURAL and guard.enforced_by == "agent":
        yield ContractProblem(where, f"a rule about {guard.concern} is held by the tool, not by the agent")
    if guard.error in RESERVED_ERRORS:
        yield ContractProblem(where, f"the error code {guard.error!r} is the engine's own; take another")


def _shared_rules(blueprint: Blueprint) -> Iterator[ContractProblem]:
    says: dict[str, str] = {}
    holders: dict[str, str] = {}
    for tool in blueprint.tools:
        parts: list[Guard | Effect] = [*tool.guards, *tool.effects]
        for part in parts:
            where = f"tool {tool.name}, rule {part.rule}"
            if says.setdefault(part.rule, part.says) != part.says:
                yield ContractProblem(where, f"the rule says {part.says!r} here and {says[part.rule]!r} before")
            if isinstance(part, Guard) and holders.setdefault(part.rule, part.enforced_by) != part.enforced_by:
                yield ContractProblem(
                    where, f"the rule is held by the {part.enforced_by} here and the {holders[part.rule]} before"
                )


def _statements(where: str, tool: Tool, statements: StatementChecker) -> Iterator[ContractProblem]:
    texts = texts_of(tool)
    available = frozenset(parameter.name for parameter in tool.parameters) | {"now"}
    known = available if tool.kind == "auth" else available | {"caller"}
    for guard in tool.guards:
        yield from statements.judge(f"{where}, guard {guard.rule}", guard.holds, "expression", known, texts)
    for effect in tool.effects:
        new = _new_in(effect.sql)
        yield from statements.judge(f"{where}, effect {effect.rule}", effect.sql, "change", known | new, texts)
    select = tool.returns.select
    yield from statements.judge(f"{where}, returns", select, "query", known | _minted_before(tool), texts)


def _new_in(text: str) -> frozenset[str]:
    try:
        return frozenset(filter(is_new, parse(text).bindings))
    except WorldError:
        return frozenset()


def _minted_before(tool: Tool) -> frozenset[str]:
    return frozenset(name for effect in tool.effects for name in _new_in(effect.sql))


def _unused(where: str, tool: Tool) -> Iterator[ContractProblem]:
    texts = [*(guard.holds for guard in tool.guards), *(effect.sql for effect in tool.effects), tool.returns.select]
    used = {binding for text in texts for binding in parse(text).bindings}
    for parameter in tool.parameters:
        if parameter.name not in used:
            yield ContractProblem(f"{where}, parameter {parameter.name}", "no SQL of the tool uses it; drop it")


def _returned(blueprint: Blueprint, where: str, tool: Tool, statements: StatementChecker) -> Iterator[ContractProblem]:
    where = f"{where}, returns"
    tree = parse(tool.returns.select).tree
    columns = statements.lineage.columns(tool.returns.select)
    yield from duplicates(where, "column", columns)
    if not all(columns):
        yield ContractProblem(where, "each computed result column needs a name: `... AS name`")
    if tool.returns.rows == "many" and tree.args.get("order") is None:
        yield ContractProblem(where, "`many` needs an ORDER BY that leaves no ties")
    if tool.kind == "auth" and blueprint.core.key not in columns:
        yield ContractProblem(
            where, f"signing in must return {blueprint.core.key!r}, the key of {blueprint.core_entity!r}"
        )


def _new_ids(blueprint: Blueprint, where: str, tool: Tool) -> Iterator[ContractProblem]:
    try:
        minted_by(tool, blueprint)
    except WorldError as error:
        yield ContractProblem(where, str(error))


def _written(
    blueprint: Blueprint, where: str, effect: Effect, statements: StatementChecker
) -> Iterator[ContractProblem]:
    access = statements.access(effect.sql, "change")
    for entity in blueprint.tables:
        for name in sorted(access.updates.get(entity.table, ())):
            if entity.attribute(name).shared:
                yield ContractProblem(where, f"writes the shared attribute {entity.table}.{name}; no tool may")
            if name == entity.key:
                yield ContractProblem(where, f"changes the key {entity.table}.{name}; keys stay")
    if blueprint.core.table in access.inserts | access.deletes:
        yield ContractProblem(
            where, f"adds or removes a row of {blueprint.core.table!r}, the persons whom the server serves"
        )
    yield from _left_out(blueprint, where, effect)


def _left_out(blueprint: Blueprint, where: str, effect: Effect) -> Iterator[ContractProblem]:
    statement = parse(effect.sql)
    if not isinstance(statement.tree, exp.Insert):
        return
    entity = next(entity for entity in blueprint.tables if entity.table.lower() == (statement.target or "").lower())
    named = {column.lower() for column, _ in statement.inserted if column is not None}
    if not named:
        yield ContractProblem(where, "an INSERT names its columns")
        return
    for attribute in entity.attributes:
        if not attribute.nullable and attribute.name.lower() not in named:
            yield ContractProblem(where, f"leaves out {attribute.name!r}, which is not nullable")
