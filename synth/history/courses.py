"""Courses of rows: which tools make a row, which carry it on, and which end or change what somebody has made.

Read off the contract: a state is a column with a list of values, and a step is a tool that sets it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.world.sql import parse
from synth.graph.columns import subject
from synth.history.generation import has_rows
from synth.planner.slots import bindings, table_of

Kind = Literal["goes on", "undoes", "ends", "changes", "adds", "settles"]


@dataclass(frozen=True)
class Part:
    """What a write tool does in the course of rows."""

    kind: Kind = "goes on"
    """`undoes`: it ends a row that other tools would carry on; `ends`: it ends one that nothing carries on; `changes`:
    it changes a row that goes on; `adds`: it makes another row for one that stays as it is; `settles`: it changes what
    is on record of the caller; `goes on`: all else."""
    makers: tuple[str, ...] = ()
    """The tools that make the rows which it ends, changes or adds to."""


def parts(blueprint: Blueprint) -> dict[str, Part]:
    """The part of each write tool."""
    return _Courses(blueprint).parts()


class _Courses:
    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self._makes = {tool.name: self._made_by(tool) for tool in self._writes}

    def parts(self) -> dict[str, Part]:
        return {tool.name: self._part(tool) for tool in self._writes}

    def _part(self, tool: Tool) -> Part:
        made = self._makes[tool.name]
        for entity in self._about(tool):
            makers = self._makers(entity)
            if made or not makers:
                continue
            if self._ends(tool, entity):
                carried = any(self._makes[other.name] for other in self._onward(entity))
                return Part("undoes" if carried else "ends", makers)
            if not self._sets(tool, entity):
                return Part("changes", makers)
        if self._settles(tool):
            return Part("settles")
        named = [self._blueprint.target(one.refers_to)[0] for one in tool.parameters if one.refers_to and one.required]
        about = [entity.name for entity in self._about(tool)]
        rows = [one for one in named if self._makers(one) and one.name not in about and not has_rows(one)]
        return Part("adds", self._makers(rows[0])) if made and rows else Part()

    def _makers(self, entity: Entity) -> tuple[str, ...]:
        return tuple(name for name, made in self._makes.items() if made == entity.name)

    def _made_by(self, tool: Tool) -> str | None:
        """The entity whose rows a tool is there to make: one that it inserts, and its result is about."""
        made = {parse(e.sql).target for e in tool.effects if isinstance(parse(e.sql).tree, exp.Insert)}
        about = subject(self._blueprint, tool)
        return about if about and self._blueprint.entity(about).table in made else None

    def _about(self, tool: Tool) -> Iterator[Entity]:
        """The entities of which a tool writes a row that it is given the key of, or the caller's where it is given
        none."""
        named = {(parameter.refers_to or "").partition(".")[0] for parameter in tool.parameters if parameter.refers_to}
        written = {parse(effect.sql).target for effect in tool.effects if not _is_insert(effect.sql)}
        for entity in self._blueprint.tables:
            if (
                entity.table in written
                and entity.name != self._blueprint.core_entity
                and (entity.name in named or not named)
            ):
                yield entity

    def _onward(self, entity: Entity) -> list[Tool]:
        return [tool for tool in self._writes if entity in self._about(tool)]

    def _sets(self, tool: Tool, entity: Entity) -> set[str]:
        """The states to which a tool brings rows; `DELETE` where it removes them."""
        found: set[str] = set()
        for tree in (parse(effect.sql).tree for effect in tool.effects if parse(effect.sql).target == entity.table):
            if isinstance(tree, exp.Delete):
                found.add("DELETE")
            for change in tree.expressions if isinstance(tree, exp.Update) else ():
                states = _states(entity, change.left.name) if isinstance(change, exp.EQ) else set()
                found |= states & {*_texts(change.right)} if states else set()
        return found

    def _ends(self, tool: Tool, entity: Entity) -> bool:
        """Whether a tool brings a row as it was made to a state in which no tool that is given its key takes it."""
        states = self._sets(tool, entity)
        asked = self._asked(tool, entity)
        made = {text for maker in self._writes for text in self._made_in(maker, entity)}
        if not states or (asked and made and not asked & made):
            return False
        return not any(states & self._asked(other, entity) for other in self._onward(entity) if other is not tool)

    def _made_in(self, maker: Tool, entity: Entity) -> Iterator[str]:
        for statement in (parse(effect.sql) for effect in maker.effects):
            if statement.target == entity.table:
                for column, value in statement.inserted:
                    yield from _states(entity, column or "") & {*_texts(value)}

    def _asked(self, tool: Tool, entity: Entity) -> set[str]:
        """The states of the row that it is given the key of which a tool's guards ask for."""
        keys = {one.name for one in tool.parameters if (one.refers_to or "").partition(".")[0] == entity.name}
        found: set[str] = set()
        for guard in tool.guards:
            if keys and keys.isdisjoint(bindings(guard.holds)):
                continue
            for test in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.EQ, exp.In):
                if not isinstance(test.parent, exp.Not):
                    columns = (column for column in test.find_all(exp.Column) if table_of(column) == entity.table)
                    found |= set().union(*(_states(entity, column.name) for column in columns)) & {*_texts(test)}
        return found

    def _settles(self, tool: Tool) -> bool:
        """Whether a tool writes what it is told into the record of the caller."""
        return any(
            isinstance(change, exp.EQ) and isinstance(change.right.unnest(), exp.Placeholder)
            for tree in (parse(effect.sql).tree for effect in tool.effects)
            if isinstance(tree, exp.Update) and tree.this.name == self._blueprint.core.table
            for change in tree.expressions
        )


def _states(entity: Entity, column: str) -> set[str]:
    return {text for one in entity.attributes if one.name == column for text in one.enum or ()}


def _texts(tree: exp.Expr) -> Iterator[str]:
    return (str(literal.this) for literal in tree.find_all(exp.Literal) if literal.is_string)


def _is_insert(sql: str) -> bool:
    return isinstance(parse(sql).tree, exp.Insert)
