"""Adaptation: a service's contract carried over to the entities that earlier steps have left.

The entities of the question decide, not the catalogue's: a renamed entity is followed, and what speaks of a missing
table or column is left out, down to the tool whose effects cannot be had any more. Whether a statement still makes
sense is asked of SQLite, by preparing it on the entities at hand.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sqlglot
from sqlglot import TokenType, exp

from skillweave.schema.contract import Event, Invariant, Parameter, Tool
from skillweave.schema.entity import Entity
from skillweave.schema.names import table_of
from synth.planner.slots import bindings

SIMILAR = 0.6
"""Share of attribute names that makes an unknown entity a renamed one."""


@dataclass(frozen=True)
class Ground:
    """The entities at hand, as tables, and the names by which the catalogue knows them."""

    tables: tuple[Entity, ...]
    renamed: dict[str, str]
    """Catalogue's entity name -> the name at hand, where they differ."""

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        for entity in self.tables:
            connection.execute(f"CREATE TABLE {entity.table} ({', '.join(a.name for a in entity.attributes)})")
        return connection

    def supports(self, sql: str) -> bool:
        """Whether a statement prepares on the tables at hand."""
        try:
            self._connection.execute(f"EXPLAIN {sql}", dict.fromkeys(bindings(sql)))
        except sqlite3.Error:
            return False
        return True

    def named(self, sql: str) -> str:
        """A statement with the tables of renamed entities called by their new names."""
        changes = {table_of(old): table_of(new) for old, new in self.renamed.items()}
        tokens = sqlglot.tokenize(sql, dialect="sqlite")
        for place in range(len(tokens) - 1, -1, -1):
            token = tokens[place]
            bound = place > 0 and tokens[place - 1].token_type in (TokenType.COLON, TokenType.DOT)
            if token.token_type is not TokenType.STRING and token.text in changes and not bound:
                sql = sql[: token.start] + changes[token.text] + sql[token.end + 1 :]
        return sql

    def reference(self, reference: str | None) -> str | None:
        """`Entity.attribute` by the names at hand; None where there is no such thing."""
        if reference is None:
            return None
        old, _, attribute = reference.partition(".")
        name = self.renamed.get(old, old)
        for entity in self.tables:
            if entity.name == name and any(a.name == attribute for a in entity.attributes):
                return f"{name}.{attribute}"
        return None


def ground(known: Sequence[Entity], given: Sequence[Entity]) -> Ground:
    """Match the catalogue's entities with those at hand: by name, else by what they have in common."""
    names = {entity.name for entity in given}
    free = [entity for entity in given if entity.name not in {entity.name for entity in known}]
    renamed = {}
    for entity in known:
        if entity.name not in names and free:
            best = max(free, key=lambda other: _likeness(entity, other))
            if _likeness(entity, best) >= SIMILAR:
                renamed[entity.name] = best.name
                free.remove(best)
    return Ground(tuple(given), renamed)


def carried_relationship(entity: Entity, on: Ground) -> Entity:
    """A relationship without references to what is not there any more."""
    there = {table.name for table in on.tables}
    kept = []
    for attribute in entity.attributes:
        target = (attribute.references or "").partition(".")[0]
        name = on.renamed.get(target, target)
        if not attribute.references or name in there:
            references = f"{name}.{attribute.references.partition('.')[2]}" if attribute.references else None
            kept.append(attribute.model_copy(update={"references": references}))
    return entity.model_copy(update={"attributes": kept})


def carried_tool(tool: Tool, on: Ground) -> Tool | None:
    """A tool on the entities at hand; None where its effects or its result cannot be had there."""
    effects = [effect.model_copy(update={"sql": on.named(effect.sql)}) for effect in tool.effects]
    if not all(on.supports(effect.sql) for effect in effects):
        return None
    select = _carried_select(on.named(tool.returns.select), on)
    if select is None:
        return None
    guards = [guard.model_copy(update={"holds": on.named(guard.holds)}) for guard in tool.guards]
    guards = [guard for guard in guards if on.supports(f"SELECT (\n{guard.holds}\n)")]
    used = bindings(select).union(*(bindings(e.sql) for e in effects), *(bindings(g.holds) for g in guards))
    parameters = [carried for p in tool.parameters if p.name in used and (carried := _carried_parameter(p, on))]
    if used & {p.name for p in tool.parameters} - {p.name for p in parameters}:
        return None
    returns = tool.returns.model_copy(update={"select": select})
    return tool.model_copy(update={"effects": effects, "guards": guards, "returns": returns, "parameters": parameters})


def carried_invariants(invariants: Sequence[Invariant], on: Ground) -> list[Invariant]:
    """The invariants that still speak of something."""
    named = [invariant.model_copy(update={"never": on.named(invariant.never)}) for invariant in invariants]
    return [invariant for invariant in named if on.supports(invariant.never)]


def carried_events(events: Sequence[Event], on: Ground) -> list[Event]:
    """The events that can still happen."""
    named = [
        event.model_copy(update={"pick": on.named(event.pick), "effects": [on.named(sql) for sql in event.effects]})
        for event in events
    ]
    return [event for event in named if all(on.supports(sql) for sql in [event.pick, *event.effects])]


def _carried_parameter(parameter: Parameter, on: Ground) -> Parameter | None:
    reference = on.reference(parameter.refers_to)
    if parameter.refers_to and reference is None:
        return None
    return parameter.model_copy(update={"refers_to": reference})


def _carried_select(select: str, on: Ground) -> str | None:
    """A SELECT without the result columns that cannot be had; None where nothing sensible is left."""
    if on.supports(select):
        return select
    tree = sqlglot.parse_one(select, dialect="sqlite")
    if not isinstance(tree, exp.Select):
        return None
    kept = [p for p in tree.expressions if on.supports(tree.copy().select(p, append=False).sql("sqlite"))]
    left = tree.copy().select(*kept, append=False).sql("sqlite") if kept else ""
    return left if left and on.supports(left) else None


def _likeness(one: Entity, other: Entity) -> float:
    first, second = ({a.name for a in entity.attributes} for entity in (one, other))
    return len(first & second) / len(first | second)
