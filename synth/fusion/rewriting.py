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


class _Edit(NamedTuple):
    start: int
    end: int
    """Behind the last character."""
    text: str


def rewrite_tables(text: str, tables: Mapping[str, str], views: Collection[str] = ()) -> str:
    """The statement or expression over other tables: `tables` maps old names, in lower case, to new ones.

    `views` are those of the new names that are views. WorldError where a name cannot be told from its surroundings.
    """
    tree = parse(text).tree
    target = _target(tree)
    edits = [*_reads(text, tree, target, tables)]
    if target is not None and target.name.lower() in tables:
        edits += _written(text, tree, target, tables[target.name.lower()], views)
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _target(tree: exp.Expr) -> exp.Table | None:
    """The table that a statement writes."""
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete):
        return None
    found = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return found if isinstance(found, exp.Table) else None


def _reads(text: str, tree: exp.Expr, target: exp.Table | None, tables: Mapping[str, str]) -> Iterator[_Edit]:
    for node in tree.dfs():
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise WorldError("`x IN table` cannot be rewritten; write IN (SELECT ...)")
        if not isinstance(node, exp.Table) or node is target or node.name.lower() not in tables:
            continue
        if cte_of(node) is not None:
            continue
        start, end = _place(node.this, text)
        new = tables[node.name.lower()]
        yield _Edit(start, end, new if node.alias else f"{new} AS {text[start:end]}")


def _written(text: str, tree: exp.Expr, target: exp.Table, new: str, views: Collection[str]) -> Iterator[_Edit]:
    start, end = _place(target.this, text)
    called = target.name
    alias = target.args.get("alias")
    if isinstance(alias, exp.TableAlias) and new in views:
        # SQLite does not find the columns of a view that is updated under an alias.
        called = alias.name
        end = _place(alias.this, text)[1]
    elif alias is not None:
        called = ""
    yield _Edit(start, end, new)
    for column in tree.find_all(exp.Column):
        if called and column.table.lower() == called.lower() and not _is_shadowed(column, called):
            yield _Edit(*_place(column.args["table"], text), new)


def _is_shadowed(column: exp.Column, name: str) -> bool:
    """Whether the name means a source of a query around the column, and not the table that is written."""
    child: exp.Expr = column
    current = column.parent
    while current is not None:
        # What stands in FROM, or in a WITH, does not see the other sources.
        inside = isinstance(child, exp.From | exp.With) or (isinstance(child, exp.Join) and _is_within(column, child))
        if isinstance(current, exp.Select) and not inside and name.lower() in _sources(current):
            return True
        child, current = current, current.parent
    return False


def _is_within(column: exp.Column, join: exp.Join) -> bool:
    """Whether a column stands in what is joined, and not in the condition by which."""
    current: exp.Expr | None = column
    while current is not None and current is not join:
        if current is join.this:
            return True
        current = current.parent
    return False


def _sources(query: exp.Select) -> set[str]:
    start = query.args.get("from_")
    found = [start.this, *(start.this.args.get("joins") or [])] if isinstance(start, exp.From) else []
    found += query.args.get("joins") or []
    return {(one.this if isinstance(one, exp.Join) else one).alias_or_name.lower() for one in found}


def _place(identifier: exp.Expr | None, text: str) -> tuple[int, int]:
    """Where an identifier stands in the text, with its quotes."""
    meta = identifier.meta if isinstance(identifier, exp.Identifier) else {}
    if "start" not in meta:
        raise WorldError(f"a table's name has no place in the text; it cannot be rewritten: {text!r}")
    return int(meta["start"]), int(meta["end"]) + 1


E = TypeVar("E", bound=Entity)
_TOUCHING = (sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_OPENING = frozenset({"OpenRead", "OpenWrite", "ReopenIdx"})
"""Instructions whose second number is the page where a table or an index begins."""
_CONSTANTS = frozenset({"String8", "Variable"})


class ContractStatement(NamedTuple):
    """A statement of a contract."""

    where: str
    text: str
    query: str
    """What is prepared of it: a guard is an expression, and is asked in a query."""


class Compiled(NamedTuple):
    """A statement as SQLite compiles it, tables called as in its author's own domain."""

    touched: frozenset[tuple[object, ...]]
    """(action, table or function, column)."""
    code: tuple[tuple[object, ...], ...]


def prove_rewrites(blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> list[StatementRewrite]:
    """Every statement with its proof. WorldError, naming the first statement of which there is none."""
    prover = RewriteProver(blueprints, fused)
    try:
        return [prover.rewrite(member, author, place) for member, author, place in statement_pairs(blueprints, fused)]
    finally:
        prover.close()


def statement_pairs(
    blueprints: Sequence[Blueprint], fused: FusedBlueprint
) -> Iterator[tuple[FusedMember, ContractStatement, ContractStatement]]:
    """Each statement of each member, as its author wrote it and as it is in the fused world."""
    by_server = {blueprint.server: blueprint for blueprint in blueprints}
    invariants, events = iter(fused.invariants), iter(fused.events)
    for member in fused.members:
        own = by_server[member.server]
        authors = statements(own.tools, own.invariants, own.events)
        places = statements(
            [tool for tool in fused.tools if tool.server == member.server],
            [next(invariants) for _ in own.invariants],
            [next(events) for _ in own.events],
        )
        for author, place in zip(authors, places, strict=True):
            yield member, author, place


def statements(
    tools: Sequence[Tool], invariants: Sequence[Invariant], events: Sequence[Event]
) -> Iterator[ContractStatement]:
    """Every statement of these, in their order."""
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
    """Compiles statements of one fused world, and compares them with their authors'."""

    def __init__(self, blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> None:
        self._single = {
            blueprint.server: Compiler(
                blueprint, {entity.table: f"{blueprint.server}.{entity.table}" for entity in blueprint.tables}
            )
            for blueprint in blueprints
        }
        names: dict[str, str] = {}
        for member in fused.members:
            names |= {new: f"{member.server}.{old}" for old, new in member.tables.items()}
            names[member.view] = names[member.person]
        self._fused = Compiler(_with_views_as_tables(fused), names)
        # The own tables of persons with all the columns of their views: columns lie in the places of the author's.
        self._wide = Compiler(_with_views_as_tables(_widened(fused)), names)

    def close(self) -> None:
        """Give the tables up."""
        for compiler in [*self._single.values(), self._fused, self._wide]:
            compiler.close()

    def rewrite(self, member: FusedMember, author: ContractStatement, place: ContractStatement) -> StatementRewrite:
        """The statement with its proof; WorldError where there is none."""
        was, now = self._single[member.server].compiled(author.query), self._fused.compiled(place.query)
        where = f"{member.server}, {author.where}"
        if was.touched != now.touched:
            odd = ", ".join(sorted(map(str, was.touched ^ now.touched)))
            raise WorldError(f"{where}: rewritten it does not touch the same columns: {odd}; {place.text!r}")
        same = was.code == now.code
        if not same and was.code != self._wide.compiled(place.query).code:
            raise WorldError(f"{where}: rewritten it compiles to other code; {place.text!r}")
        through_view = any(table.name == member.view for table in parse(place.text).tree.find_all(exp.Table))
        return StatementRewrite(
            server=member.server,
            where=author.where,
            author=author.text,
            fused=place.text,
            proof="through the view" if through_view else "same code" if same else "same code, columns apart",
        )


class Compiler:
    """Compiles statements on the tables of one blueprint, without rows."""

    def __init__(self, blueprint: Blueprint, names: Mapping[str, str]) -> None:
        """`names` are what its tables are called in what is compiled."""
        self._names = names
        self._connection = database.create(_without_references(blueprint))
        self._pages = self._roots()
        self._touched: set[tuple[object, ...]] = set()
        self._known: dict[str, Compiled] = {}
        self._connection.set_authorizer(self._note)

    def close(self) -> None:
        """Give the tables up."""
        self._connection.close()

    def compiled(self, statement: str) -> Compiled:
        """The statement as SQLite sees it. WorldError where it does not prepare."""
        # A text is prepared once: the connection would not tell again what it touches.
        if statement not in self._known:
            self._known[statement] = self._compile(statement)
        return self._known[statement]

    def _compile(self, statement: str) -> Compiled:
        self._touched.clear()
        try:
            bindings = dict.fromkeys(parse(statement).bindings)
            code = self._connection.execute(f"EXPLAIN {statement}", bindings).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise WorldError(f"{statement!r} does not prepare: {error}") from error
        return Compiled(frozenset(self._touched), tuple(self._step(*row[1:7]) for row in code))

    def _note(self, action: int, first: str | None, second: str | None, base: str | None, source: str | None) -> int:
        # Rows that are merely counted are announced like those of a common table expression; the code tells them apart.
        if action == sqlite3.SQLITE_FUNCTION or (action in _TOUCHING and base):
            self._touched.add((action, self._names.get(first or "", first), second))
        return sqlite3.SQLITE_OK

    def _step(self, name: str, p1: int, p2: int, p3: int, p4: str | None, p5: int) -> tuple[object, ...]:
        """One instruction, pages and messages brought to tables' names; what only counts schema changes is left out."""
        if name == "Transaction":
            return name, p1, p2
        if name in _OPENING:
            return name, p1, self._pages.get(p2, p2), p3, p4, p5
        if p4 is not None and name not in _CONSTANTS:
            table, dot, column = p4.partition(".")
            p4 = self._names.get(table, table) + dot + column
        return name, p1, p2, p3, p4, p5

    def _roots(self) -> dict[int, str]:
        """The page where each table and each index of one begins -> the table's name, and which index."""
        found = {}
        query = "SELECT rootpage, type, tbl_name, name FROM sqlite_schema WHERE rootpage > 0"
        for page, kind, table, name in self._connection.execute(query):
            which = "" if kind == "table" else f" index {name.rpartition('_')[2]}"
            found[int(page)] = self._names[table] + which
        return found


def _without_references(blueprint: Blueprint) -> Blueprint:
    """The same tables without foreign keys, whose checks would read other tables in each write."""

    def freed(entities: Sequence[E]) -> list[E]:
        return [
            entity.model_copy(
                update={
                    "attributes": [attribute.model_copy(update={"references": None}) for attribute in entity.attributes]
                }
            )
            for entity in entities
        ]

    return blueprint.model_copy(
        update={"entities": freed(blueprint.entities), "relationships": freed(blueprint.relationships)}
    )


def _with_views_as_tables(fused: FusedBlueprint) -> FusedBlueprint:
    entities = [*fused.entities[1:], *(view.entity for view in fused.people)]
    return fused.model_copy(update={"entities": entities, "people": []})


def _widened(fused: FusedBlueprint) -> FusedBlueprint:
    whole = {view.own: view.entity.attributes for view in fused.people}
    entities = [
        entity.model_copy(update={"attributes": whole.get(entity.name, entity.attributes)}) for entity in fused.entities
    ]
    return fused.model_copy(update={"entities": entities})
