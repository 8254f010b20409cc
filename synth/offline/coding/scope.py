"""What a tool's function knows while its source is written: parameters, rows looked up, values fetched.

Guards are tried on one state, so a row is looked up once and serves all of them.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Tool
from skillweave.schema.entity import Entity
from skillweave.schema.fused import FusedEntity
from skillweave.schema.names import table_of
from synth.offline.coding.condition import Operand
from synth.offline.coding.literals import call

RESERVED = frozenset({"db", "new_id", "server", "Refused", "Row", "Session", "Server", "Date", "Moment", "Annotated"})
RESERVED |= {"People", "Member"}
GIVEN = frozenset({"caller", "person", "now"})
"""Bindings that the session itself gives."""
TEXT_TYPES = frozenset({"string", "date", "datetime"})
NUMBER_TYPES = frozenset({"integer", "number", "boolean"})


@dataclass
class Lookup:
    """A row found by its key; the columns are those that later lines read."""

    variable: str
    entity: Entity
    binding: str
    value: str
    """The Python expression that is bound."""
    columns: list[str] = field(default_factory=list)

    def statement(self) -> list[str]:
        """The line that fetches the row, or its lines."""
        columns = ", ".join(self.columns or [self.entity.key])
        sql = f"SELECT {columns} FROM {self.entity.table} WHERE {self.entity.key} = :{self.binding}"
        bound = [] if self.binding in GIVEN else [f"{self.binding}={self.value}"]
        return call(f"{self.variable} = db.one(", sql, bound, ")")


@dataclass
class Fetch:
    """A single value fetched by a query."""

    variable: str
    sql: str
    bound: list[str]

    def statement(self) -> list[str]:
        """The line that fetches the value, or its lines."""
        return call(f"{self.variable} = db.value(", self.sql, self.bound, ")")


class Scope:
    """Names and facts of one tool's function."""

    def __init__(self, blueprint: Blueprint, tool: Tool) -> None:
        self.blueprint = blueprint
        self.tool = tool
        known = [*blueprint.tables, *(view.entity for view in blueprint.views)]
        self.tables = {entity.table.lower(): entity for entity in known}
        self.lookups: dict[tuple[str, str], Lookup] = {}
        self.fetches: dict[str, Fetch] = {}
        self.facts: frozenset[str] = frozenset()
        self.pending: list[Lookup | Fetch] = []
        self._names = {parameter.name for parameter in tool.parameters} | RESERVED

    def parameter(self, name: str) -> Operand | None:
        """What `:name` stands for, where it has a plain Python value."""
        if name == "now":
            return Operand("db.now", "text")
        if name in GIVEN and self.tool.kind != "auth":
            return Operand(f"db.{name}", "text")
        for parameter in self.tool.parameters:
            if parameter.name == name and parameter.type in TEXT_TYPES:
                return Operand(name, "text", nullable=not parameter.required)
            if parameter.name == name and parameter.type in NUMBER_TYPES:
                return Operand(name, "number", nullable=not parameter.required)
        return None

    def lookup(self, entity: Entity, binding: str, value: str) -> Lookup:
        """The row of that key, fetched before the guard that is being written unless it was before."""
        place = (entity.table, value)
        if place not in self.lookups:
            stem = binding.removesuffix("_id") if binding.endswith("_id") else stem_of(entity)
            found = Lookup(self.name(stem if binding != entity.key else stem_of(entity)), entity, binding, value)
            self.lookups[place] = found
            self.pending.append(found)
        return self.lookups[place]

    def column(self, row: Lookup, name: str) -> Operand | None:
        """A column of that row."""
        for attribute in row.entity.attributes:
            if attribute.name.lower() == name.lower():
                if attribute.name not in row.columns:
                    row.columns.append(attribute.name)
                kind: Literal["text", "number"] = "text" if attribute.type in TEXT_TYPES else "number"
                code = f'{row.variable}["{attribute.name}"]'
                return Operand(code, kind, nullable=attribute.nullable, needs=(row.variable,))
        return None

    def fetch(self, sql: str, bound: list[str], name: str) -> str:
        """The variable that holds the query's value."""
        if sql not in self.fetches:
            found = Fetch(self.name(name), sql, bound)
            self.fetches[sql] = found
            self.pending.append(found)
        return self.fetches[sql].variable

    def mark(self) -> "Mark":
        """What is fetched so far, to return to."""
        columns = [(row, list(row.columns)) for row in self.lookups.values()]
        return Mark(dict(self.lookups), dict(self.fetches), list(self.pending), columns, set(self._names))

    def undo(self, mark: "Mark") -> None:
        """Forget what was fetched since the mark."""
        self.lookups, self.fetches, self.pending = dict(mark.lookups), dict(mark.fetches), list(mark.pending)
        for row, columns in mark.columns:
            row.columns[:] = columns
        self._names = set(mark.names)

    def name(self, stem: str) -> str:
        """A name that is not taken, like `stem`."""
        name, number = stem, 2
        while name in self._names:
            name, number = f"{stem}_{number}", number + 1
        self._names.add(name)
        return name


def stem_of(entity: Entity) -> str:
    """What a row of a table is called in Python: as its own domain calls the table."""
    return table_of(entity.origin) if isinstance(entity, FusedEntity) else entity.table


class Mark(NamedTuple):
    lookups: dict[tuple[str, str], Lookup]
    fetches: dict[str, Fetch]
    pending: list[Lookup | Fetch]
    columns: list[tuple[Lookup, list[str]]]
    names: set[str]
