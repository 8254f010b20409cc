"""Contract SQL rewritten to a fused world's tables, and the proof, without data, that it means the same.

Edits are made at identifiers' positions; the author's text is otherwise untouched. Both statements are then
compiled: they must touch the same columns, names mapped back, and be the same byte code on the same tables.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlglot import exp

from skillweave.base.errors import WorldError
from skillweave.schema.blueprint import Blueprint, FusedBlueprint, FusedMember
from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.fusion import StatementRewrite
from skillweave.world import database
from skillweave.world.interpreter import guard_query
from skillweave.world.lineage import cte_of
from skillweave.world.sql import parse
from synth.servers.sql_text import TextEdit, edited


def rewrite_tables(text: str, tables: Mapping[str, str], views: Collection[str] = ()) -> str:
    """The statement or expression over other tables.

    A table that is read keeps its old name as an alias, so that qualified columns still find it. A table that is
    written gets no alias, because SQLite does not accept one everywhere; there the qualified columns are renamed.

    Args:
        text: The author's SQL.
        tables: Old name, in lower case -> new name.
        views: The new names that are views.

    Raises:
        WorldError: A name's place in the text is not known, or the statement has a form that cannot be rewritten.
    """
    tree = parse(text).tree
    target = _written_table(tree)
    edits = [*_read_edits(text, tree, target, tables)]
    if target is not None and target.name.lower() in tables:
        edits += _write_edits(text, tree, target, tables[target.name.lower()], views)
    return edited(text, edits)


def _written_table(tree: exp.Expr) -> exp.Table | None:
    """The table that a statement writes."""
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete):
        return None
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return table if isinstance(table, exp.Table) else None


def _read_edits(text: str, tree: exp.Expr, target: exp.Table | None, tables: Mapping[str, str]) -> Iterator[TextEdit]:
    for node in tree.dfs():
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise WorldError("`x IN table` cannot be rewritten; write IN (SELECT ...)")
        if not isinstance(node, exp.Table) or node is target or node.name.lower() not in tables:
            continue
        if cte_of(node) is not None:
            continue
        start, end = _position(node.this, text)
        new = tables[node.name.lower()]
        yield TextEdit(start, end, new if node.alias else f"{new} AS {text[start:end]}")


def _write_edits(text: str, tree: exp.Expr, target: exp.Table, new: str, views: Collection[str]) -> Iterator[TextEdit]:
    start, end = _position(target.this, text)
    qualifier = target.name
    alias = target.args.get("alias")
    if isinstance(alias, exp.TableAlias) and new in views:
        # SQLite does not find the columns of a view that is updated under an alias.
        qualifier = alias.name
        end = _position(alias.this, text)[1]
    elif alias is not None:
        qualifier = ""
    yield TextEdit(start, end, new)
    for column in tree.find_all(exp.Column):
        if qualifier and column.table.lower() == qualifier.lower() and not _is_shadowed(column, qualifier):
            yield TextEdit(*_position(column.args["table"], text), new)


def _is_shadowed(column: exp.Column, name: str) -> bool:
    """Whether the name means a source of a query around the column, not the table that is written."""
    child: exp.Expr = column
    current = column.parent
    while current is not None:
        # A subquery in FROM or WITH does not see the query's other sources.
        inside = isinstance(child, exp.From | exp.With) or (isinstance(child, exp.Join) and _is_within(column, child))
        if isinstance(current, exp.Select) and not inside and name.lower() in _sources(current):
            return True
        child, current = current, current.parent
    return False


def _is_within(column: exp.Column, join: exp.Join) -> bool:
    """Whether a column stands in the source that is joined, not in the join's condition."""
    current: exp.Expr | None = column
    while current is not None and current is not join:
        if current is join.this:
            return True
        current = current.parent
    return False


def _sources(query: exp.Select) -> set[str]:
    start = query.args.get("from_")
    joined = [start.this, *(start.this.args.get("joins") or [])] if isinstance(start, exp.From) else []
    joined += query.args.get("joins") or []
    return {(source.this if isinstance(source, exp.Join) else source).alias_or_name.lower() for source in joined}


def _position(identifier: exp.Expr | None, text: str) -> tuple[int, int]:
    """Where an identifier stands in the text, with its quotes: (start, end)."""
    meta = identifier.meta if isinstance(identifier, exp.Identifier) else {}
    if "start" not in meta:
        raise WorldError(f"a table's name has no place in the text; it cannot be rewritten: {text!r}")
    return int(meta["start"]), int(meta["end"]) + 1


EntityT = TypeVar("EntityT", bound=Entity)
_TOUCHING = (sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_OPENING_INSTRUCTIONS = frozenset({"OpenRead", "OpenWrite", "ReopenIdx"})
"""Instructions whose second operand is the page where a table or an index begins."""
_CONSTANTS = frozenset({"String8", "Variable"})
"""Instructions whose fourth operand is the author's text."""


class ContractStatement(NamedTuple):
    """A statement or condition of a contract."""

    where: str
    """The statement's place in the contract: `renew_loan guard R4`."""
    text: str
    query: str
    """The compiled SQL: the query that evaluates a condition, or the statement itself."""


class CompiledStatement(NamedTuple):
    """A statement as SQLite compiles it, with tables named as in their own domain."""

    touched: frozenset[tuple[object, ...]]
    """Its accesses: (action, table or function, column)."""
    code: tuple[tuple[object, ...], ...]
    """Its byte code, one instruction each."""


def prove_rewrites(blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> list[StatementRewrite]:
    """Prove that every statement of a fused contract means what its author's statement means.

    Args:
        blueprints: The contracts of the domains.
        fused: The fused contract.

    Returns:
        A record for each statement, with its proof.

    Raises:
        WorldError: There is no proof for a statement, which is named.
    """
    prover = RewriteProver(blueprints, fused)
    try:
        return [
            prover.rewrite(member, author, statement)
            for member, author, statement in statement_pairs(blueprints, fused)
        ]
    finally:
        prover.close()


def statement_pairs(
    blueprints: Sequence[Blueprint], fused: FusedBlueprint
) -> Iterator[tuple[FusedMember, ContractStatement, ContractStatement]]:
    """Each statement of each domain, as its author wrote it and as it is in the fused contract."""
    by_server = {blueprint.server: blueprint for blueprint in blueprints}
    invariants, events = iter(fused.invariants), iter(fused.events)
    for member in fused.members:
        blueprint = by_server[member.server]
        author_statements = contract_statements(blueprint.tools, blueprint.invariants, blueprint.events)
        fused_statements = contract_statements(
            [tool for tool in fused.tools if tool.server == member.server],
            [next(invariants) for _ in blueprint.invariants],
            [next(events) for _ in blueprint.events],
        )
        for author_statement, fused_statement in zip(author_statements, fused_statements, strict=True):
            yield member, author_statement, fused_statement


def contract_statements(
    tools: Sequence[Tool], invariants: Sequence[Invariant], events: Sequence[Event]
) -> Iterator[ContractStatement]:
    """All statements of these parts of a contract, in order."""
    for tool in tools:
        for guard in tool.guards:
            yield ContractStatement(f"{tool.name} guard {guard.rule}", guard.holds, guard_query(guard.holds))
        for number, effect in enumerate(tool.effects, start=1):
            yield ContractStatement(f"{tool.name} effect {number}", effect.sql, effect.sql)
        yield ContractStatement(f"{tool.name} returns", tool.returns.select, tool.returns.select)
    for invariant in invariants:
        yield ContractStatement(f"invariant {invariant.id}", invariant.never, invariant.never)
    for event in events:
        yield ContractStatement(f"event {event.name} pick", event.pick, event.pick)
        for number, sql in enumerate(event.effects, start=1):
            yield ContractStatement(f"event {event.name} {number}", sql, sql)


class RewriteProver:
    """Compares the statements of one fused contract with their authors' statements."""

    def __init__(self, blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> None:
        self._single = {
            blueprint.server: StatementCompiler(
                blueprint, {entity.table: f"{blueprint.server}.{entity.table}" for entity in blueprint.tables}
            )
            for blueprint in blueprints
        }
        names: dict[str, str] = {}
        for member in fused.members:
            names |= {new: f"{member.server}.{old}" for old, new in member.tables.items()}
            names[member.view] = names[member.person]
        self._fused = StatementCompiler(_with_views_as_tables(fused), names)
        # Adding the shared columns to persons' own tables gives columns the same positions as in the author's tables.
        self._wide = StatementCompiler(_with_views_as_tables(_with_wide_persons(fused)), names)

    def close(self) -> None:
        """Close the tables."""
        for compiler in [*self._single.values(), self._fused, self._wide]:
            compiler.close()

    def rewrite(self, member: FusedMember, author: ContractStatement, statement: ContractStatement) -> StatementRewrite:
        """The record of one statement with its proof. WorldError if there is none."""
        before, after = self._single[member.server].compiled(author.query), self._fused.compiled(statement.query)
        where = f"{member.server}, {author.where}"
        if before.touched != after.touched:
            differences = ", ".join(sorted(map(str, before.touched ^ after.touched)))
            raise WorldError(
                f"{where}: rewritten it does not touch the same columns: {differences}; {statement.text!r}"
            )
        is_same_code = before.code == after.code
        if not is_same_code and before.code != self._wide.compiled(statement.query).code:
            raise WorldError(f"{where}: rewritten it compiles to other code; {statement.text!r}")
        through_view = any(table.name == member.view for table in parse(statement.text).tree.find_all(exp.Table))
        return StatementRewrite(
            server=member.server,
            where=author.where,
            author=author.text,
            fused=statement.text,
            proof="through the view" if through_view else "same code" if is_same_code else "same code, columns apart",
        )


class StatementCompiler:
    """Compiles statements on the tables of one blueprint, without rows."""

    def __init__(self, blueprint: Blueprint, names: Mapping[str, str]) -> None:
        """`names`: table -> its name in the compiled statements."""
        self._names = names
        self._connection = database.create(_without_references(blueprint))
        self._pages = self._root_pages()
        self._touched: set[tuple[object, ...]] = set()
        self._cache: dict[str, CompiledStatement] = {}
        self._connection.set_authorizer(self._note)

    def close(self) -> None:
        """Close the tables."""
        self._connection.close()

    def compiled(self, statement: str) -> CompiledStatement:
        """A statement as SQLite compiles it. WorldError if it does not prepare."""
        # Each text is compiled once: SQLite does not report again what it touches.
        if statement not in self._cache:
            self._cache[statement] = self._compile(statement)
        return self._cache[statement]

    def _compile(self, statement: str) -> CompiledStatement:
        self._touched.clear()
        try:
            bindings = dict.fromkeys(parse(statement).bindings)
            code = self._connection.execute(f"EXPLAIN {statement}", bindings).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise WorldError(f"{statement!r} does not prepare: {error}") from error
        return CompiledStatement(frozenset(self._touched), tuple(self._instruction(*row[1:7]) for row in code))

    def _note(self, action: int, first: str | None, second: str | None, base: str | None, source: str | None) -> int:
        # Without a database name, SQLite reports a counted table like a common table expression; the code differs.
        if action == sqlite3.SQLITE_FUNCTION or (action in _TOUCHING and base):
            self._touched.add((action, self._names.get(first or "", first), second))
        return sqlite3.SQLITE_OK

    def _instruction(self, name: str, p1: int, p2: int, p3: int, p4: str | None, p5: int) -> tuple[object, ...]:
        """One instruction with pages and messages replaced by tables' names, without the counter of schema changes."""
        if name == "Transaction":
            return name, p1, p2
        if name in _OPENING_INSTRUCTIONS:
            return name, p1, self._pages.get(p2, p2), p3, p4, p5
        if p4 is not None and name not in _CONSTANTS:
            table, dot, column = p4.partition(".")
            p4 = self._names.get(table, table) + dot + column
        return name, p1, p2, p3, p4, p5

    def _root_pages(self) -> dict[int, str]:
        """The page where a table or an index begins -> the table's name, and which index."""
        names_by_page = {}
        query = "SELECT rootpage, type, tbl_name, name FROM sqlite_schema WHERE rootpage > 0"
        for page, kind, table, name in self._connection.execute(query):
            suffix = "" if kind == "table" else f" index {name.rpartition('_')[2]}"
            names_by_page[int(page)] = self._names[table] + suffix
        return names_by_page


def _without_references(blueprint: Blueprint) -> Blueprint:
    """The same tables without foreign keys, whose checks would read other tables in each write."""

    def without_keys(entities: Sequence[EntityT]) -> list[EntityT]:
        return [
            entity.model_copy(
                update={
                    "attributes": [attribute.model_copy(update={"references": None}) for attribute in entity.attributes]
                }
            )
            for entity in entities
        ]

    return blueprint.model_copy(
        update={"entities": without_keys(blueprint.entities), "relationships": without_keys(blueprint.relationships)}
    )


def _with_views_as_tables(fused: FusedBlueprint) -> FusedBlueprint:
    entities = [*fused.entities[1:], *(view.entity for view in fused.people)]
    return fused.model_copy(update={"entities": entities, "people": []})


def _with_wide_persons(fused: FusedBlueprint) -> FusedBlueprint:
    whole = {view.own: view.entity.attributes for view in fused.people}
    entities = [
        entity.model_copy(update={"attributes": whole.get(entity.name, entity.attributes)}) for entity in fused.entities
    ]
    return fused.model_copy(update={"entities": entities})
