"""Look-ups: how an agent finds the row that a user means, with the reads that the world offers.

A user never says an id. They say what people say of a row (a day, a name, a kind), and a read that lists rows shows
which one it is. A look-up is that read, with arguments that are themselves said or looked up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random

from skillweave.schema.blueprint import Blueprint
from skillweave.schema.contract import Parameter, Tool
from skillweave.schema.record import Json, Row, Value
from skillweave.schema.template import Source, TaskTemplate
from skillweave.world.session import ContractSession
from synth.planner.slots import slots
from synth.tasks.apart import apart

DEPTH = 3
"""Look-ups that may stand behind one another."""
TRIES = 24
"""Calls of one read that are tried before it is given up."""


@dataclass(frozen=True)
class Given:
    """The value of one argument of a look-up: said by the user, or found by another look-up."""

    value: Json
    found: "Lookup | None" = None


@dataclass(frozen=True)
class Lookup:
    """A read whose result shows one row, by columns that no other row of the result shares."""

    read: str
    column: str | None
    """The column that holds the key looked for."""
    key: Json
    arguments: dict[str, Given]
    said: dict[str, Json]
    """Columns of the result by which the user refers to the row."""
    index: int
    entity: str | None = None


@dataclass
class Finder:
    """Finds look-ups in the present state of a session."""

    blueprint: Blueprint
    template: TaskTemplate
    session: ContractSession
    random: Random
    known: dict[str, Given] = field(default_factory=dict)
    """Arguments already settled for the call at hand, by parameter; a look-up of it shares them."""

    def find(self, reference: str, key: Json, sources: Sequence[Source], depth: int = DEPTH) -> Lookup | None:
        """The first source that shows the row of that key apart from all others."""
        for source in sorted(sources, key=lambda source: self._cost(source)):
            found = self._by(source, reference, key, depth)
            if found:
                return found
        return None

    def rows_like(self, lookup: Lookup, sources: Sequence[Source]) -> list[Json]:
        """Keys of all rows, through any of the reads, that fit what the user says of the row looked up."""
        keys: dict[str, Json] = {str(lookup.key): lookup.key}
        for source in sources:
            for row in self._all_rows(source, lookup):
                shared = [column for column in lookup.said if column in row]
                if shared and all(row[column] == lookup.said[column] for column in shared):
                    keys[str(row[source.column])] = row[source.column]
        return list(keys.values())

    def _cost(self, source: Source) -> tuple[int, str]:
        tool = self.blueprint.tool(source.tool)
        return sum(parameter.required for parameter in tool.parameters), source.tool

    def _by(self, source: Source, reference: str, key: Json, depth: int) -> Lookup | None:
        tool = self.blueprint.tool(source.tool)
        for arguments in islice(self._arguments(tool, reference, key, depth), TRIES):
            rows = self.rows(tool.name, {name: given.value for name, given in arguments.items()})
            places = [number for number, row in enumerate(rows) if row.get(source.column) == key]
            if len(places) == 1:
                said = apart(rows, places[0], self.template.referred_by.get(tool.name, []), self.random)
                if said is not None:
                    entity = reference.partition(".")[0]
                    return Lookup(tool.name, source.column, key, arguments, said, places[0], entity)
        return None

    def rows(self, tool: str, arguments: Mapping[str, Json]) -> list[Row]:
        """The rows that a read gives now, without a trace in the session."""
        result = self.session.peek(tool, arguments)
        if not result.ok:
            return []
        value = result.value if isinstance(result.value, list) else [result.value]
        return [row for row in value if isinstance(row, dict)]  # type: ignore[misc]

    def _arguments(self, tool: Tool, reference: str, key: Json, depth: int) -> Iterator[dict[str, Given]]:
        """Ways to call a read that may show the row: required parameters only, then one optional one beside."""
        row = self._row(reference, key)
        required = [parameter for parameter in tool.parameters if parameter.required]
        optional = [parameter for parameter in tool.parameters if not parameter.required]
        for extra in [None, *optional]:
            asked = [*required, *([extra] if extra else [])]
            choices = [self._givens(tool, parameter, row, depth) for parameter in asked]
            for values in product(*choices):
                yield {parameter.name: given for parameter, given in zip(asked, values, strict=True)}

    def _givens(self, tool: Tool, parameter: Parameter, row: Row, depth: int) -> list[Given]:
        if parameter.name in self.known:
            return [self.known[parameter.name]]
        if parameter.refers_to:
            return self._referred(tool, parameter, row, depth)
        if parameter.enum:
            held = [value for value in row.values() if value in parameter.enum]
            return [Given(value) for value in dict.fromkeys([*held, *parameter.enum])]
        if parameter.type == "date":
            return [Given(str(value)[:10]) for value in row.values() if _is_day(value)]
        compared = {column for _, column in slots(tool)[parameter.name].columns}
        held = [value for column, value in row.items() if column in compared and value is not None]
        return [Given(value) for value in held]

    def _referred(self, tool: Tool, parameter: Parameter, row: Row, depth: int) -> list[Given]:
        reference = parameter.refers_to or ""
        entity, attribute = self.blueprint.target(reference)
        key = row.get(attribute.name)
        sources = self.template.lookups.get(tool.name, {}).get(parameter.name, [])
        if key is None or depth <= 1 or entity.name == self.blueprint.core_entity:
            return []
        found = self.find(reference, key, sources, depth - 1)
        return [Given(key, found)] if found else []

    def _row(self, reference: str, key: Json) -> Row:
        """The row of a key, with the columns of the rows that it references (its own win)."""
        entity, attribute = self.blueprint.target(reference)
        found = self._table_row(entity.table, attribute.name, key)
        merged: Row = {}
        for column in entity.attributes:
            if column.references and found.get(column.name) is not None:
                parent, parent_key = self.blueprint.target(column.references)
                merged |= self._table_row(parent.table, parent_key.name, found[column.name])
        return merged | found

    def _table_row(self, table: str, column: str, key: Json) -> Row:
        if not isinstance(key, str):
            return {}
        rows = self.session.query(f"SELECT * FROM {table} WHERE {column} = :key", {"key": key})
        return dict(rows[0]) if rows else {}

    def _all_rows(self, source: Source, lookup: Lookup) -> list[Row]:
        tool = self.blueprint.tool(source.tool)
        if source.tool == lookup.read:
            given: dict[str, Json] = {name: argument.value for name, argument in lookup.arguments.items()}
            return self.rows(tool.name, given)
        row = self._row(f"{lookup.entity}.{self.blueprint.entity(lookup.entity or '').key}", lookup.key)
        choices = [self._givens(tool, p, row, 1)[:1] for p in tool.parameters if p.required]
        if any(not choice for choice in choices):
            return []
        names = [parameter.name for parameter in tool.parameters if parameter.required]
        return self.rows(tool.name, {name: choice[0].value for name, choice in zip(names, choices, strict=True)})


def _is_day(value: Value) -> bool:
    return isinstance(value, str) and len(value) in (10, 19) and value[4:5] == "-" and value[7:8] == "-"
