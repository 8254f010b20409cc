"""The proof, without data, that each statement of a fused world means what its author's statement means.

Both are compiled, the author's on the tables of its own domain. They must touch the same columns in the same ways,
names mapped back, and be the same byte code on the same tables: equal code on equal tables is equal meaning. Where a
statement touches what persons share, their view stands as a table of its columns here: that is what it is to it.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from sqlglot import exp

from skillweave.errors import WorldError
from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Event, Invariant, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.fused import FusedBlueprint, Member
from skillweave.schema.fusion import Rewrite
from skillweave.world import database
from skillweave.world.interpreter import guard_query
from skillweave.world.sql import parse

E = TypeVar("E", bound=Entity)
_TOUCHING = (sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_OPENING = frozenset({"OpenRead", "OpenWrite", "ReopenIdx"})
"""Instructions whose second number is the page where a table or an index begins."""
_CONSTANTS = frozenset({"String8", "Variable"})


class Place(NamedTuple):
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


def proven(blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> list[Rewrite]:
    """Every statement with its proof. WorldError, naming the first statement of which there is none."""
    prover = Prover(blueprints, fused)
    try:
        return [prover.rewrite(member, author, place) for member, author, place in pairs(blueprints, fused)]
    finally:
        prover.close()


def pairs(blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> Iterator[tuple[Member, Place, Place]]:
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


def statements(tools: Sequence[Tool], invariants: Sequence[Invariant], events: Sequence[Event]) -> Iterator[Place]:
    """Every statement of these, in their order."""
    for tool in tools:
        for guard in tool.guards:
            yield Place(f"{tool.name} guard {guard.rule}", guard.holds, guard_query(guard.holds))
        for number, effect in enumerate(tool.effects, start=1):
            yield Place(f"{tool.name} effect {number}", effect.sql, effect.sql)
        yield Place(f"{tool.name} returns", tool.returns.select, tool.returns.select)
    for invariant in invariants:
        yield Place(f"invariant {invariant.id}", invariant.never, invariant.never)
    for event in events:
        yield Place(f"event {event.name} pick", event.pick, event.pick)
        for number, sql in enumerate(event.effects, start=1):
            yield Place(f"event {event.name} {number}", sql, sql)


class Prover:
    """Compiles statements of one fused world, and compares them with their authors'."""

    def __init__(self, blueprints: Sequence[Blueprint], fused: FusedBlueprint) -> None:
        self._single = {
            one.server: Compiler(one, {entity.table: f"{one.server}.{entity.table}" for entity in one.tables})
            for one in blueprints
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

    def rewrite(self, member: Member, author: Place, place: Place) -> Rewrite:
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
        return Rewrite(
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
            one.model_copy(update={"attributes": [a.model_copy(update={"references": None}) for a in one.attributes]})
            for one in entities
        ]

    return blueprint.model_copy(
        update={"entities": freed(blueprint.entities), "relationships": freed(blueprint.relationships)}
    )


def _with_views_as_tables(fused: FusedBlueprint) -> FusedBlueprint:
    entities = [*fused.entities[1:], *(view.entity for view in fused.people)]
    return fused.model_copy(update={"entities": entities, "people": []})


def _widened(fused: FusedBlueprint) -> FusedBlueprint:
    whole = {view.own: view.entity.attributes for view in fused.people}
    entities = [one.model_copy(update={"attributes": whole.get(one.name, one.attributes)}) for one in fused.entities]
    return fused.model_copy(update={"entities": entities})
