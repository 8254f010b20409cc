"""The roles of write tools: what each does to the rows that people made, read off the contract.

A state is a column with a list of values, and a tool that sets it moves the row on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.world.sql import parse
from synth.contracts.visibility import entity_made
from synth.search.slots import bound_names, table_of_column
from synth.simulation.generation import has_rows

RoleKind = Literal["continues", "cancels", "ends", "changes", "adds", "updates_caller"]


@dataclass(frozen=True)
class ToolRole:
    """What a write tool does to the rows that people made."""

    kind: RoleKind = "continues"
    """`cancels`: it ends a row that other tools would continue. `ends`: it ends a row that no other tool continues.
    `changes`: it changes a row that stays open. `adds`: it makes another row for one that stays as it is.
    `updates_caller`: it changes what is on record of the caller. `continues`: everything else."""
    makers: tuple[str, ...] = ()
    """The tools that make the rows that it ends, changes or adds to."""


def tool_roles(blueprint: Blueprint) -> dict[str, ToolRole]:
    """Write tool -> its role, read off the contract."""
    return _RoleReader(blueprint).roles()


class _RoleReader:
    """Reads the roles of one blueprint's write tools off their SQL."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._writes = [tool for tool in blueprint.tools if tool.kind == "write"]
        self._made_by_tool = {tool.name: entity_made(self._blueprint, tool) for tool in self._writes}

    def roles(self) -> dict[str, ToolRole]:
        return {tool.name: self._role(tool) for tool in self._writes}

    def _role(self, tool: Tool) -> ToolRole:
        made_entity = self._made_by_tool[tool.name]
        for entity in self._entities_changed(tool):
            makers = self._makers(entity)
            if made_entity or not makers:
                continue
            if self._ends_rows(tool, entity):
                is_continued = any(self._made_by_tool[other.name] for other in self._writes_about(entity))
                return ToolRole("cancels" if is_continued else "ends", makers)
            if not self._states_set(tool, entity):
                return ToolRole("changes", makers)
        if self._updates_caller(tool):
            return ToolRole("updates_caller")
        references = [
            parameter.refers_to for parameter in tool.parameters if parameter.refers_to and parameter.required
        ]
        named = [self._blueprint.target(reference)[0] for reference in references]
        changed = [entity.name for entity in self._entities_changed(tool)]
        parents = [
            entity for entity in named if self._makers(entity) and entity.name not in changed and not has_rows(entity)
        ]
        return ToolRole("adds", self._makers(parents[0])) if made_entity and parents else ToolRole()

    def _makers(self, entity: Entity) -> tuple[str, ...]:
        return tuple(name for name, made in self._made_by_tool.items() if made == entity.name)

    def _entities_changed(self, tool: Tool) -> Iterator[Entity]:
        """The entities of which a tool changes the row whose key it is given; without a key, the caller's rows."""
        named = {(parameter.refers_to or "").partition(".")[0] for parameter in tool.parameters if parameter.refers_to}
        written = {parse(effect.sql).target for effect in tool.effects if not _is_insert(effect.sql)}
        for entity in self._blueprint.tables:
            if (
                entity.table in written
                and entity.name != self._blueprint.core_entity
                and (entity.name in named or not named)
            ):
                yield entity

    def _writes_about(self, entity: Entity) -> list[Tool]:
        return [tool for tool in self._writes if entity in self._entities_changed(tool)]

    def _states_set(self, tool: Tool, entity: Entity) -> set[str]:
        """The states to which a tool sets rows; `DELETE` if it removes them."""
        states_set: set[str] = set()
        for tree in (parse(effect.sql).tree for effect in tool.effects if parse(effect.sql).target == entity.table):
            if isinstance(tree, exp.Delete):
                states_set.add("DELETE")
            for change in tree.expressions if isinstance(tree, exp.Update) else ():
                states = _states(entity, change.left.name) if isinstance(change, exp.EQ) else set()
                states_set |= states & {*_texts(change.right)} if states else set()
        return states_set

    def _ends_rows(self, tool: Tool, entity: Entity) -> bool:
        """Whether a tool sets a row, as it was made, to a state in which no other tool accepts it."""
        states_set = self._states_set(tool, entity)
        required = self._states_required(tool, entity)
        made_states = {text for maker in self._writes for text in self._states_made(maker, entity)}
        if not states_set or (required and made_states and not required & made_states):
            return False
        return not any(
            states_set & self._states_required(other, entity)
            for other in self._writes_about(entity)
            if other is not tool
        )

    def _states_made(self, maker: Tool, entity: Entity) -> Iterator[str]:
        for statement in (parse(effect.sql) for effect in maker.effects):
            if statement.target == entity.table:
                for column, value in statement.inserted:
                    yield from _states(entity, column or "") & {*_texts(value)}

    def _states_required(self, tool: Tool, entity: Entity) -> set[str]:
        """The states in which a tool's guards accept the row whose key it is given."""
        keys = {
            parameter.name
            for parameter in tool.parameters
            if (parameter.refers_to or "").partition(".")[0] == entity.name
        }
        required: set[str] = set()
        for guard in tool.guards:
            if keys and keys.isdisjoint(bound_names(guard.holds)):
                continue
            for test in parse(f"SELECT (\n{guard.holds}\n)").tree.find_all(exp.EQ, exp.In):
                if not isinstance(test.parent, exp.Not):
                    columns = (
                        column for column in test.find_all(exp.Column) if table_of_column(column) == entity.table
                    )
                    required |= set().union(*(_states(entity, column.name) for column in columns)) & {*_texts(test)}
        return required

    def _updates_caller(self, tool: Tool) -> bool:
        """Whether a tool writes an argument into the record of the caller."""
        return any(
            isinstance(change, exp.EQ) and isinstance(change.right.unnest(), exp.Placeholder)
            for tree in (parse(effect.sql).tree for effect in tool.effects)
            if isinstance(tree, exp.Update) and tree.this.name == self._blueprint.core.table
            for change in tree.expressions
        )


def _states(entity: Entity, column: str) -> set[str]:
    return {text for attribute in entity.attributes if attribute.name == column for text in attribute.enum or ()}


def _texts(tree: exp.Expr) -> Iterator[str]:
    return (str(literal.this) for literal in tree.find_all(exp.Literal) if literal.is_string)


def _is_insert(sql: str) -> bool:
    return isinstance(parse(sql).tree, exp.Insert)
